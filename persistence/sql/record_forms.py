"""Pages of records as plain values: PostgreSQL hands over the columns of records, and Python writes the JSON around
them. The database takes longer to write the JSON of 250 records than to find and read them. A form is made of the same
declaration (`json_sql`) from which statements for single records are compiled.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import repeat
from json.encoder import encode_basestring as quote
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ColumnElement,
    Float,
    FromClause,
    Integer,
    Null,
    Numeric,
    String,
    any_,
    case,
    func,
    literal_column,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from persistence.sql.columns import JsonIndexed, UuidText
from persistence.sql.json_sql import (
    JsonBoolean,
    JsonList,
    JsonRecord,
    JsonShown,
    JsonTime,
    OptionalRecord,
    Related,
    Show,
    Template,
    compile_value,
)

ITEM, ROW, GROUP = "\x1f", "\x1e", "\x1d"
"""Between an owner and its item, between these pairs, and between groups of them. JSON contains no control characters.
"""
BETWEEN = literal_column(f"E'\\x{ord(GROUP):x}'", String())
FRACTIONS = {19: '.000000Z"', **{20 + digits: f'{"0" * (6 - digits)}Z"' for digits in range(1, 7)}}
"""What a time of PostgreSQL lacks, by its length: it leaves out zeros at the end of a fraction."""
WORD_LENGTH = 9
"""Columns of shorter texts have few different ones: directions, types, statuses, languages."""
WORDS_KEPT = 1000
BOOLEANS = {None: "null", "t": "true", "f": "false"}

ONE: ColumnElement[int] = literal_column("1", Integer)

Values = Sequence[Any]
Write = Callable[[Values], Iterable[str]]


class PlainTime(Template, sqlite="{0}", postgresql="({0} AT TIME ZONE INTERVAL '0')", kind=String()):
    """A time in UTC as PostgreSQL writes it."""


class Gathered(FunctionElement[str]):
    """All pairs of an owner and an item in one text, which `read_pairs` reads; the arguments are both, and then what
    they are sorted by.
    """

    type = String()
    name = "gathered"
    inherit_cache = True


@compiles(Gathered, "postgresql")
def _gathered(element: Gathered, compiler: SQLCompiler, **options: Any) -> str:
    owner, item, *order = element.clauses
    pair = f"{compiler.process(owner, **options)}::text || E'\\x1f' || {compile_value(item, compiler, options)}"
    sorting = f" ORDER BY {', '.join(compiler.process(each, **options) for each in order)}" if order else ""
    return f"string_agg({pair}, E'\\x1e'{sorting})"


@dataclass(frozen=True, slots=True)
class Value:
    """The values of a column, and how they are written."""

    number: int
    write: Write


@dataclass(frozen=True, slots=True)
class Optional:
    """A record inside a record; null where a column is null."""

    number: int
    parts: tuple["Part", ...]


@dataclass(frozen=True, slots=True)
class Many:
    """The items that belong to each record. One row of the page has those of all."""

    number: int


@dataclass(frozen=True, slots=True)
class Shared:
    """The items that belong to each record, of which many have the same. One row of the page has the pairs of a record
    and an item's id, and then the items.
    """

    number: int


@dataclass(frozen=True, slots=True)
class Shown:
    """Documents of which people see something else, and what one row of the page has to help."""

    number: int
    help: int
    show: Show


Part = str | Value | Optional | Many | Shared | Shown


@dataclass(frozen=True, slots=True)
class Once:
    """A column that only the first row of a page has: `make` makes it from the ids of the page."""

    make: Callable[[FromClause], ColumnElement[Any]]


@dataclass(frozen=True)
class Form:
    """The columns of a record, and what is written around them."""

    columns: tuple[ColumnElement[Any] | Once, ...]
    parts: tuple[Part, ...]

    @property
    def has_once(self) -> bool:
        return any(isinstance(each, Once) for each in self.columns)

    def place_of(self, moment: ColumnElement[Any]) -> int | None:
        """Which of the columns is this time, if the record shows it."""
        return self._times.get(id(moment))

    @cached_property
    def _times(self) -> dict[int, int]:
        shown = [(place, each) for place, each in enumerate(self.columns) if isinstance(each, PlainTime)]
        return {id(moment): place for place, each in shown for moment in each.clauses}

    def select_from(self, picked: FromClause) -> list[ColumnElement[Any]]:
        """The columns of a statement about the records with the ids in `picked`, which may have those of `labeled`."""
        # Only the first row has what is gathered. So the records are found by a plan that does not depend on it.
        is_first = picked.c.id == _first_of(picked)
        return [
            case((is_first, each.make(picked))) if isinstance(each, Once) else picked.c.get(f"c{number}", each)
            for number, each in enumerate(self.columns)
        ]

    @cached_property
    def labeled(self) -> list[ColumnElement[Any]]:
        """The columns that each row has for itself, with names."""
        return [each.label(f"c{number}") for number, each in enumerate(self.columns) if not isinstance(each, Once)]

    def write(self, rows: Sequence[Sequence[Any]]) -> list[str]:
        """The JSON of records in rows of these columns, as PostgreSQL writes their values, with the id at the end."""
        return list(_join(self.parts, list(zip(*rows, strict=True)))) if rows else []


def _first_of(picked: FromClause) -> ColumnElement[int]:
    """The id of one record of the page."""
    return select(picked.c.id).limit(ONE).scalar_subquery()


def _workspace_of(source_id: ColumnElement[int], picked: FromClause) -> ColumnElement[int]:
    """The workspace of the page's records, by their ids in their table."""
    assert isinstance(source_id, Column)
    rows = source_id.table.alias("one")
    return select(rows.c.workspace_id).where(rows.c[source_id.key] == _first_of(picked)).scalar_subquery()


def _gather(related: Related, picked: FromClause) -> ColumnElement[Any]:
    found = select(Gathered(related.link, related.item, *related.order_by)).select_from(related.source)
    return found.where(_is_of_page(related, picked)).scalar_subquery()


def _is_of_page(related: Related, picked: FromClause) -> ColumnElement[bool]:
    """Whether something belongs to a record of the page. For an array of ids PostgreSQL goes through the index once,
    for a join once for each id.
    """
    return related.link == any_(func.array(select(picked.c.id).scalar_subquery()))


def _gather_shared(related: Related, key: Column[Any], item_id: Column[Any], picked: FromClause) -> ColumnElement[Any]:
    linked = select(related.link.label("owner"), key.label("key")).where(_is_of_page(related, picked))
    links = linked.cte("links")
    pairs = select(Gathered(links.c.owner, links.c.key)).scalar_subquery()
    meant = item_id.in_(select(links.c.key))
    items = select(Gathered(item_id, related.item, *related.order_by)).where(meant).scalar_subquery()
    return pairs + BETWEEN + items


def _join(parts: tuple[Part, ...], columns: Sequence[Values]) -> Iterable[str]:
    ids = columns[-1]
    return map("".join, zip(*(_write(part, columns, ids) for part in parts), strict=True))


def _write(part: Part, columns: Sequence[Values], ids: Values) -> Iterable[str]:
    if isinstance(part, str):
        return repeat(part, len(ids))
    values = columns[part.number]
    if isinstance(part, Value):
        return part.write(values)
    if isinstance(part, Many):
        return _distribute(values, ids)
    if isinstance(part, Shared):
        return _share(_only(values), ids)
    if isinstance(part, Shown):
        return part.show(values, _only(columns[part.help]))
    if not any(values):
        return repeat("null", len(ids))
    inner = _join(part.parts, columns)
    return ["null" if value is None else text for value, text in zip(values, inner, strict=True)]


def _only(values: Values) -> str | None:
    """What one row has; None if none has it."""
    return next((value for value in values if value is not None), None)


def read_pairs(gathered: str | None) -> Iterable[tuple[str, str]]:
    """The owners and items of `Gathered`, in their order."""
    if gathered is None:
        return ()
    parts = gathered.replace(ROW, ITEM).split(ITEM)
    return zip(parts[::2], parts[1::2], strict=True)


def _distribute(values: Values, ids: Values) -> Iterable[str]:
    found: dict[str, str] = {}
    for owner, item in read_pairs(_only(values)):
        found[owner] = f"{found[owner]},{item}" if owner in found else item
    return [f"[{found[each]}]" if each in found else "[]" for each in ids]


def _share(gathered: str | None, ids: Values) -> Iterable[str]:
    if gathered is None:
        return repeat("[]", len(ids))
    links, _, gathered_items = gathered.partition(GROUP)
    items: list[str] = []
    ranks: dict[str, int] = {}
    for key, item in read_pairs(gathered_items):
        ranks[key] = len(items)
        items.append(item)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for owner, key in read_pairs(links):
        found[owner].append(ranks[key])
    written = _Lists(items)
    return [written[tuple(found[each])] for each in ids]


class _Lists(dict[tuple[int, ...], str]):
    """The items with these ranks as a list, each combination written once: many records have the same few items."""

    def __init__(self, items: Sequence[str]) -> None:
        super().__init__()
        self._items = items

    def __missing__(self, ranks: tuple[int, ...]) -> str:
        written = self[ranks] = f"[{','.join([self._items[rank] for rank in sorted(ranks)])}]"
        return written


def _write_texts(values: Values) -> Iterable[str]:
    return ["null" if value is None else quote(value) for value in values]


class _Words(dict[str | None, str]):
    """Short words as JSON, each written once."""

    def __missing__(self, word: str | None) -> str:
        if len(self) >= WORDS_KEPT:
            self.clear()
        written = self[word] = "null" if word is None else quote(word)
        return written


_WORDS = _Words()


def _write_words(values: Values) -> Iterable[str]:
    return map(_WORDS.__getitem__, values)


def _write_uuids(values: Values) -> Iterable[str]:
    return ["null" if value is None else f'"{value}"' for value in values]


def _write_documents(values: Values) -> Iterable[str]:
    return ["null" if value is None else value for value in values]


def _write_booleans(values: Values) -> Iterable[str]:
    return map(BOOLEANS.__getitem__, values)


def _write_times(values: Values) -> Iterable[str]:
    return ["null" if value is None else f'"{value.replace(" ", "T")}{FRACTIONS[len(value)]}' for value in values]


def form_of(record: ColumnElement[Any], source_id: ColumnElement[int]) -> Form:
    """The form of a declared record whose id is `source_id`."""
    found = _FORMS.get((id(record), id(source_id)))
    if found is None:
        made = _Maker(source_id)
        parts = made.record(record)
        found = _FORMS[id(record), id(source_id)] = Form(tuple(made.columns), parts)
    return found


_FORMS: dict[tuple[int, int], Form] = {}
"""By the identities of the record and of the id, which live as long as the process."""


class _Maker:
    """Collects the columns of a form."""

    def __init__(self, source_id: ColumnElement[int]) -> None:
        self._source_id = source_id
        self.columns: list[ColumnElement[Any] | Once] = []

    def record(self, record: ColumnElement[Any]) -> tuple[Part, ...]:
        assert isinstance(record, JsonRecord)
        clauses = list(record.clauses)
        parts: list[Part] = []
        for key, value in zip(clauses[::2], clauses[1::2], strict=True):
            begin = "," if parts else "{"
            parts += [f"{begin}{quote(str(key).strip(chr(39)))}:", *self._value(value)]
        return _merged([*parts, "}" if parts else "{}"])

    def _value(self, value: ColumnElement[Any]) -> tuple[Part, ...]:
        if isinstance(value, JsonRecord):
            return self.record(value)
        if isinstance(value, OptionalRecord):
            return (Optional(self._add(value.present), self.record(value.record)),)
        if isinstance(value, Null):
            return ("null",)
        related = value.related if isinstance(value, JsonList) else None
        if related is not None and related.owner is self._source_id:
            return (self._gather(related),)
        if isinstance(value, JsonShown):
            help, source_id = value.help, self._source_id
            knows = Once(lambda picked: help(_workspace_of(source_id, picked)))
            return (Shown(self._add(*value.clauses), self._add(knows), value.show),)
        if isinstance(value, JsonTime):
            (moment,) = value.clauses
            return (Value(self._add(PlainTime(moment)), _write_times),)
        return (Value(self._add(value), _writer_of(value)),)

    def _gather(self, related: Related) -> Many | Shared:
        key, item_id = related.key, related.item_id
        if key is None or item_id is None:
            return Many(self._add(Once(partial(_gather, related))))
        return Shared(self._add(Once(partial(_gather_shared, related, key, item_id))))

    def _add(self, column: ColumnElement[Any] | Once) -> int:
        self.columns.append(column)
        return len(self.columns) - 1


def _merged(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts with neighboring texts put together."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, str) and found and isinstance(found[-1], str):
            found[-1] += part
        else:
            found.append(part)
    return tuple(found)


def _writer_of(value: ColumnElement[Any]) -> Write:
    kind = value.type
    if isinstance(kind, UuidText):
        return _write_uuids
    if isinstance(kind, Boolean) or isinstance(value, JsonBoolean):
        return _write_booleans
    if isinstance(kind, (JSON, JsonIndexed, Float, Integer, Numeric)):
        return _write_documents
    length = kind.length if isinstance(kind, String) else None
    return _write_words if length is not None and length <= WORD_LENGTH else _write_texts
