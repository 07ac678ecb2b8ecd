"""Statements that are built and compiled once for each set of conditions, and later sent as text with new values.
Building and compiling the statement of a page takes several times longer than sending it. PostgreSQL prepares those
that a connection uses often: it spends most of the time of a short list on planning.
"""

import itertools
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, Connection, Select
from sqlalchemy.engine import Dialect

from persistence.database import Transaction
from persistence.sql.direct import fetch
from persistence.sql.fixed_statements import values_of

MOST_KEPT = 2000
"""Sets of conditions; the one that was kept first is forgotten for a new one."""
PREPARED_AFTER = 20
"""Uses of a statement by a connection."""
MOST_PREPARED = 100
"""Statements of a connection; each takes up to a hundred kilobytes of its server process."""
PREPARED = "prepared_statements"
JSON_TYPE, JSONB_TYPE, UUID_TYPE = 114, 3802, 2950
"""What PostgreSQL calls the types for which SQLAlchemy gives the driver conversions."""
PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)")

Shape = tuple[Hashable, ...]
Rows = Sequence[Sequence[Any]]
Values = Mapping[str, Any]


@dataclass(frozen=True)
class _Kept:
    """A compiled statement. `constants` are its values that no condition has, `names` the parameters with the values
    of its conditions, in their order. `held` are the objects whose identities its shape contains.
    """

    text: str
    constants: dict[str, Any]
    names: tuple[str, ...]
    processors: Mapping[str, Callable[[Any], Any]]
    positions: Sequence[str] | None
    held: tuple[object, ...]
    number: int

    def parameters(self, given: Sequence[BindParameter[Any]], values: Values) -> Any:
        found = dict(self.constants)
        for name, bind in zip(self.names, given, strict=True):
            found[name] = self._processed(name, bind.effective_value)
        for name, value in values.items():
            found[name] = self._processed(name, value)
        return found if self.positions is None else tuple(found[name] for name in self.positions)

    @cached_property
    def preparation(self) -> str:
        """The command that prepares the statement."""
        places: dict[str, str] = {}

        def number(found: re.Match[str]) -> str:
            name = found.group(1)
            return "%" if name is None else places.setdefault(name, f"${len(places) + 1}")

        return f"PREPARE kept_{self.number} AS {PLACEHOLDER.sub(number, self.text)}"

    @cached_property
    def execution(self) -> str:
        """The command that executes it once it is prepared."""
        names = dict.fromkeys(name for name in PLACEHOLDER.findall(self.text) if name)
        return f"EXECUTE kept_{self.number}{values_of(names)}"

    def _processed(self, name: str, value: Any) -> Any:
        process = self.processors.get(name)
        return value if process is None else process(value)


_NUMBERS = itertools.count(1)
_KEPT: dict[Shape, _Kept | None] = {}
"""None for a statement whose text depends on values, such as the number of items of a list."""


def execute_kept(
    tx: Transaction,
    parts: Sequence[object],
    variant: Shape,
    conditions: Sequence[ColumnElement[bool]],
    build: Callable[[], Select[*tuple[Any, ...]]],
    values: Values,
    *,
    is_even: bool = False,
) -> Rows:
    """The rows of the statement that `build` makes of `parts`, `variant` and `conditions`. The parts are objects that
    exist once, and contain no value that changes. `values` are the other parameters, by name. Columns have the types of
    the driver. `is_even` says that one plan is good for all values, so that the statement may be prepared.
    """
    command = _command(tx, parts, variant, conditions, build, values, is_even=is_even)
    if command is None:
        return tx.execute(build(), values or None).all()
    return fetch(tx.connection, *command)


def execute_plain(
    tx: Transaction,
    parts: Sequence[object],
    variant: Shape,
    conditions: Sequence[ColumnElement[bool]],
    build: Callable[[], Select[*tuple[Any, ...]]],
    values: Values,
    *,
    is_even: bool = False,
) -> Sequence[Sequence[Any]] | None:
    """Like `execute_kept` on PostgreSQL, but with all values as its texts, which nothing converts. None for a statement
    that cannot be kept.
    """
    command = _command(tx, parts, variant, conditions, build, values, is_even=is_even)
    if command is None:
        return None
    return fetch(tx.connection, *command, _plain_cursor())


@cache
def _plain_cursor() -> type:
    """Cursors that return all values as texts."""
    from psycopg2 import extensions  # noqa: PLC0415  # SQLite needs no driver

    texts = dict.fromkeys([*extensions.string_types, JSON_TYPE, JSONB_TYPE, UUID_TYPE], extensions.UNICODE)

    class PlainCursor(extensions.cursor):  # type: ignore[misc]  # psycopg2 has no types
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.string_types = texts

    return PlainCursor


def _command(
    tx: Transaction,
    parts: Sequence[object],
    variant: Shape,
    conditions: Sequence[ColumnElement[bool]],
    build: Callable[[], Select[*tuple[Any, ...]]],
    values: Values,
    *,
    is_even: bool,
) -> tuple[str, Any] | None:
    """The text and the parameters of the statement; None if it has to be built each time."""
    keys = [key for condition in conditions if (key := condition._generate_cache_key()) is not None]
    if len(keys) < len(conditions):
        return None
    shape = (tx.dialect.name, *map(id, parts), *variant, *(key.key for key in keys))
    given = [bind for key in keys for bind in key.bindparams]
    if shape not in _KEPT:
        _keep(shape, _compile(build(), tx.dialect, given, values, tuple(parts)))
    kept = _KEPT.get(shape)
    if kept is None:
        return None
    parameters = kept.parameters(given, values)
    if tx.can_prepare and is_even and _is_prepared(tx.connection, kept):
        return kept.execution, parameters
    return kept.text, parameters


def _is_prepared(connection: Connection, kept: _Kept) -> bool:
    """Whether this connection has prepared the statement; it does so when it has used it often, instead of the one that
    it has used least.
    """
    uses: dict[int, int] = connection.info.setdefault(PREPARED, {})
    count = uses[kept.number] = uses.get(kept.number, 0) + 1
    if count != PREPARED_AFTER:
        return count > PREPARED_AFTER
    present = [number for number, count in uses.items() if count >= PREPARED_AFTER and number != kept.number]
    with closing(connection.connection.cursor()) as cursor:
        if len(present) >= MOST_PREPARED:
            least = min(present, key=uses.__getitem__)
            cursor.execute(f"DEALLOCATE kept_{least}")
            # What was used long ago counts less.
            uses.update({number: max(PREPARED_AFTER + 1, uses[number] // 2) for number in present})
            del uses[least]
        cursor.execute(kept.preparation)
    return True


def _keep(shape: Shape, kept: _Kept | None) -> None:
    if len(_KEPT) >= MOST_KEPT:
        _KEPT.pop(next(iter(_KEPT)), None)
    _KEPT[shape] = kept


def _compile(
    statement: Select[*tuple[Any, ...]],
    dialect: Dialect,
    given: Sequence[BindParameter[Any]],
    values: Values,
    held: tuple[object, ...],
) -> _Kept | None:
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    names = [name for bind in given if (name := compiled.bind_names.get(bind)) is not None]
    if len(names) < len(given) or any(bind.expanding or bind.literal_execute for bind in given):
        return None
    processors: Mapping[str, Any] = compiled._bind_processors
    constants = {
        name: processors[name](value) if name in processors else value
        for name, value in compiled.params.items()
        if name not in names and name not in values
    }
    return _Kept(str(compiled), constants, tuple(names), processors, compiled.positiontup, held, next(_NUMBERS))
