"""List operations as data: the record, the order of records, and the condition of each query parameter."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache, lru_cache, partial
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    Select,
    Table,
    bindparam,
    func,
    insert,
    literal_column,
    select,
)

from persistence.database import Transaction
from persistence.pages import Order, Page, Position, Selection, fetch_numbered_page, fetch_page, read_all
from persistence.records import SIGN_IN, WORKSPACE, Record, Shown, write_record
from persistence.secrets.encryption import Sealed
from persistence.sql.columns import LARGEST_SMALL_ID, NO_ID, BigId, NumberedColumns, UtcDateTime, is_uuid, time_text
from persistence.sql.names import name_key
from persistence.sql.query_functions import contains_folded
from persistence.stamps import EPOCH, final_time, read_visible_clock, stamped
from persistence.statements import Statement, execute_kept, parameters_of
from persistence.tables.changes import record_stamp
from persistence.tables.service import workspace_clock
from persistence.tokens import Areas, covers
from persistence.workspaces.records import Workspace

WANTED = "wanted_id"
"""The parameter with the id of one record."""
RECORDS_PER_STATEMENT = 250
MOST_COUNTED = 10_000
"""Records of a list that are counted; of more it is told that there are more."""
EVEN = frozenset({"uuid", "id", "key", "folder", "contact", "urn", "flow", "before", "after", "reverse", "paths"})
"""Parameters whose values do not matter for the plan of a statement: the same index serves all."""
SINCE = frozenset({"after", "modified_after"})
"""Parameters of those who ask for changes again and again: mostly there are none."""
EVEN_ALONE = frozenset({"label", "group"})
"""Those of which this is true unless there are others. A group has a statement of its own, and a plan for its size."""

Condition = ColumnElement[bool]
Values = Mapping[str, Any]

CLOCK = select(workspace_clock.c.stamped_on).where(workspace_clock.c.workspace_id == WORKSPACE).scalar_subquery()
CHANGE_ORDER = Order(record_stamp.c.stamped_on, record_stamp.c.record)
"""The newest change first, for lists that are asked for changes."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The workspace, the person and the parameters of a list request; parameters have the contract's names and
    converted values. `areas` are those to which the token is limited. `members` are those that are wanted of each
    record, all of them without."""

    tx: Transaction
    workspace: Workspace
    values: Values = field(default_factory=dict)
    is_agent: bool = False
    user_id: int | None = None
    sign_in_id: int | None = None
    areas: Areas = None
    members: frozenset[str] | None = None

    @property
    def asking(self) -> dict[str, Any]:
        """The values of the parameters that records are declared with."""
        return {WORKSPACE.key: self.workspace.id, SIGN_IN.key: self.sign_in_id or NO_ID}


Rule = Callable[[ListQuery, Any], Condition | Sequence[Condition]]
"""A filter: from a query and the parameter's value to the conditions of matching records."""
SimpleRule = Callable[[ListQuery, Any], Condition]


@dataclass(frozen=True, slots=True)
class ListSpec:
    """The list of a resource in one generation of the API; responses to creating and changing a record show the same
    records. `table` contains the records; if it has a `workspace_id`, only the caller's are found. `record` is built
    from `source`, by default from the table; `masked` replaces it in anonymous workspaces. `standing` conditions always
    apply. `options` are parameters that are not filters: the order, the record or the standing conditions depend on
    them. `changing` names the filters of numbered pages whose result can change for a record (see
    `fetch_numbered_page`); None means that the order can change. `chosen_by` is the table whose rows choose the
    records, where it is not always their own. `is_followed` lists tell clients with which time to ask for what changes
    next.
    """

    table: Table
    record: Record | Callable[[ListQuery], Record]
    order: Order | Callable[[Values], Order]
    filters: Mapping[str, Rule] = field(default_factory=dict)
    source: FromClause | None = None
    masked: Record | None = None
    standing: Sequence[Condition] | Callable[[ListQuery], Sequence[Condition]] = ()
    options: frozenset[str] = frozenset()
    changing: frozenset[str] | None = None
    chosen_by: Callable[[Values], Table] | None = None
    is_followed: bool = False

    def order_of(self, values: Values) -> Order:
        return self.order if isinstance(self.order, Order) else self.order(values)

    def keeps_places(self, values: Values) -> bool:
        """Whether the matching records of a numbered list have matched since they were created."""
        return self.changing is not None and not self.changing & values.keys()

    def select(
        self,
        query: ListQuery,
        order: Order,
        conditions: Sequence[Condition],
        *,
        is_even: bool,
        clock: ColumnElement[datetime] | None = None,
    ) -> Selection:
        """The matching records."""
        record, source = self.record_of(query), self.source_of()
        if query.members is not None:
            record = record.only(query.members)
        return Selection(record, source, self.table.c.id, order, conditions, query.asking, is_even, clock)

    def select_ids(self, query: ListQuery) -> Select[int]:
        """The ids of all matching records."""
        found = self.order_of(query.values).id
        return select(found).where(*self.conditions(query)).order_by(found)

    def conditions(self, query: ListQuery) -> list[Condition]:
        standing = self.standing(query) if callable(self.standing) else self.standing
        return [*self._mine(query), *standing, *self.asked(query)]

    def asked(self, query: ListQuery) -> list[Condition]:
        """The conditions of the given parameters."""
        found: list[Condition] = []
        for name, rule in self.filters.items():
            if name in query.values:
                conditions = rule(query, query.values[name])
                found += [conditions] if isinstance(conditions, ColumnElement) else conditions
        return found

    def read(
        self, query: ListQuery, *conditions: Condition, order: Order | None = None, wanted: int | None = None
    ) -> list[str]:
        """The workspace's records that these conditions name, by their ids unless there is an order, as JSON texts."""
        query.tx.flush()
        mine = [*self._mine(query), *conditions]
        chosen = self.select(query, order or _by_id(self.table), mine, is_even=True)
        if wanted is not None:
            chosen.asking[WANTED] = wanted
        return read_all(query.tx, chosen, most=None if wanted is None else 1)

    def record_of(self, query: ListQuery) -> Record:
        """A record as this list shows it."""
        if not isinstance(self.record, Record):
            return self.record(query)
        return self.masked if self.masked is not None and query.workspace.is_anonymous else self.record

    def source_of(self) -> FromClause:
        """What records are built from."""
        return self.table if self.source is None else self.source

    def _mine(self, query: ListQuery) -> list[Condition]:
        table = self.table if self.chosen_by is None else self.chosen_by(query.values)
        return [_owned(table, query.workspace.id)] if "workspace_id" in table.c else []


def fetch_list(query: ListQuery, spec: ListSpec, position: Position | None, size: int) -> Page:
    """A page of a list at a position, in one statement besides those that look up references in parameters. The first
    page of a list that is followed has the time of the last change that was visible to it.
    """
    asked = query.values.keys() - EVEN
    is_even = not asked or (len(query.values) == 1 and asked <= EVEN_ALONE)
    is_told = spec.is_followed and position is None
    clock = CLOCK if is_told and not query.values.keys() & SINCE else None
    chosen = spec.select(query, spec.order_of(query.values), spec.conditions(query), is_even=is_even, clock=clock)
    if not is_told:
        return fetch_page(query.tx, chosen, position, size)
    if clock is not None:
        page = fetch_page(query.tx, chosen, None, size)
        if page.shown:
            return page if page.clock is not None else replace(page, clock=time_text(EPOCH))
    # No row tells it. What is committed between the two statements comes twice, and never not at all.
    moment = time_text(read_visible_clock(query.tx, query.workspace.id))
    return replace(fetch_page(query.tx, replace(chosen, clock=None), None, size), clock=moment)


def count_list(query: ListQuery, spec: ListSpec) -> tuple[int, bool]:
    """How many records a list has, at most MOST_COUNTED, and whether there are no more; no others are looked at."""
    order, conditions = spec.order_of(query.values), spec.conditions(query)
    build = partial(_select_count, order, conditions)
    ((found,),) = execute_kept(query.tx, (spec.source_of(), order), ("count",), conditions, build, query.asking)
    return min(found, MOST_COUNTED), found <= MOST_COUNTED


def fetch_numbered_list(query: ListQuery, spec: ListSpec, number: int, size: int) -> Page:
    """Page `number`, from 1, of a list of v1. Raises RecordMissing beyond the end."""
    # Filters of v1 combine in ways for which no one plan is good.
    chosen = spec.select(query, spec.order_of(query.values), spec.conditions(query), is_even=not query.values)
    return fetch_numbered_page(query.tx, chosen, number, size, keeps_places=spec.keeps_places(query.values))


def read_list(query: ListQuery, spec: ListSpec) -> list[str]:
    """All records of a list, as JSON texts."""
    page = fetch_list(query, spec, None, RECORDS_PER_STATEMENT)
    records = page.records
    while page.next is not None:
        page = fetch_list(query, spec, page.next, RECORDS_PER_STATEMENT)
        records += page.records
    return records


def read_record(
    tx: Transaction, spec: ListSpec, workspace: Workspace, record_id: int, *, is_agent: bool = False
) -> str:
    """One record of a list as JSON text."""
    (found,) = spec.read(ListQuery(tx, workspace, is_agent=is_agent), _is_wanted(spec.table), wanted=record_id)
    return found


def read_records(
    tx: Transaction, spec: ListSpec, workspace: Workspace, record_ids: Iterable[int | None]
) -> dict[int, str]:
    """Records of a list by their ids, as JSON texts, in one statement."""
    wanted = sorted({each for each in record_ids if each is not None})
    if not wanted:
        return {}
    found = spec.read(ListQuery(tx, workspace), spec.table.c.id.in_(wanted))
    return dict(zip(wanted, found, strict=True))


def find_record(query: ListQuery, spec: ListSpec, key: str, value: str) -> str | None:
    """The record of a list that has a value in a column such as `uuid` or `key`, as JSON text: what a list finds with
    this parameter, if it has it."""
    if key == "uuid" and not is_uuid(value):
        return None
    wanted = value.lower()
    named = replace(query, values={**query.values, key: wanted})
    found = spec.read(query, *spec.conditions(named), spec.table.c[key] == wanted)
    return found[0] if found else None


def find_named(query: ListQuery, spec: ListSpec, name: str, key: str = "uuid") -> str | None:
    """The UUID, or another key, of the record of a list that has this name, in any case."""
    is_it = spec.table.c.name_key == name_key(name.strip())
    found: str | None = query.tx.execute(select(spec.table.c[key]).where(*spec.conditions(query), is_it)).scalar()
    return found


def in_areas(column: ColumnElement[Any], area_of: Mapping[Any, str]) -> Callable[[ListQuery], Sequence[Condition]]:
    """Standing conditions of a list whose records belong to areas by what is in this column: a limited token gets those
    that it covers."""

    def conditions(query: ListQuery) -> Sequence[Condition]:
        if query.areas is None:
            return []
        return [column.in_([value for value, area in area_of.items() if covers(query.areas, area)])]

    return conditions


def reversible(column: ColumnElement[Any], record_id: ColumnElement[int]) -> Callable[[Values], Order]:
    """Newest first, or oldest first with the parameter `reverse`."""
    newest_first, oldest_first = Order(column, record_id), Order(column, record_id, descending=False)
    return lambda values: oldest_first if values.get("reverse") else newest_first


def equals(column: ColumnElement[Any]) -> SimpleRule:
    return lambda _query, value: _equal(column, value)


@lru_cache(maxsize=1000, typed=True)
def _equal(column: ColumnElement[Any], value: Any) -> Condition:
    """Kept, as in `_belong`."""
    found: Condition = column == _fitting(column, value)
    return found


def one_of(column: ColumnElement[Any]) -> SimpleRule:
    def rule(_query: ListQuery, values: Sequence[Any]) -> Condition:
        fitting = [_fitting(column, value) for value in values]
        return column == fitting[0] if len(fitting) == 1 else column.in_(fitting)

    return rule


def _fitting(column: ColumnElement[Any], value: Any) -> Any:
    """The value, or NO_ID for a number that is too large for the column: a prepared statement refuses such a one."""
    is_small = type(column.type) is Integer
    return NO_ID if is_small and isinstance(value, int) and value > LARGEST_SMALL_ID else value


def within(column: ColumnElement[Any]) -> dict[str, Rule]:
    """The parameters `before` and `after`, both inclusive, by this time."""
    return {"before": lambda _query, moment: column <= moment, "after": lambda _query, moment: column >= moment}


def changed_after(table: Table) -> Rule:
    """The parameter `modified_after` for a table whose changes have their times in `record_stamp`."""
    stamps = record_stamp.c

    def rule(query: ListQuery, moment: datetime) -> list[Condition]:
        mine = (stamps.workspace_id == query.workspace.id) & (stamps.kind == table.name)
        return [mine, stamps.record == table.c.id, stamps.stamped_on >= moment]

    return rule


def stamped_on(table: Table) -> ColumnElement[datetime]:
    """When a record of such a table last changed; if it has not since there are these times, when it was created."""
    stamps = record_stamp.alias()
    mine = (stamps.c.workspace_id == table.c.workspace_id) & (stamps.c.kind == table.name)
    found = select(stamps.c.stamped_on).where(mine, stamps.c.record == table.c.id).correlate(table).scalar_subquery()
    moment: ColumnElement[datetime] = func.coalesce(found, table.c.created_on, type_=UtcDateTime())
    return moment


def by_change(order: Order) -> Callable[[Values], Order]:
    """An order, or that of changes with the parameter `modified_after`."""
    return lambda values: CHANGE_ORDER if "modified_after" in values else order


def named(table: Table) -> Rule:
    """Records with this whole name, in any case."""
    return lambda _query, name: table.c.name_key == name_key(name.strip())


def contains(key: ColumnElement[str]) -> Rule:
    """Records whose name contains this text, in any case and with any accents; `key` is the case-folded name."""
    return lambda _query, part: contains_folded(key, name_key(part))


def belongs_to(column: ColumnElement[Any], table: Table, *, by: ColumnElement[str] | None = None) -> SimpleRule:
    """Records that belong to the record with this UUID, or value of another column, in the workspace; `column`
    contains its id."""

    def rule(query: ListQuery, reference: str) -> Condition:
        if by is None and not is_uuid(reference):
            return never(column)
        return _belong(column, table.c.uuid if by is None else by, query.workspace.id, reference)

    return rule


@lru_cache(maxsize=1000)
def _belong(column: ColumnElement[Any], by: Any, workspace_id: int, reference: str) -> Condition:
    """Kept, because clients that page or poll ask with the same values again and again, and to build the condition and
    to compare it with known ones takes as long as to read a few records.
    """
    rows = by.table.c
    return column == select(rows.id).where(rows.workspace_id == workspace_id, by == reference).scalar_subquery()


def found_first(column: ColumnElement[Any], table: Table) -> SimpleRule:
    """Like `belongs_to` for several UUIDs. Their ids are looked up first, so that the database reads only their
    records.
    """

    def rule(query: ListQuery, uuids: Sequence[str]) -> Condition:
        mine = table.c.workspace_id == query.workspace.id
        named = select(table.c.id).where(mine, table.c.uuid.in_([uuid for uuid in uuids if is_uuid(uuid)]))
        return one_of(column)(query, query.tx.execute(named).scalars().all())

    return rule


def together(names: Sequence[str], rule: Rule) -> dict[str, Rule]:
    """Parameters with the same meaning: their values are combined into one list."""

    def rule_of(name: str) -> Rule:
        def apply(query: ListQuery, _values: object) -> Condition | Sequence[Condition]:
            given = [each for each in names if each in query.values]
            return rule(query, [value for each in given for value in query.values[each]]) if name == given[0] else []

        return apply

    return {name: rule_of(name) for name in names}


def never(column: ColumnElement[Any]) -> Condition:
    """A condition that no record meets; the column contains ids."""
    return column < 0


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A record that has been checked and is not inserted yet: its row. If it `is_stamped`, whoever inserts it gives it
    a `modified_on` by the workspace's clock.
    """

    table: Table[NumberedColumns]
    values: Mapping[str, Any]
    is_stamped: bool = False


def insert_new(tx: Transaction, new: NewRecord) -> int:
    """Inserts a record; returns its id."""
    if not new.is_stamped:
        return insert_row(tx, new.table, new.values)
    moment = stamped(tx, new.table, new.values["workspace_id"])
    return insert_row(tx, new.table, {**new.values, "modified_on": moment})


def insert_shown(query: ListQuery, spec: ListSpec, new: NewRecord) -> str:
    """Inserts a record; returns it as a list shows it whose records are made of their own rows alone."""
    assert spec.source_of() is new.table, "the INSERT can return only what its own row has"
    values = new.values
    if new.is_stamped:
        # The answer shows the final time, so the clock is held before the row is there.
        values = {**values, "modified_on": final_time(query.tx, values["workspace_id"])}
    return write_record(insert_read(query.tx, new.table, values, spec.record_of(query)))


def insert_read(tx: Transaction, table: Table[NumberedColumns], values: Mapping[str, Any], record: Record) -> Shown:
    """Inserts a row; returns the record that is made of it alone. The audit log is told."""
    row = _complete(table, values)
    (shown,) = record.read(_inserting(table, tuple(sorted(row)), record).rows(tx, **row))
    _tell_created(tx, table, row)
    return shown


def insert_row(tx: Transaction, table: Table[NumberedColumns], values: Mapping[str, Any]) -> int:
    """Inserts a row; returns its id. The audit log is told."""
    if _is_sealed(table):  # what is sealed depends on the engine
        number: int = tx.execute(insert(table).returning(table.c.id), values).scalar_one()
        return number
    row = _complete(table, values)
    ((number,),) = _inserting(table, tuple(sorted(row)), None).rows(tx, **row)
    _tell_created(tx, table, row)
    return number


def _select_count(order: Order, conditions: Sequence[Condition]) -> Select[int]:
    # Part of the text, as that of a page is: see `persistence/pages.py`.
    some = select(order.id).where(*conditions).limit(literal_column(str(MOST_COUNTED + 1), Integer)).subquery()
    return select(func.count()).select_from(some)


@lru_cache(maxsize=1000)
def _owned(table: Table, workspace_id: int) -> Condition:
    """Kept, because to build the condition takes as long as to check a token."""
    return table.c.workspace_id == workspace_id


@lru_cache(maxsize=1000)
def _is_wanted(table: Table) -> Condition:
    """A condition that is built anew would be compiled to be compared with known ones."""
    return table.c.id == bindparam(WANTED, None, type_=BigId, required=False)


@lru_cache(maxsize=1000)
def _by_id(table: Table) -> Order:
    return Order(table.c.id, table.c.id, descending=False)


def _complete(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a new row, with those that the table declares for columns that are not given."""
    found = dict(values)
    for each in _defaulting(table):
        if each.key not in values:
            default: Any = each.default
            found[each.key] = default.arg(None) if default.is_callable else default.arg
    return found


def _tell_created(tx: Transaction, table: Table, row: Mapping[str, Any]) -> None:
    """Tells the audit log of a row that a statement has inserted."""
    if tx.witness is not None:
        tx.witness.note_created(tx, table, row)


@cache
def _inserting(table: Table, names: tuple[str, ...], record: Record | None) -> Statement[...]:
    """Returns the columns of the record and the id, or the id alone."""

    def build() -> Executable:
        shown = [] if record is None else record.own_columns
        return insert(table).values(parameters_of(table, names)).returning(*shown, table.c.id)

    return Statement(build, is_told=True)


@cache
def _is_sealed(table: Table) -> bool:
    return any(isinstance(each.type, Sealed) for each in table.c)


@cache
def _defaulting(table: Table) -> tuple[Column[Any], ...]:
    return tuple(each for each in table.c if each.default is not None)
