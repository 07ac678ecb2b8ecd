"""Records as clients see them. A record is declared once: its columns, records inside of it, related rows, documents
that people see otherwise than they are stored. The database reads columns, one statement for a page or for one record,
and Python makes the records, of which orjson writes the JSON. For the database that takes longer: it looks up the type
of every value, and fields of contacts one by one.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, ClassVar

import orjson
from sqlalchemy import (
    JSON,
    Boolean,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Join,
    Null,
    Numeric,
    Select,
    String,
    Table,
    Text,
    any_,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.sql.selectable import LateralFromClause, NamedFromClause
from sqlalchemy.types import TypeEngine

from persistence.sql.columns import BigId, JsonIndexed, UtcDateTime

Values = Sequence[Any]
Shown = dict[str, Any]
"""A record as orjson writes it; documents that are stored as JSON are in it as they are (`orjson.Fragment`)."""
OfPage = Callable[[FromClause, bool, bool], ColumnElement[Any]]
"""A column that only the first row of a page has: made from the ids of the page, for SQLite or not."""

WORKSPACE = bindparam("asking_workspace", None, type_=Integer, required=False)
"""The workspace that asks, in declarations."""
SIGN_IN = bindparam("asking_sign_in", None, type_=BigId, required=False)
"""The sign-in that asks."""

TIME_ENDS = {27: "", 19: ".000000Z", **{20 + digits: f"{'0' * (6 - digits)}Z" for digits in range(1, 7)}}
"""What a time lacks, by its length: PostgreSQL leaves out zeros at the end of a fraction."""
MOST_DISPLAYED = 15
"""Items of a dictionary's display that Python makes at once."""
MOST_PARTIAL = 500
"""Records with some of their members that are remembered: clients choose the members."""
ONE: ColumnElement[int] = literal_column("1", Integer)
AS_TEXT = (JSON, JsonIndexed, Float, Numeric)
"""What the database writes as JSON has it: of a float PostgreSQL makes `10` and Python `10.0`."""


class Template(FunctionElement[Any]):
    """An expression that differs between the databases; `{0}` and `{1}` in its text are the arguments."""

    name = "template"
    inherit_cache = True
    texts: ClassVar[Mapping[str, str]]

    def __init_subclass__(cls, *, sqlite: str, postgresql: str, kind: TypeEngine[Any]) -> None:
        super().__init_subclass__()
        cls.inherit_cache = True
        cls.texts = {"sqlite": sqlite, "postgresql": postgresql}
        cls.type = kind


@compiles(Template)
def _template(element: Template, compiler: SQLCompiler, **options: Any) -> str:
    parts = [compiler.process(clause, **options) for clause in element.clauses]
    return element.texts[compiler.dialect.name].format(*parts)


class _TimeText(Template, sqlite="{0}", postgresql="({0} AT TIME ZONE INTERVAL '0')::text", kind=String()):
    """A time in UTC, as the database writes it."""


class Record:
    """A record, or a part of one: an object with these fields, which are columns, records, `Related`, `Shared`,
    `Document`, or plain values. It is null where `present` is. `show` makes of it what people see.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        *,
        present: ColumnElement[Any] | None = None,
        show: Callable[[Shown], Shown] | None = None,
    ) -> None:
        self.fields = fields
        self.show = show
        self._make = _maker_of(tuple(fields))
        self._parts = [_part(name, field) for name, field in fields.items()]
        self._present = present
        inner = [column for part in self._parts for column in part.columns]
        self.columns: list[ColumnElement[Any] | OfPage] = inner if present is None else [present, *inner]

    def only(self, names: frozenset[str]) -> "Record":
        """The record with these members alone; what the others need is not read. One of which people see something else
        stays whole, because that may be made of any member.
        """
        return self if self.show is not None else _partial(self, names)

    def _with(self, names: frozenset[str]) -> "Record":
        kept = {name: field for name, field in self.fields.items() if name in names}
        return Record(kept, present=self._present) if kept else self

    @property
    def own_columns(self) -> list[ColumnElement[Any]]:
        """The columns of a record that has nothing related."""
        found = [each for each in self.columns if isinstance(each, ColumnElement)]
        assert len(found) == len(self.columns), "related rows are read for pages"
        return found

    def build(self, columns: Iterator[Values], ids: Values) -> list[Any]:
        """The records of a page, from the values of its next columns."""
        present = None if self._present is None else next(columns)
        if present is not None and not any(each is not None for each in present):
            for _ in self.columns[1:]:
                next(columns)
            return [None] * len(ids)
        made = self._make([part.build(columns, ids) for part in self._parts])
        made = made if self.show is None else [self.show(each) for each in made]
        return made if present is None else _where(present, made)

    def read(self, rows: Sequence[Values]) -> list[Shown]:
        """The records in rows of `columns`, at whose end are the ids."""
        if not rows:
            return []
        columns = list(zip(*rows, strict=True))
        return self.build(iter(columns), columns[-1])


@lru_cache(maxsize=MOST_PARTIAL)
def _partial(record: Record, names: frozenset[str]) -> Record:
    """Made once, because statements are kept for the record of which they were made."""
    return record._with(names)


def optional(present: ColumnElement[Any], fields: Mapping[str, Any]) -> Record:
    """A record inside of another one, for outer joins: null where `present` is null."""
    return Record(fields, present=present)


class Related:
    """A list of what belongs to a record: `item` of the rows of `source` whose `link` is the record's id, or `owner`, a
    column of its table. The item is a record or a column.
    """

    def __init__(
        self,
        link: ColumnElement[Any],
        source: FromClause,
        item: Record | ColumnElement[Any],
        *order_by: ColumnElement[Any],
        where: ColumnElement[bool] | None = None,
        owner: ColumnElement[Any] | None = None,
    ) -> None:
        self._item = item if isinstance(item, Record) else _Value(item)
        self._owner = owner
        rows = select(link, *self._item.own_columns).select_from(source).order_by(*order_by)
        self._rows = rows if where is None else rows.where(where)
        self._link = link
        self.columns: list[ColumnElement[Any] | OfPage] = [self._of_page] if owner is None else [owner, self._of_page]

    def build(self, columns: Iterator[Values], ids: Values) -> list[Any]:
        owners = ids if self._owner is None else next(columns)
        links, *values = _gathered(next(columns))
        if not links:
            return [[]] * len(ids)
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for link, item in zip(links, self._item.build(iter(values), links), strict=True):
            found[link].append(item)
        return [found.get(owner, ()) for owner in owners]

    def _of_page(self, picked: FromClause, is_sqlite: bool, is_one: bool) -> ColumnElement[Any]:
        ids = select(picked.c.id)
        if self._owner is not None:
            table: Any = self._owner.table
            ids = select(self._owner).where(table.c.id.in_(ids))
        return _gather(self._rows.where(_is_among(self._link, ids, is_array=not (is_sqlite or is_one))), is_sqlite)


class Shared:
    """A list of what many records share, as contacts their groups: each item is read once. `link` is the record's id
    and `key` the item's, in a table of both; the items are rows of the table that has `item_id`.
    """

    def __init__(
        self,
        link: ColumnElement[Any],
        key: ColumnElement[Any],
        item_id: ColumnElement[Any],
        item: Record | ColumnElement[Any],
        *order_by: ColumnElement[Any],
    ) -> None:
        self._item = item if isinstance(item, Record) else _Value(item)
        self._links = select(link.label("link"), key.label("item"))
        self._link = link
        self._items = select(item_id, *self._item.own_columns).order_by(*order_by)
        self._item_id = item_id
        self.columns: list[ColumnElement[Any] | OfPage] = [self._of_page]

    def build(self, columns: Iterator[Values], ids: Values) -> list[Any]:
        text = next((value for value in next(columns) if value is not None), None)
        if text is None:
            return [[]] * len(ids)
        (links, keys), (item_ids, *values) = [[each or [] for each in rows] for rows in orjson.loads(text)]
        owners: defaultdict[Any, list[Any]] = defaultdict(list)
        for link, key in zip(links, keys, strict=True):
            owners[key].append(link)
        found: defaultdict[Any, list[Any]] = defaultdict(list)
        for key, item in zip(item_ids, self._item.build(iter(values), item_ids), strict=True):
            for owner in owners[key]:
                found[owner].append(item)
        return [found.get(owner, ()) for owner in ids]

    def _of_page(self, picked: FromClause, is_sqlite: bool, is_one: bool) -> ColumnElement[Any]:
        is_theirs = _is_among(self._link, select(picked.c.id), is_array=not (is_sqlite or is_one))
        links = self._links.where(is_theirs).cte()
        items = self._items.where(self._item_id.in_(select(links.c.item)))
        parts = [_gather(select(links.c.link, links.c.item), is_sqlite), _gather(items, is_sqlite)]
        comma: ColumnElement[str] = literal_column("','")
        return literal_column("'['", String) + parts[0] + comma + parts[1] + literal_column("']'")


class Document:
    """A stored document of which people see something else: `show` makes it of the documents of a page and of the rows
    of `known`, which are read once.
    """

    def __init__(
        self,
        column: ColumnElement[Any],
        known: Select[*tuple[Any, ...]],
        show: Callable[[Iterable[Any], Iterable[Sequence[Any]]], Iterable[Any]],
    ) -> None:
        self._show = show
        self.columns: list[ColumnElement[Any] | OfPage] = [
            cast(column, Text),
            lambda _picked, is_sqlite, _is_one: _gather(known, is_sqlite),
        ]

    def build(self, columns: Iterator[Values], _ids: Values) -> Iterable[Any]:
        documents = _parse_documents(next(columns))
        return self._show(documents, zip(*_gathered(next(columns)), strict=True))


class _Value:
    """The values of a column."""

    def __init__(self, column: ColumnElement[Any]) -> None:
        self.own_columns = [readable(column)]
        self.columns: list[ColumnElement[Any] | OfPage] = [*self.own_columns]
        self._write: Callable[[Values], Iterable[Any]] | None = _writer(column.type)

    def build(self, columns: Iterator[Values], _ids: Values) -> Iterable[Any]:
        values = next(columns)
        return values if self._write is None else self._write(values)


class Parsed(_Value):
    """A stored document for those who look into it, in `show` of its record."""

    def __init__(self, column: ColumnElement[Any]) -> None:
        super().__init__(column)
        self._write = _parse_documents


class _Constant:
    """What is the same in each record."""

    columns: ClassVar[list[ColumnElement[Any] | OfPage]] = []

    def __init__(self, value: Any) -> None:
        self._value = value

    def build(self, _columns: Iterator[Values], ids: Values) -> Iterable[Any]:
        return repeat(self._value, len(ids))


def write_record(record: Shown) -> str:
    """The JSON of a record."""
    return orjson.dumps(record).decode()


def select_records(
    record: Record,
    source: FromClause,
    source_id: ColumnElement[int],
    picked: FromClause,
    *,
    is_sqlite: bool,
    is_one: bool = False,
    told: ColumnElement[Any] | None = None,
) -> Select[*tuple[Any, ...]]:
    """The columns of the records whose ids are in `picked`, which is a CTE, or of one (`is_one`), then what the first
    row tells besides (`told`); whoever adds others adds the id last."""
    # Only the first row has what is read for the whole page: records are found by a plan that does not depend on it.
    is_first = picked.c.id == select(picked.c.id).limit(ONE).scalar_subquery()
    columns = [
        each if isinstance(each, ColumnElement) else case((is_first, each(picked, is_sqlite, is_one)))
        for each in record.columns
    ]
    if told is not None:
        columns.append(case((is_first, told)))
    return select(*columns).select_from(_join_after(picked, source, source_id))


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


@compiles(FirstRow, "postgresql")
def _join_lateral(joined: FirstRow, compiler: SQLCompiler, **options: Any) -> str:
    left, first = (compiler.process(each, **{**options, "asfrom": True}) for each in (joined.left, joined.first))
    return f"{left} LEFT OUTER JOIN {first} ON true"


def _join_after(picked: FromClause, source: FromClause, source_id: ColumnElement[int]) -> FromClause:
    """A chain of joins that begins with `picked` and the table of `source_id`. PostgreSQL plans eight joined tables
    together (`join_collapse_limit`): it joins what stands in brackets, and is as long, for all rows of the workspace.
    """
    if isinstance(source, Join) and not any(each is source_id for each in source.right.c):
        first = _join_after(picked, source.left, source_id)
        joined = type(source)(first, source.right, source.onclause, isouter=source.isouter)
        if isinstance(source, FirstRow) and isinstance(joined, FirstRow):
            joined.first = source.first
        return joined
    return picked.join(source, source_id == picked.c.id)


def _maker_of(names: Sequence[str]) -> Callable[[Sequence[Iterable[Any]]], list[Shown]]:
    """Makes records of columns with these names, with a display of a dictionary: `dict(zip(names, row))` takes twice as
    long. Python makes a longer display in parts, and copies them: then it is quicker to fill a copy of an empty record.
    """
    places = {name: f"v{number}" for number, name in enumerate(names)}
    row = f"{', '.join(places.values())},"
    if len(places) <= MOST_DISPLAYED:
        shown = ", ".join(f"{name!r}: {place}" for name, place in places.items())
        lines = [f"return [{{{shown}}} for {row} in zip(*columns)]"]
    else:
        filling = "; ".join(f"record[{name!r}] = {place}" for name, place in places.items())
        lines = [
            "made = []",
            f"for {row} in zip(*columns):",
            f"    record = copy(); {filling}; made.append(record)",
            "return made",
        ]
    defined: dict[str, Any] = {"copy": dict.fromkeys(places).copy}
    exec("\n    ".join(["def make(columns):", *lines]), defined)
    made: Callable[[Sequence[Iterable[Any]]], list[Shown]] = defined["make"]
    return made


def _part(name: str, field: Any) -> Record | Related | Shared | Document | _Value | _Constant:
    if isinstance(field, (Record, Related, Shared, Document, Parsed)):
        return field
    if isinstance(field, ColumnElement) and not isinstance(field, Null):
        return _Value(field)
    value = None if isinstance(field, Null) else field
    try:
        orjson.dumps(value)
    except TypeError as error:
        raise TypeError(f"{name} is a {type(value).__name__} of columns: write Record(...) or Related") from error
    return _Constant(value)


def readable(column: ColumnElement[Any]) -> ColumnElement[Any]:
    """A column as texts and numbers, which no driver converts."""
    if isinstance(column.type, UtcDateTime):
        return _TimeText(column)
    return cast(column, Text) if isinstance(column.type, AS_TEXT) else column


def _writer(kind: TypeEngine[Any]) -> Callable[[Values], Iterable[Any]] | None:
    if isinstance(kind, UtcDateTime):
        return _write_times
    if isinstance(kind, AS_TEXT):
        return _write_documents
    return _write_booleans if isinstance(kind, Boolean) else None


def _write_times(values: Values) -> Iterable[str | None]:
    return [None if value is None else value.replace(" ", "T") + TIME_ENDS[len(value)] for value in values]


def write_time(value: str) -> str:
    """A time as records show it, of what the database wrote (`readable`)."""
    return value.replace(" ", "T") + TIME_ENDS[len(value)]


def _write_documents(values: Values) -> Iterable[orjson.Fragment | None]:
    return [None if value is None else orjson.Fragment(value) for value in values]


def _parse_documents(values: Values) -> Iterable[Any]:
    parsed: list[Any] = orjson.loads(f"[{','.join([value or 'null' for value in values])}]")
    return parsed


def _write_booleans(values: Values) -> Iterable[bool | None]:
    if int not in set(map(type, values)):  # PostgreSQL has a type for them
        return values
    return [None if value is None else bool(value) for value in values]


def _where(present: Values, made: Sequence[Any]) -> list[Any]:
    return [None if value is None else each for value, each in zip(present, made, strict=True)]


def _is_among(link: ColumnElement[Any], ids: Select[Any], *, is_array: bool) -> ColumnElement[bool]:
    """Whether it is one of these ids. For an array PostgreSQL goes through the index once, for a join once for each id.
    It takes an array for ten ids, and would read what belongs to one record as if to ten.
    """
    return link == any_(func.array(ids.scalar_subquery())) if is_array else link.in_(ids)


def _gather(rows: Select[*tuple[Any, ...]], is_sqlite: bool) -> ColumnElement[Any]:
    """All rows in one value: a list for each column."""
    listed = rows.with_only_columns(*(each.label(f"c{number}") for number, each in enumerate(rows.selected_columns)))
    found = listed.subquery()
    pack, gather = (func.json_array, func.json_group_array) if is_sqlite else (func.json_build_array, func.json_agg)
    return select(cast(pack(*(gather(each) for each in found.c)), Text)).select_from(found).scalar_subquery()


def _gathered(values: Values) -> list[list[Any]]:
    """The columns in the one value that `_gather` makes; PostgreSQL has null for those of no rows."""
    text = next((value for value in values if value is not None), None)
    return [] if text is None else [each or [] for each in orjson.loads(text)]
