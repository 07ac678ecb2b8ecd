"""`modified_on` for mirrors: in each workspace it follows the order in which changes become visible. A client that asks
for changes at or after the newest time that it has seen misses nothing, even if other transactions take long. On
PostgreSQL rows first get the time when their transaction began, and just before the commit the final time, read
while the workspace's clock is locked: no other change can get a time in between. On SQLite one transaction writes at
a time, so the first time is final.

What follows from changes is collected here, and written at the end of the unit of work, while the workspace's clock is
locked (`persistence.follow_ups`): a conversation therefore shows what is visible once this unit is committed, whatever
other units do meanwhile.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, Select, Table, case, select, text

from persistence.database import Transaction, upsert
from persistence.errors import LostRace
from persistence.sql.columns import FOUND_BY
from persistence.statements import parameters_of, statement, update
from persistence.tables.messages import DELIVERED, FAILED, INCOMING, READ
from persistence.tables.service import workspace_clock

PASSES = 3

TICK = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CAME, WENT, ACTIVE, ERRORS, SEGMENTS, COST = "came", "went", "active", "errors", "segments", "cost"
ARRIVED, LOST, WROTE, TAKEN = "arrived", "lost", "wrote", "taken"
"""The kinds of counts of a day (`day_count`)."""
INBOX = "inbox"
CONTACT_CREATED, CONTACT_CHANGED, CONTACT_DELETED = "contact.created", "contact.changed", "contact.deleted"
MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_FAILED = "message.received", "message.sent", "message.failed"
TICKET_OPENED, TICKET_ASSIGNED, TICKET_CLOSED = "ticket.opened", "ticket.assigned", "ticket.closed"
BROADCAST_DONE, START_DONE, RUN_COMPLETED = "broadcast.done", "flow_start.done", "run.completed"
IMPORT_DONE, EXPORT_DONE = "import.done", "export.done"
EVENT_AREAS = {
    **dict.fromkeys((CONTACT_CREATED, CONTACT_CHANGED, CONTACT_DELETED), "contacts"),
    **dict.fromkeys((MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_FAILED), "messages"),
    **dict.fromkeys((TICKET_OPENED, TICKET_ASSIGNED, TICKET_CLOSED), "tickets"),
    BROADCAST_DONE: "messages",
    **dict.fromkeys((START_DONE, RUN_COMPLETED), "flows"),
    IMPORT_DONE: "contacts",
    EXPORT_DONE: "administration",
}
"""The events of a workspace to which URLs can be subscribed, with the area of the API to which each belongs."""
MESSAGE = "message"
"""The kind of messages: the name of their table."""


Told = dict[str, dict[int | str, str | None]]
"""Records by the type of their event: by id, or by UUID where they have none (any more), with what else it says."""


class Unread(IntEnum):
    """What happened to the unread messages of a contact: nothing, some are none any more, some came, or anything."""

    SAME, FEWER, MORE, CHANGED = range(4)

    def joined(self, other: "Unread") -> "Unread":
        """What happened to them if both did."""
        return Unread.CHANGED if {self, other} == {Unread.FEWER, Unread.MORE} else max(self, other)


class NewMessage(NamedTuple):
    """A message that was just stored: whose, when, by which channel, and the folder in which lists show it. `is_of_new`
    says that this unit of work has created the contact, who has no other messages but those stored with this one.
    `segments` are those that are to be sent or came, `cost` what they cost, in millionths; `author_id` is the user who
    wrote it.
    """

    id: int
    contact_id: int
    channel_id: int | None
    direction: str
    created_on: datetime
    folder: str | None
    is_deleted: bool = False
    is_of_new: bool = False
    segments: int = 0
    cost: int = 0
    status: str = ""
    author_id: int | None = None


@dataclass(slots=True)
class WorkspaceChanges:
    """What a unit of work changes in a workspace: records, by kind; new messages; contacts whose conversations change
    (`seen`), how many messages `came` into the inbox of each, and those who may have no conversation any more
    (`ended`); what runs did, by flow, kind, key and value: (flow, `exit`, UUID of the exit, "") or (flow, `result`,
    key, category); failed attempts to send, by channel; what else is added to the counts of days;
    phones to push, and why; released ones, with the provider and the token by which they are pushed. Also rows that are
    written with the clock, which nobody reads before: new runs, without their time, whose flows are locked; the flows
    into which contacts came, whose leases end; and contacts who were just seen, and whether this makes a stopped one
    active (PostgreSQL). These contacts are locked, and none of them is among both.
    """

    ids: dict[str, set[int]] = field(default_factory=dict)
    new_messages: list[NewMessage] = field(default_factory=list)
    seen: dict[int, Unread] = field(default_factory=dict)
    came: Counter[int] = field(default_factory=Counter)
    ended: set[int] = field(default_factory=set)
    flows: Counter[tuple[int, str, str, str]] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    counted: Counter[tuple[str, date, int]] = field(default_factory=Counter)
    runs: list[Mapping[str, Any]] = field(default_factory=list)
    moves: dict[int, int | None] = field(default_factory=dict)
    present: dict[int, bool] = field(default_factory=dict)
    phones: dict[int, str] = field(default_factory=dict)
    farewells: dict[int, tuple[str, str]] = field(default_factory=dict)
    are_subscriptions_changed: bool = False

    def see(self, contact_id: int, unread: Unread, came: int = 0) -> None:
        """The conversation of this contact changes; so many messages came into the inbox."""
        former = self.seen.get(contact_id)
        self.seen[contact_id] = unread if former is None else unread.joined(former)
        if came:
            self.came[contact_id] += came

    def fare(self, was: str, status: str, written_on: datetime, channel_id: int | None) -> None:
        """A message to a contact that had another status, or is new, counts on the day on which it was written."""
        for kind, statuses in ((ARRIVED, (DELIVERED, READ)), (LOST, (FAILED,))):
            change = (status in statuses) - (was in statuses)
            if change:
                self.counted[kind, _day_of(written_on), channel_id or 0] += change

    def take_back(self, one: NewMessage) -> None:
        """A message that was counted when it was written is never sent. It ends as a failed one, but has not failed."""
        _count(self.counted, one, -1)
        self.fare(FAILED, one.status, one.created_on, one.channel_id)

    def records(self) -> list[tuple[str, int]]:
        """The records that changed, by kind and id."""
        return [(kind, one) for kind, ids in sorted(self.ids.items()) for one in sorted(ids)]

    def counts(self, today: date) -> list[tuple[tuple[str, date, int], int]]:
        """What is added to the counts, by kind, day and subject."""
        counts = Counter(self.counted)
        for each in self.new_messages:
            _count(counts, each, 1)
        for day, contact_ids in self._heard(are_new=True).items():
            counts[ACTIVE, day, 0] += len(contact_ids)
        counts.update({(ERRORS, today, channel_id): number for channel_id, number in self.errors.items()})
        return sorted((key, number) for key, number in counts.items() if number)

    def flow_counts(self) -> list[tuple[tuple[int, str, str, str], int]]:
        """The counts of flows, with keys and values as they are stored."""
        counts: Counter[tuple[int, str, str, str]] = Counter()
        for (flow_id, kind, key, value), number in self.flows.items():
            counts[flow_id, kind, key[:64], value[:64]] += number
        return sorted(counts.items())

    def last_messages(self) -> list[NewMessage]:
        """The newest new message of each contact whose conversation needs no more than that."""
        newest: dict[int, NewMessage] = {}
        for each in self.new_messages:
            if each.folder == INBOX or each.is_deleted:
                came = int(each.folder == INBOX)
                self.see(each.contact_id, Unread.MORE if came else Unread.SAME, came)
                continue
            former = newest.get(each.contact_id)
            if former is None or (former.created_on, former.id) < (each.created_on, each.id):
                newest[each.contact_id] = each
        return [each for contact_id, each in sorted(newest.items()) if contact_id not in self.seen]

    def heard(self) -> dict[date, set[int]]:
        """The contacts from whom new messages came, and perhaps others before, by day."""
        return self._heard(are_new=False)

    def _heard(self, *, are_new: bool) -> dict[date, set[int]]:
        found: dict[date, set[int]] = {}
        for each in self.new_messages:
            if each.direction == INCOMING and each.is_of_new == are_new:
                found.setdefault(_day_of(each.created_on), set()).add(each.contact_id)
        return found


def _count(counts: Counter[tuple[str, date, int]], one: NewMessage, number: int) -> None:
    is_incoming, where = one.direction == INCOMING, (_day_of(one.created_on), one.channel_id or 0)
    counts[CAME if is_incoming else WENT, *where] += number
    if one.author_id is not None:
        counts[WROTE, where[0], one.author_id] += number
    if one.segments and not is_incoming:
        counts[SEGMENTS, *where] += number * one.segments
    if one.cost:
        counts[COST, *where] += number * one.cost


def _day_of(moment: datetime) -> date:
    return moment.astimezone(UTC).date()


@dataclass(slots=True)
class ReportedContacts:
    """Contacts whom a phone reports, written at the end, because many phones may report the same senders: whether their
    message makes a stopped one active, and the URNs that use this phone from now on.
    """

    seen: dict[int, bool] = field(default_factory=dict)
    urn_ids: set[int] = field(default_factory=set)


class Changes:
    """What a unit of work changes, and the times that it gives. What follows is written at its end (`flush`), so that
    rows for which many others wait are locked only briefly.
    """

    def __init__(self) -> None:
        self._taken: dict[int, datetime] = {}
        self._subscribed: dict[int, str] = {}
        self._waiting: dict[int, dict[str, Table]] = {}
        self._expected: list[tuple[Table, int, Select[int]]] = []
        self._workspaces: dict[int, WorkspaceChanges] = {}
        self.told: dict[int, Told] = {}
        """The events for those who subscribe to them, by workspace."""
        self.reported: dict[tuple[int, int], ReportedContacts] = {}
        """By workspace and channel."""
        self.run_counts: Counter[tuple[int, int, str]] = Counter()
        """What is added to flows, by workspace, flow and column."""

    def of(self, workspace_id: int) -> WorkspaceChanges:
        found = self._workspaces.get(workspace_id)
        if found is None:
            found = self._workspaces[workspace_id] = WorkspaceChanges()
        return found

    def choose(self, tx: Transaction, table: Table, workspace_id: int) -> datetime:
        if tx.sqlite:
            self._take_on_sqlite(tx, workspace_id)
        if workspace_id in self._taken:
            return self._taken[workspace_id]
        self._waiting.setdefault(workspace_id, {})[table.name] = table
        return tx.now

    def flush(self, tx: Transaction) -> None:
        """Writes all that follows, in this order, in which everybody locks: contacts, flows, records that a change of
        others touches, the clocks of workspaces by their ids, conversations, events for subscribers.
        """
        if tx.sqlite:
            self._forget_unwanted(tx)
        if not (self._waiting or self._expected or self._workspaces or self.told or self.reported or self.run_counts):
            return
        from persistence import follow_ups  # noqa: PLC0415  # many commands change nothing

        reported, self.reported = self.reported, {}
        follow_ups.write_reported(tx, reported)
        counts, self.run_counts = self.run_counts, Counter()
        follow_ups.count_runs(tx, counts)
        expected, self._expected = self._expected, []
        self._touch_late(tx, expected)
        waiting, self._waiting = self._waiting, {}
        workspaces, self._workspaces = self._workspaces, {}
        told, self.told = self.told, {}
        for workspace_id in sorted({*waiting, *workspaces, *told}):
            changes = workspaces.get(workspace_id) or WorkspaceChanges()
            if tx.sqlite:
                self._take_on_sqlite(tx, workspace_id)
                if workspace_id in workspaces:
                    follow_ups.write_on_sqlite(tx, workspace_id, self._taken[workspace_id], changes)
            elif workspace_id in waiting or workspace_id in workspaces or workspace_id not in self._taken:
                tables = [table for _, table in sorted(waiting.get(workspace_id, {}).items())]
                found = follow_ups.advance(tx, workspace_id, tables, changes)
                self._taken[workspace_id], self._subscribed[workspace_id] = found
        for table, workspace_id, touched in expected:
            # From now on no other change becomes visible, and visible ones have other times.
            late = touched.where(table.c.modified_on != self._taken[workspace_id])
            if tx.execute(late.limit(1)).first() is not None:
                raise LostRace
        for workspace_id, changes in sorted(workspaces.items(), key=lambda item: item[0]):
            follow_ups.write_conversations_of(tx, workspace_id, changes)
            if changes.are_subscriptions_changed:
                follow_ups.follow_subscriptions(tx, workspace_id)
        for workspace_id, events in sorted(told.items(), key=lambda item: item[0]):
            self._write_events(tx, workspace_id, events)

    def _forget_unwanted(self, tx: Transaction) -> None:
        """Events to which nobody subscribes: SQLite's clock, which is taken before anything is written, has said so."""
        for workspace_id in self.told:
            self._take_on_sqlite(tx, workspace_id)
        wanted = {workspace_id: self._wanted(workspace_id, told) for workspace_id, told in self.told.items()}
        self.told = {workspace_id: told for workspace_id, told in wanted.items() if told}

    def _wanted(self, workspace_id: int, told: Told) -> Told:
        subscribed = self._subscribed[workspace_id].split()
        return {event: records for event, records in told.items() if event in subscribed}

    def _write_events(self, tx: Transaction, workspace_id: int, told: Told) -> None:
        wanted = self._wanted(workspace_id, told)
        if wanted:
            from persistence.deliveries.events import record_events  # noqa: PLC0415  # it reads all kinds of records

            record_events(tx, workspace_id, wanted, self._taken[workspace_id])

    def _take_on_sqlite(self, tx: Transaction, workspace_id: int) -> None:
        if workspace_id not in self._taken:
            self._taken[workspace_id], self._subscribed[workspace_id] = advance_on_sqlite(tx, workspace_id)

    def _touch_late(self, tx: Transaction, expected: Sequence[tuple[Table, int, Select[int]]]) -> None:
        """Records that appeared while many were updated are updated now, and again those that appeared meanwhile: fewer
        each time.
        """
        for table, workspace_id, touched in expected:
            moment = self.choose(tx, table, workspace_id)
            late = touched.where(table.c.modified_on != moment)
            for _ in range(PASSES):
                if not _write_moment(tx, table, late, moment):
                    break

    def hold_clock(self, workspace_id: int) -> None:
        """The flush locks the clock of this workspace, even if no table waits for its final time."""
        if workspace_id not in self._taken:
            self._waiting.setdefault(workspace_id, {})

    def moment(self, tx: Transaction, workspace_id: int) -> datetime:
        """The final time of this unit of work in a workspace; what follows from its changes so far is written, and the
        clock is held.
        """
        self.hold_clock(workspace_id)
        tx.flush()
        return self._taken[workspace_id]

    def expect(self, table: Table, workspace_id: int, touched: Select[int]) -> None:
        """These rows get the final time of this unit of work."""
        self._expected.append((table, workspace_id, touched))


def changes_of(tx: Transaction, workspace_id: int) -> WorkspaceChanges:
    """What this unit of work changes in a workspace, whose clock moves."""
    return tx.before_commit(Changes).of(workspace_id)


def tell(
    tx: Transaction, workspace_id: int, event: str, records: Iterable[int | str], detail: str | None = None
) -> None:
    """An event of this type for each of these records, for those who subscribe to it."""
    named = dict.fromkeys(records, detail)
    if named:
        told = tx.before_commit(Changes).told.setdefault(workspace_id, {})
        told.setdefault(event, {}).update(named)


def final_time(tx: Transaction, workspace_id: int) -> datetime:
    """The time of what this unit of work has changed in a workspace, whose clock is held from now on."""
    return tx.before_commit(Changes).moment(tx, workspace_id)


def stamped(tx: Transaction, table: Table, workspace_id: int) -> datetime:
    """The value of `modified_on` for rows of a table that this unit of work creates or changes."""
    return tx.before_commit(Changes).choose(tx, table, workspace_id)


def touch(tx: Transaction, table: Table, workspace_id: int, which: ColumnElement[bool]) -> None:
    """Updates `modified_on` of the records of a table that meet a condition, because a record that they refer to has
    changed. Records that meet the condition later, before the end of this unit of work, are included; raises LostRace
    if new ones appear too fast.
    """
    touched = select(table.c.id).where(table.c.workspace_id == workspace_id, which, text(found_by(table)))
    _write_moment(tx, table, touched, stamped(tx, table, workspace_id))
    if not tx.sqlite:
        tx.before_commit(Changes).expect(table, workspace_id, touched)


def later(table: Table, now: Any, *, is_sqlite: bool) -> ColumnElement[datetime] | datetime:
    """The value of a `modified_on` that no list filters by: now, and later than the row's previous value."""
    before: ColumnElement[datetime] = table.c.modified_on
    return now if is_sqlite else case((before < now, now), else_=before + text("interval '1 microsecond'"))


def found_by(table: Table) -> str:
    """The condition that holds for all visible rows, so that the database uses their index."""
    condition: str = table.info.get(FOUND_BY, "true")
    return condition


@statement
def _select_clock(workspace_id: int) -> Executable:
    rows = workspace_clock.c
    return select(rows.stamped_on, rows.told).where(rows.workspace_id == workspace_id)


def read_visible_clock(tx: Transaction, workspace_id: int) -> datetime:
    """The time of the last visible change of a workspace: what becomes visible later has a later time."""
    found = _select_clock.rows(tx, workspace_id)
    return found[0][0] if found else EPOCH


@statement
def _set_clock(*, is_sqlite: bool = False, **_row: Any) -> Executable:
    given = parameters_of(workspace_clock, ("workspace_id", "stamped_on"))
    adding = upsert(workspace_clock, is_sqlite=is_sqlite).values(given)
    news = {"stamped_on": adding.excluded.stamped_on}
    return adding.on_conflict_do_update(index_elements=["workspace_id"], set_=news)


def advance_on_sqlite(tx: Transaction, workspace_id: int) -> tuple[datetime, str]:
    """The next time of a workspace, on SQLite, and the types of events to which somebody subscribes."""
    found = _select_clock.rows(tx, workspace_id)
    moment = max(tx.now, found[0][0] + TICK) if found else tx.now
    _set_clock.run(tx, workspace_id=workspace_id, stamped_on=moment)
    return moment, (found[0][1] or "") if found else ""


def _write_moment(tx: Transaction, table: Table, which: Select[int], moment: datetime) -> int:
    """Gives the chosen rows a time, locked in the order of ids; returns their number."""
    held = which.order_by(table.c.id).with_for_update(key_share=True)
    return tx.execute(update(table).where(table.c.id.in_(held)).values(modified_on=moment)).rowcount
