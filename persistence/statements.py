"""Statements that are built and compiled once for each kind of database, and then sent as text with values; PostgreSQL
prepares those that a connection uses often. To build, compile and plan a small statement takes several times longer
than to execute it. Lists of values are one parameter (`among`), and so are the rows that are inserted, so that the text
does not depend on their number.
"""

import inspect
import itertools
import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from datetime import date, datetime
from functools import cached_property, lru_cache
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Generic, ParamSpec, get_args, get_origin, overload

import orjson
from sqlalchemy import (
    JSON,
    BindParameter,
    Boolean,
    ColumnElement,
    Connection,
    Date,
    Executable,
    Integer,
    Select,
    Table,
    TableClause,
    Text,
    TypeDecorator,
    Update,
    bindparam,
    cast,
    column,
    func,
    insert,
    literal_column,
    select,
)
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.operators import OperatorType
from sqlalchemy.types import TypeEngine

from persistence.database import Transaction, upsert
from persistence.errors import translated
from persistence.sql.columns import BigId, UtcDateTime, time_text

PREPARED_AFTER = 5
"""Uses of a statement by a connection."""
MOST_PREPARED = 250
"""Statements of a connection; a large one takes up to a hundred kilobytes of its server process."""
MOST_KEPT = 2000
"""Sets of conditions of pages; the one that was kept first is forgotten for a new one."""
USES = "uses_of_statements"
PLACEHOLDER = re.compile(r"%(?:%|\((\w+)\)s)")
DEED = re.compile(r"\b(?:INSERT INTO|DELETE FROM|UPDATE(?! SET)|FROM) \w+")
IS_SQLITE = "is_sqlite"

P = ParamSpec("P")
Values = Mapping[str, Any]
Rows = Sequence[Sequence[Any]]
Process = Callable[[Any], Any]
Shape = tuple[Hashable, ...]

TYPES: dict[object, TypeEngine[Any]] = {int: BigId, bool: Boolean(), datetime: UtcDateTime(), date: Date()}
"""Of parameters by their annotations; others get the type of what they are compared with, or stored in."""
STATEMENTS: list["Statement[Any]"] = []
"""All of them, in the order in which they were declared."""
_NUMBERS = itertools.count(1)
_KEPT: dict[Shape, "tuple[Compiled, object] | None"] = {}
"""With the objects whose identities the shape contains. None for a statement whose text depends on values, such as the
number of items of a list."""


class Compiled:
    """The text of a statement and the order of its parameters. Its values that have no name are part of the text, but
    for those that are `given` anew each time, in their order.
    """

    def __init__(self, statement: Any, dialect: Dialect, given: Sequence[BindParameter[Any]] = ()) -> None:
        compiled = statement.compile(dialect=dialect)
        assert not compiled.insert_prefetch, "defaults of columns have to be given"
        names: Mapping[BindParameter[Any], str] = compiled.bind_names
        writers = {name: write for each, name in names.items() if (write := _writer(each.type, dialect)) is not None}
        fixed = {each for each in names if each.expanding or each.literal_execute}
        self.given = [names[each] for each in given if each in names and each not in fixed]
        free = {name for each, name in names.items() if not each.unique and each not in fixed}.union(self.given)
        whole = compiled.construct_expanded_state(dict.fromkeys(free))
        constants = {
            name: writers[name](value) if name in writers else value
            for name, value in whole.parameters.items()
            if name not in free
        }
        self.text: str = whole.statement
        self.name = f"{'read' if self.text.startswith('SELECT') else 'write'}_{next(_NUMBERS)}"
        """What it is called once it is prepared."""
        self._positions = whole.positiontup
        if self._positions is None:
            # As parameters they would keep PostgreSQL from using partial indexes.
            literals = {name: text for name, value in constants.items() if (text := _as_literal(value)) is not None}
            self.text = PLACEHOLDER.sub(lambda found: literals.get(found.group(1), found.group(0)), self.text)
            constants = {name: value for name, value in constants.items() if name not in literals}
        self._constants = constants
        self._writers = {name: write for name, write in writers.items() if name in free}
        self._statement, self._dialect = statement, dialect

    def send(self, tx: Transaction, values: Values, *, may_prepare: bool) -> tuple[Rows, int]:
        """The rows as the driver gives them, and how many the statement changed."""
        is_prepared = may_prepare and tx.can_prepare and _is_prepared(tx.connection, self)
        text = self.execution if is_prepared else self.text
        return _execute(tx.connection, text, self.parameters(values))

    def parameters(self, values: Values) -> Any:
        found = {**self._constants, **values}
        for name, write in self._writers.items():
            found[name] = write(found[name])
        return found if self._positions is None else tuple([found[name] for name in self._positions])

    def read(self, rows: Rows) -> Rows:
        """The rows with the values that the driver does not give as they are wanted."""
        return [self._read(row) for row in rows] if self._readers else rows

    @cached_property
    def _readers(self) -> list[tuple[int, Process]]:
        kinds = [each.type.dialect_impl(self._dialect) for each in getattr(self._statement, "exported_columns", ())]
        readers = [kind.result_processor(self._dialect, None) for kind in kinds]
        return [(index, read) for index, read in enumerate(readers) if read is not None]

    def _read(self, row: Sequence[Any]) -> tuple[Any, ...]:
        values = list(row)
        for index, read in self._readers:
            values[index] = read(values[index])
        return tuple(values)

    @cached_property
    def preparation(self) -> str:
        """The command that prepares the statement."""
        places: dict[str, str] = {}

        def number(found: re.Match[str]) -> str:
            name = found.group(1)
            return "%" if name is None else places.setdefault(name, f"${len(places) + 1}")

        return f"PREPARE {self.name} AS {PLACEHOLDER.sub(number, self.text)}"

    @cached_property
    def execution(self) -> str:
        """The command that executes it once it is prepared. It says what it does to whoever looks at the statements of
        the server.
        """
        places = ", ".join(f"%({name})s" for name in dict.fromkeys(PLACEHOLDER.findall(self.text)) if name)
        deeds = ", ".join(dict.fromkeys(DEED.findall(self.text)))
        return f"EXECUTE {self.name}{places and f'({places})'} /* {deeds} */"


class Statement(Generic[P]):
    """A statement that a function declares: its parameters are those of the statement, and its body returns what
    SQLAlchemy makes of them. Each combination of values of parameters behind a `*` has a text of its own; one that is
    called `is_sqlite` tells for which database it is. The audit log does not hear of it: whoever does something that is
    told, tells it (`is_told`). One that is not `is_prepared` is planned each time: its plan for a small table would be
    very slow once that has grown.
    """

    def __init__(self, build: Callable[P, Executable], *, is_told: bool = False, is_prepared: bool = True) -> None:
        self._build: Callable[..., Executable] = build
        self.is_told = is_told
        self.is_prepared = is_prepared
        declared = inspect.signature(build).parameters.values()
        self._knows_database = any(each.name == IS_SQLITE for each in declared)
        variable = [each for each in declared if each.kind is each.POSITIONAL_OR_KEYWORD]
        self._names = [each.name for each in variable]
        self._types = {each.name: _type_of(each.annotation) for each in variable}
        self.choices = {
            each.name: each.annotation for each in declared if each.kind is each.KEYWORD_ONLY and each.name != IS_SQLITE
        }
        self._made: dict[Shape, Compiled] = {}
        STATEMENTS.append(self)

    def rows(self, tx: Transaction, *args: P.args, **kwargs: P.kwargs) -> Sequence[Any]:
        """The rows of the statement with these values of its parameters."""
        made, values = self._with(tx, args, kwargs)
        return made.read(made.send(tx, values, may_prepare=self.is_prepared)[0])

    def run(self, tx: Transaction, *args: P.args, **kwargs: P.kwargs) -> int:
        """Executes the statement; returns how many rows it changed."""
        made, values = self._with(tx, args, kwargs)
        return made.send(tx, values, may_prepare=self.is_prepared)[1]

    def run_each(self, tx: Transaction, rows: Sequence[Values]) -> None:
        """Executes the statement for each of these sets of values."""
        made, _ = self._with(tx, (), {})
        if rows:
            tx.connection.exec_driver_sql(made.text, [made.parameters(values) for values in rows])

    def built(self, *, is_sqlite: bool, **choices: Any) -> Executable:
        """The statement as it is before it is compiled."""
        given = {name: bindparam(name, None, type_=kind, required=False) for name, kind in self._types.items()}
        return self._build(**given, **choices, **({IS_SQLITE: is_sqlite} if self._knows_database else {}))

    def _with(self, tx: Transaction, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Compiled, Values]:
        """The text for this database and these values behind the `*`, and the others."""
        values = {**dict(zip(self._names, args, strict=False)), **kwargs} if args else kwargs
        choices = {}
        if self.choices:
            choices = {name: values[name] for name in self.choices}
            values = {name: value for name, value in values.items() if name not in choices}
        shape = (tx.dialect.name, *choices.values())
        made = self._made.get(shape)
        if made is None:
            made = self._made[shape] = Compiled(self.built(is_sqlite=tx.sqlite, **choices), tx.dialect)
        return made, values


class Change(Update):
    """An UPDATE that tells what it `sets`, by column: the audit log compares that with the rows before."""

    inherit_cache = True
    sets: Values = MappingProxyType({})

    def values(self, *args: Any, **kwargs: Any) -> "Change":
        changed = super().values(*args, **kwargs)
        named = {name if isinstance(name, str) else name.key: value for each in args for name, value in each.items()}
        changed.sets = {**self.sets, **named, **kwargs}
        return changed


def update(table: TableClause) -> Change:
    """As SQLAlchemy's; the audit log takes no other."""
    return Change(table)


@overload
def statement(build: Callable[P, Executable], /) -> Statement[P]: ...


@overload
def statement(
    *, is_told: bool = False, is_prepared: bool = True
) -> Callable[[Callable[P, Executable]], Statement[P]]: ...


def statement(build: Callable[P, Executable] | None = None, /, **options: bool) -> Any:
    """Makes a statement of the function that declares it (see `Statement`)."""
    return (lambda declared: Statement(declared, **options)) if build is None else Statement(build)


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

    def __init__(self, column: ColumnElement[Any], listed: Any, kind: str) -> None:
        self.kind = kind
        super().__init__(column, listed)

    def self_group(self, against: OperatorType | None = None) -> "Among":
        """As it is. On SQLite, which has no type for truth, `= 1` would be added, and no index be searched."""
        return self


def among(column: ColumnElement[Any], listed: Sequence[Any] | BindParameter[Any], kind: str = "BIGINT") -> Among:
    """Whether a column has one of the values in a parameter, a list; `kind` is their type on PostgreSQL."""
    return Among(column, listed, kind)


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
    """The rows of the statement that `build` makes of `parts`, `variant` and `conditions`: it is kept for those, and
    gets the values of the conditions and the other `values`, by name. The parts are objects that exist once, and
    contain no value that changes. Values have the types of the driver. `is_even` says that one plan is good for all
    values, so that the statement may be prepared. A statement whose text depends on values is built each time.
    """
    shapes = [shape_of(each, tx.dialect) for each in conditions]
    shape = (tx.dialect.name, *map(id, parts), *variant, *[text for text, _ in shapes])
    given = [each for _, binds in shapes for each in binds]
    if shape not in _KEPT:
        made = Compiled(build(), tx.dialect, given)
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[shape] = (made, parts) if len(made.given) == len(given) else None
    kept = _KEPT.get(shape)
    if kept is None:
        return tx.execute(build(), values or None).all()
    made = kept[0]
    found = dict(zip(made.given, [each.effective_value for each in given], strict=True))
    return made.send(tx, {**found, **values}, may_prepare=is_even)[0]


@lru_cache(maxsize=MOST_KEPT)
def shape_of(condition: ColumnElement[bool], dialect: Dialect) -> tuple[Shape, Sequence[BindParameter[Any]]]:
    """What tells a condition from others with another text, and the parameters that have its values. Remembered,
    because many conditions are objects that live long.
    """
    compiled: Any = condition.compile(dialect=dialect)
    given = tuple(compiled.bind_names)
    named = [each.key for each in given if not each.unique]  # SQLite's text has no names
    return (compiled.string, *named, *[type(each.type) for each in given]), given


def insert_rows(
    table: Table,
    names: Sequence[str],
    returning: Sequence[ColumnElement[Any]] = (),
    *,
    unless_taken: Sequence[str] | None = None,
    changing: Sequence[str] = (),
    only_if: ColumnElement[bool] | None = None,
    as_text: Sequence[str] = (),
) -> Statement[[Sequence[Values]]]:
    """The statement that inserts rows into these columns of a table, in their order, and returns columns of them. With
    `unless_taken`, rows are left out whose values of these columns another row has, or they give it new values of the
    columns `changing`, `only_if` it meets a condition. Values of the columns `as_text` are given as JSON texts
    (`json_text`): only so may they contain the character U+0000.
    """

    def build(rows: Annotated[Sequence[Values], RowsOf()], *, is_sqlite: bool = False) -> Executable:
        listed = select_rows(table, names, rows, as_text, is_sqlite=is_sqlite)
        if unless_taken is None:
            return insert(table).from_select(names, listed, include_defaults=False).returning(*returning)
        giving = upsert(table, is_sqlite=is_sqlite).from_select(names, listed, include_defaults=False)
        if not changing:
            return giving.on_conflict_do_nothing(index_elements=unless_taken or None).returning(*returning)
        news = {name: giving.excluded[name] for name in changing}
        giving = giving.on_conflict_do_update(index_elements=unless_taken, set_=news, where=only_if)
        return giving.returning(*returning)

    return Statement(build)


def select_rows(
    table: Table, names: Sequence[str], given: Any, as_text: Sequence[str] = (), *, is_sqlite: bool
) -> Select[Any]:
    """The rows in a parameter, each with a value for each of these columns of a table."""
    if is_sqlite:
        rows = func.json_each(given).table_valued("value")
        chosen = (func.json_extract(rows.c.value, literal_column(f"'$.{name}'")).label(name) for name in names)
        # Without a condition SQLite would take ON CONFLICT for a part of the join.
        return select(*chosen).where(rows.c.value.is_not(None))
    kinds = {name: Text() if name in as_text else table.c[name].type for name in names}
    listed = func.json_to_recordset(cast(given, JSON))
    rows = listed.table_valued(*(column(name, kind) for name, kind in kinds.items())).render_derived(with_types=True)
    return select(*(cast(rows.c[name], JSON) if name in as_text else rows.c[name] for name in names))


def rows_text(rows: Sequence[Values]) -> str:
    """Rows as the one parameter that they are, on PostgreSQL."""
    return orjson.dumps(list(rows)).decode()


def json_text(value: object) -> str:
    """A document for one of the columns `as_text`."""
    return orjson.dumps(value).decode()


def param(name: str, kind: type[TypeEngine[Any]] | TypeEngine[Any] = Integer) -> BindParameter[Any]:
    """A parameter of a statement; by default a whole number."""
    return bindparam(name, None, type_=kind, required=False)


def parameters_of(table: Table, names: Iterable[str] | None = None) -> dict[str, BindParameter[Any]]:
    """For each of these columns, or all that the database does not compute, a parameter with its name."""
    kept = [each for each in table.c if each.computed is None and (names is None or each.key in names)]
    return {each.key: param(each.key, each.type) for each in kept}


def _execute(connection: Connection, text: str, parameters: Any) -> tuple[Rows, int]:
    """The rows of a statement, and how many it changed. SQLAlchemy's own way takes twice as long: it makes a context
    and a result with the names of its columns, which nobody asks for here. Whoever listens to the statements of the
    connection hears of it, and errors are SQLAlchemy's.
    """
    driver = connection.connection
    try:
        cursor: Any = driver.cursor()
    except Exception as error:
        raise translated(connection, error, text, parameters) from error
    for hear in connection.dispatch.before_cursor_execute:
        text, parameters = hear(connection, cursor, text, parameters, None, False)
    try:
        cursor.execute(text, parameters)
        rows = () if cursor.description is None else cursor.fetchall()
    except BaseException as error:
        raise translated(connection, error, text, parameters) from error
    for hear in connection.dispatch.after_cursor_execute:
        hear(connection, cursor, text, parameters, None, False)
    cursor.close()
    return rows, cursor.rowcount


def _is_prepared(connection: Connection, made: Compiled) -> bool:
    """Whether this connection has prepared the statement; it does so when it has used it often, instead of the one that
    it has used least. What is prepared outlives a transaction that is taken back.
    """
    uses: dict[str, int] = connection.info.setdefault(USES, {})
    count = uses.get(made.name, 0) + 1
    if count == PREPARED_AFTER:
        present = [name for name, count in uses.items() if count >= PREPARED_AFTER]
        if len(present) >= MOST_PREPARED:
            least = min(present, key=uses.__getitem__)
            _execute(connection, f"DEALLOCATE {least}", None)
            # What was used long ago counts less.
            uses.update({name: max(PREPARED_AFTER + 1, uses[name] // 2) for name in present})
            del uses[least]
        _execute(connection, made.preparation, None)
    uses[made.name] = count
    return count >= PREPARED_AFTER


def _type_of(annotation: Any) -> TypeEngine[Any] | None:
    """The type of a parameter with this annotation, which may be annotated with another one."""
    kinds = [each for each in get_args(annotation) if each is not type(None)]
    if get_origin(annotation) is Annotated:
        return next((each for each in kinds if isinstance(each, TypeEngine)), None)
    if get_origin(annotation) is UnionType and len(kinds) == 1:
        return _type_of(kinds[0])
    return ListOf() if get_origin(annotation) in (Sequence, Collection) else TYPES.get(annotation)


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> Process | None:
    """What makes the driver's value of a value."""
    found: Process | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return found


def _quoted(value: object) -> str:
    if value is None:
        return "NULL"
    text = value.isoformat() if isinstance(value, date) else str(value)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _as_literal(value: object) -> str | None:
    """A constant as it is written in a statement; None for one that is not."""
    if value is None:
        return "NULL"
    if isinstance(value, (bool, int)):
        return str(value).lower()
    return "'" + value.replace("'", "''").replace("%", "%%") + "'" if isinstance(value, str) else None


@compiles(Among, "postgresql")
def _among_array(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} = ANY(CAST({listed} AS {element.kind}[])))"


@compiles(Among, "sqlite")
def _among_json(element: Among, compiler: SQLCompiler, **options: Any) -> str:
    column, listed = (compiler.process(each, **options) for each in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({listed})))"


class RowsOf(TypeDecorator[Sequence[Values]]):
    """Rows as one JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Sequence[Values] | None, dialect: Dialect) -> str:
        return _rows_text_on_sqlite(value or ()) if dialect.name == "sqlite" else rows_text(value or ())


def _rows_text_on_sqlite(rows: Sequence[Values]) -> str:
    """With times as all columns have them there."""
    known: dict[int, str] = {}  # most times are that of the unit of work, the same object again and again

    def write(value: object) -> str:
        found = known.get(id(value))
        return found or known.setdefault(id(value), _as_text(value))

    return orjson.dumps(list(rows), default=write, option=orjson.OPT_PASSTHROUGH_DATETIME).decode()


def _as_text(value: object) -> str:
    if isinstance(value, datetime):
        return time_text(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"a row cannot have {value!r}")
