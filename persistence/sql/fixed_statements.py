"""Statements whose text never changes, or not for a set of conditions; and joins with the first of the rows that belong
to a record. They are built and compiled once for each kind of database, and then sent as text with values;
PostgreSQL prepares those that a connection uses often. To build, compile and plan a small statement takes several
times longer than to execute it.

Lists of values are one parameter (`among`), so that the text does not depend on their number.

Statements that are built and compiled once for each set of conditions, and later sent as text with new values. Building
and compiling the statement of a page takes several times longer than sending it. PostgreSQL prepares those that a
connection uses often: it spends most of the time of a short list on planning.
"""

import itertools
import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from typing import Any

import orjson
from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Connection,
    Executable,
    FromClause,
    Integer,
    Join,
    Select,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    literal_column,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.sql.selectable import LateralFromClause, NamedFromClause
from sqlalchemy.types import TypeEngine

from persistence.database import Transaction
from persistence.sql.together import change, fetch, send_later

PREPARED_AFTER = 5
"""Uses of a statement by a connection."""
USES = "uses_of_fixed_statements"
PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)")

DEED = re.compile(r"\b(?:INSERT INTO|DELETE FROM|UPDATE(?! SET)|FROM) \w+")

Values = Mapping[str, Any]
Process = Callable[[Any], Any]

_NUMBERS = itertools.count(1)
FIXED: list["Fixed"] = []
"""All of them, in the order in which they were declared."""
MOST_KEPT = 2000
"""Sets of conditions; the one that was kept first is forgotten for a new one."""
KEPT_PREPARED_AFTER = 20
"""Uses of a statement by a connection."""
MOST_PREPARED = 100
"""Statements of a connection; each takes up to a hundred kilobytes of its server process."""
PREPARED = "prepared_statements"
JSON_TYPE, JSONB_TYPE, UUID_TYPE = 114, 3802, 2950
"""What PostgreSQL calls the types for which SQLAlchemy gives the driver conversions."""
Shape = tuple[Hashable, ...]
Rows = Sequence[Sequence[Any]]

ONE: ColumnElement[int] = literal_column("1", Integer)


def param(name: str, kind: type[TypeEngine[Any]] | TypeEngine[Any] = Integer) -> BindParameter[Any]:
    """A parameter of a fixed statement; by default a whole number."""
    return bindparam(name, None, type_=kind, required=False)


def _quoted(value: object) -> str:
    if value is None:
        return "NULL"
    text = value.isoformat() if isinstance(value, date) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class ListOf(TypeDecorator[Sequence[Any]]):
    """A list of values as one parameter: the text of an array, or JSON on SQLite."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Any] | None, dialect: Dialect) -> Any:
        return orjson.dumps(list(value or ())).decode() if dialect.name == "sqlite" else array_text(value or ())


def array_text(values: Iterable[object]) -> str:
    """An array as PostgreSQL reads it from a text: the driver would write an expression, and both sides take longer for
    each item of that.
    """
    return "{" + ",".join([str(each) if isinstance(each, int) else _quoted(each) for each in values]) + "}"


class Among(FunctionElement[bool]):
    """See `among`."""

    type = Boolean()
    inherit_cache = False

    def __init__(self, column: ColumnElement[Any], listed: BindParameter[Any], kind: str) -> None:
        self.kind = kind
        super().__init__(column, listed)

    def self_group(self, against: OperatorType | None = None) -> "Among":
        """As it is. On SQLite, which has no type for truth, `= 1` would be added, and no index be searched."""
        return self


def among(column: ColumnElement[Any], name: str, kind: str = "BIGINT") -> Among:
    """Whether a column has one of the values in the parameter with this name; `kind` is their type on PostgreSQL."""
    return Among(column, param(name, ListOf()), kind)


@dataclass(frozen=True)
class _Sendable:
    """A compiled statement: `constants` are values that no caller gives, `readers` what makes the values of rows."""

    text: str
    constants: dict[str, Any]
    writers: Mapping[str, Process]
    readers: Sequence[Process | None]
    positions: Sequence[str] | None
    number: int

    def parameters(self, values: Values) -> Any:
        found = {**self.constants, **values}
        for name, write in self.writers.items():
            if name in values:
                found[name] = write(found[name])
        return found if self.positions is None else tuple(found[name] for name in self.positions)

    def read(self, row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for index, read in self.conversions:
            values[index] = read(values[index])
        return tuple(values)

    @cached_property
    def conversions(self) -> list[tuple[int, Process]]:
        """The values of a row that the driver does not give as they are wanted."""
        return [(index, read) for index, read in enumerate(self.readers) if read is not None]

    @cached_property
    def name(self) -> str:
        """What it is called once it is prepared."""
        return f"{'read' if self.text.startswith('SELECT') else 'write'}_{self.number}"

    @cached_property
    def preparation(self) -> str:
        """The command that prepares the statement."""
        places: dict[str, str] = {}

        def number(found: re.Match[str]) -> str:
            name = found.group(1)
            return "%%" if name is None else places.setdefault(name, f"${len(places) + 1}")

        return f"PREPARE {self.name} AS {PLACEHOLDER.sub(number, self.text)}"

    @cached_property
    def execution(self) -> str:
        """The command that executes it once it is prepared. It says what it does to whoever looks at the statements of
        the server.
        """
        names = dict.fromkeys(name for name in PLACEHOLDER.findall(self.text) if name)
        deeds = ", ".join(dict.fromkeys(DEED.findall(self.text)))
        return f"EXECUTE {self.name}{values_of(names)} /* {deeds} */"


def values_of(names: Iterable[str]) -> str:
    """The parameters of an execution in brackets, which PostgreSQL does not take around none."""
    places = ", ".join(f"%({name})s" for name in names)
    return places and f"({places})"


def _as_literal(found: re.Match[str], constants: Values) -> str:
    """A constant as it is written in a statement; parameters stay."""
    name = found.group(1)
    if name is None or name not in constants:
        return found.group(0)
    value = constants[name]
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(value).lower()
    assert isinstance(value, str)
    return "'" + value.replace("'", "''").replace("%", "%%") + "'"


class Fixed:
    """A statement that `build` makes for SQLite (True) or PostgreSQL; all its values that change are parameters. The
    audit log does not hear of it: whoever does something that is told, tells it (`is_told`). One that is not
    `is_prepared` is planned each time: its plan for a small table would be very slow once that has grown.
    """

    def __init__(self, build: Callable[[bool], Executable], *, is_told: bool = False, is_prepared: bool = True) -> None:
        self._build = build
        self.is_told = is_told
        self.is_prepared = is_prepared
        FIXED.append(self)
        self._made: dict[str, _Sendable] = {}

    def rows(self, tx: Transaction, values: Values) -> Sequence[Any]:
        """The rows of the statement with these values of its parameters."""
        made = self._for(tx)
        rows = fetch(tx.connection, self._text_for(tx, made), made.parameters(values))
        return [made.read(row) for row in rows] if made.conversions else rows

    def run(self, tx: Transaction, values: Values) -> int:
        """Executes the statement; returns how many rows it changed."""
        made = self._for(tx)
        return change(tx.connection, self._text_for(tx, made), made.parameters(values))

    def run_later(self, tx: Transaction, values: Values) -> None:
        """Executes the statement with the next one of the unit of work, or with its end. Its errors come with those."""
        made = self._for(tx)
        send_later(tx.connection, self._text_for(tx, made), made.parameters(values))

    def built(self, *, is_sqlite: bool) -> Executable:
        """The statement as it is before it is compiled."""
        return self._build(is_sqlite)

    def run_each(self, tx: Transaction, rows: Sequence[Values]) -> None:
        """Executes the statement for each of these sets of values."""
        made = self._for(tx)
        if rows:
            tx.connection.exec_driver_sql(made.text, [made.parameters(values) for values in rows])

    def _text_for(self, tx: Transaction, made: _Sendable) -> str:
        return _text_for(tx, made) if self.is_prepared else made.text

    def _for(self, tx: Transaction) -> _Sendable:
        made = self._made.get(tx.dialect.name)
        return made or self._made.setdefault(tx.dialect.name, _compile(self._build(tx.sqlite), tx.dialect))


def parameters_of(table: Table, *, leaves_out: Sequence[str] = ()) -> dict[str, BindParameter[Any]]:
    """For each column that the database does not compute, a parameter with its name, for `values`."""
    kept = (each for each in table.c if each.computed is None and each.key not in leaves_out)
    return {each.key: param(each.key, each.type) for each in kept}


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


class FirstRow(Join):
    """See `join_first`."""

    inherit_cache = False
    first: LateralFromClause


def join_first(
    left: FromClause,
    rows: NamedFromClause,
    table: Table,
    link: ColumnElement[bool],
    order_by: Sequence[ColumnElement[Any]],
    owner: FromClause,
) -> FromClause:
    """An outer join with the first of the rows of a table that `link` joins to their owner, which is a part of `left`.
    `rows` is what the table is called in the statement. PostgreSQL reads the row where it finds it; SQLite, which has
    no LATERAL, looks for its id first.
    """
    linked = select(table.c.id).where(link).order_by(*order_by).limit(ONE).correlate(owner)
    joined = FirstRow(left, rows, rows.c.id == linked.scalar_subquery(), isouter=True)
    joined.first = linked.with_only_columns(*table.c).lateral(rows.name)
    return joined


@compiles(Among, "postgresql")
def _among_array(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} = ANY(CAST({listed} AS {element.kind}[])))"


@compiles(Among, "sqlite")
def _among_json(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({listed})))"


def _text_for(tx: Transaction, made: _Sendable) -> str:
    """The statement, or its execution once this connection has prepared it, which it does when it has used it often."""
    if not tx.can_prepare:
        return made.text
    uses: dict[int, int] = tx.connection.info.setdefault(USES, {})
    count = uses.get(made.number, 0)
    if count == PREPARED_AFTER:
        return made.execution
    if count == PREPARED_AFTER - 1:
        # What is prepared outlives a transaction that is taken back.
        change(tx.connection, made.preparation, {"no": "values"})
    uses[made.number] = count + 1
    return made.execution if count + 1 == PREPARED_AFTER else made.text


def _compile(statement: Executable, dialect: Dialect) -> _Sendable:
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})  # type: ignore[attr-defined]
    assert not compiled.insert_prefetch, "defaults of columns have to be given"
    writers: Mapping[str, Process] = compiled._bind_processors
    constants = {
        name: writers[name](bind.effective_value) if name in writers else bind.effective_value
        for bind, name in compiled.bind_names.items()
        if bind.unique
    }
    readers = [entry.type._cached_result_processor(dialect, None) for entry in compiled._result_columns]
    text = str(compiled)
    if not compiled.positional:
        # As parameters they would keep PostgreSQL from using partial indexes.
        text = PLACEHOLDER.sub(lambda found: _as_literal(found, constants), text)
        constants = {}
    return _Sendable(text, constants, writers, readers, compiled.positiontup, next(_NUMBERS))


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
        _keep(shape, _compile_kept(build(), tx.dialect, given, values, tuple(parts)))
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
    if count != KEPT_PREPARED_AFTER:
        return count > KEPT_PREPARED_AFTER
    present = [number for number, count in uses.items() if count >= KEPT_PREPARED_AFTER and number != kept.number]
    with closing(connection.connection.cursor()) as cursor:
        if len(present) >= MOST_PREPARED:
            least = min(present, key=uses.__getitem__)
            cursor.execute(f"DEALLOCATE kept_{least}")
            # What was used long ago counts less.
            uses.update({number: max(KEPT_PREPARED_AFTER + 1, uses[number] // 2) for number in present})
            del uses[least]
        cursor.execute(kept.preparation)
    return True


def _keep(shape: Shape, kept: _Kept | None) -> None:
    if len(_KEPT) >= MOST_KEPT:
        _KEPT.pop(next(iter(_KEPT)), None)
    _KEPT[shape] = kept


def _compile_kept(
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


@compiles(FirstRow, "postgresql")
def _join_lateral(joined: FirstRow, compiler: SQLCompiler, **options: Any) -> str:
    left, first = (compiler.process(each, **{**options, "asfrom": True}) for each in (joined.left, joined.first))
    return f"{left} LEFT OUTER JOIN {first} ON true"
