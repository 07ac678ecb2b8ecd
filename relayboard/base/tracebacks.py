"""Tracebacks for the log. Messages of database errors quote values (names, numbers, texts of messages), so only the
type, the code and the statement without values are written."""

import traceback
from collections.abc import Iterator

DATABASE_LIBRARIES = frozenset({"psycopg", "psycopg2", "sqlalchemy", "sqlite3"})


def format_traceback(error: BaseException) -> str:
    """The traceback of an exception and of its causes, oldest first."""
    chain = list(_chain(error))
    if not any(_quotes_values(one) for one in chain):
        return "".join(traceback.format_exception(error)).rstrip("\n")
    return "\n\n".join(_format_one(one) for one in reversed(chain))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _quotes_values(error: BaseException) -> bool:
    return any(kind.__module__.partition(".")[0] in DATABASE_LIBRARIES for kind in type(error).__mro__)


def _format_one(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__))
    if not _quotes_values(error):
        return f"Traceback (most recent call last):\n{frames}{''.join(traceback.format_exception_only(error))}".rstrip()
    words = [f"{type(error).__module__}.{type(error).__qualname__}"]
    code = getattr(getattr(error, "orig", error), "pgcode", None)
    if code is not None:
        words.append(f"[code {code}]")
    statement = getattr(error, "statement", None)
    if statement is not None:
        words.append(f"[SQL: {statement}]")
    return f"Traceback (most recent call last):\n{frames}{' '.join(words)}"
