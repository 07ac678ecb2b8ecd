"""Statements of writes whose text never changes. They are built and compiled once for each kind of database, and then
sent as text with values; PostgreSQL prepares those that a connection uses often. To build, compile and plan a small
statement takes several times longer than to execute it.

Lists of values are one parameter (`among`), so that the text does not depend on their number.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import orjson
from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Executable,
    Integer,
    Table,
    Text,
    TypeDecorator,
    bindparam,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeEngine

from persistence.database import Transaction
from persistence.sql.direct import change, fetch, send_later

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


def param(name: str, kind: type[TypeEngine[Any]] | TypeEngine[Any] = Integer) -> BindParameter[Any]:
    """A parameter of a fixed statement; by default a whole number."""
    return bindparam(name, None, type_=kind, required=False)


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


def _quoted(value: object) -> str:
    if value is None:
        return "NULL"
    text = value.isoformat() if isinstance(value, date) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


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


@compiles(Among, "postgresql")
def _among_array(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} = ANY(CAST({listed} AS {element.kind}[])))"


@compiles(Among, "sqlite")
def _among_json(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({listed})))"


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


def parameters_of(table: Table, *, leaves_out: Sequence[str] = ()) -> dict[str, BindParameter[Any]]:
    """For each column that the database does not compute, a parameter with its name, for `values`."""
    kept = (each for each in table.c if each.computed is None and each.key not in leaves_out)
    return {each.key: param(each.key, each.type) for each in kept}
