"""Logging of every process: one line per event on stderr, as text for people or JSON for machines. Every line that is
written during a request contains the request's id.

Tracebacks for the log. Messages of database errors quote values (names, numbers, texts of messages), so only the type,
the code and the statement without values are written.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, TextIO

FORMATS = ("text", "json")
OURS = "relayboard"
"""All loggers of the program are below this one."""

current_request_id: ContextVar[str | None] = ContextVar("current_request_id", default=None)
"""The id of the request of this task or thread; the guard sets it."""

_OWN_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "request_id", "taskName"}
_CONTROL_CHARACTERS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}


_CONTROL_CHARACTERS |= {0x2028: "\\u2028", 0x2029: "\\u2029"}


def configure_logging(log_format: str, *, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send all records from a level on to one stream (by default stderr) as `text` or `json`; replaces former handlers.
    Below INFO only our own: what libraries tell then may hold secrets.

    Raises ValueError for another format.
    """
    if log_format not in FORMATS:
        raise ValueError(f"log format {log_format!r} is neither text nor json")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setLevel(level)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    for former in list(root.handlers):
        root.removeHandler(former)
    root.addHandler(handler)
    root.setLevel(max(level, logging.INFO))
    logging.getLogger(OURS).setLevel(level)
    # No line has these, and to find them out takes a fifth of its time.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # The steps of a migration are not interesting at a successful start.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def write_line(logger: logging.Logger, level: int, message: str, extra: Mapping[str, object]) -> None:
    """Logs a message as `logger.log` does, which would look for its caller first, whom no line names."""
    if logger.isEnabledFor(level):
        logger.handle(logger.makeRecord(logger.name, level, "", 0, message, (), None, None, extra))


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


class JsonLines(logging.Formatter):
    """One JSON object per line: `time`, `level`, `logger`, `message`, `request_id`, the extras, `exception`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        request_id = _request_id(record)
        if request_id is not None:
            line["request_id"] = request_id
        line.update((name, value) for name, value in _extras(record).items() if name not in line)
        if record.exc_info:
            line["exception"] = _exception(record)
        return json.dumps(line, default=str)


class TextLines(logging.Formatter):
    """`time LEVEL logger [request id] message name=value`; a message stays one line, a traceback follows it."""

    def format(self, record: logging.LogRecord) -> str:
        request_id = _request_id(record)
        parts = [_moment(record), record.levelname, record.name]
        if request_id is not None:
            parts.append(f"[{request_id}]")
        parts.append(record.getMessage())
        parts += [f"{name}={value}" for name, value in _extras(record).items()]
        line = " ".join(parts)
        if not line.isprintable():
            line = line.translate(_CONTROL_CHARACTERS)
        return f"{line}\n{_exception(record)}" if record.exc_info else line


def _moment(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _request_id(record: logging.LogRecord) -> str | None:
    given: str | None = getattr(record, "request_id", None)
    return given if given is not None else current_request_id.get()


def _exception(record: logging.LogRecord) -> str:
    error = record.exc_info[1] if record.exc_info else None
    return format_traceback(error) if error is not None else ""


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _OWN_ATTRIBUTES}
