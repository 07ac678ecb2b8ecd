"""What follows from changes of messages, broadcasts and channels: the time of the change, by the clock of the workspace
(`persistence.stamps`), the conversations of the messages' contacts, and counts by day. All is written at the end of the
unit of work, while the workspace's clock is locked: a conversation therefore shows what is visible once this unit is
committed, whatever other units do meanwhile.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import ClauseElement, ColumnElement, Executable, Table, update

from persistence.conversations.writes import INBOX, Unread
from persistence.database import Transaction
from persistence.messages.states import INCOMING
from persistence.policies import policy_of
from persistence.sql.due_work import beside_index
from persistence.stamps import Beside, Stamps, Talk, stamped
from persistence.statements import Statement, among, param
from persistence.tables.contacts import contact

MESSAGE = "message"
"""The kind of messages: the name of their table."""
CAME, WENT, ACTIVE, ERRORS = "came", "went", "active", "errors"

NO_VALUES: Mapping[str, Any] = MappingProxyType({})
NOT_SHOWN = {"handling_until", "handling_attempts", "merged_into_id", "open_ticket_count", "timezone"}
"""Columns of contacts that no record shows: their time stays if nothing else changes."""

Columns = tuple[ColumnElement[Any], ...]


def change_contacts(
    tx: Transaction,
    workspace_id: int,
    which: Collection[int] | ColumnElement[bool],
    values: Mapping[str, Any] = NO_VALUES,
    *,
    only: ColumnElement[bool] | None = None,
    returning: Columns = (contact.c.id,),
) -> Sequence[Any]:
    """Changes contacts, by id or by a condition, and `only` those that meet another one; without values only their
    time. Returns rows with columns of those that it has changed. With ids, `only` and expressions among the values have
    to be constants: the statement is kept for them.
    """
    return _change(tx, contact, workspace_id, which, _with_time(tx, workspace_id, values), only, returning)


def change_each_contact(tx: Transaction, workspace_id: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Gives each of these contacts values of its own, all of the same columns."""
    _change_each(tx, contact, workspace_id, {one: _with_time(tx, workspace_id, new) for one, new in changes.items()})


def differs(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a row does not have the new value of this column yet; for `only`."""
    return column.is_distinct_from(param(f"new_{column.key}", column.type))


def _with_time(tx: Transaction, workspace_id: int, values: Mapping[str, Any]) -> Mapping[str, Any]:
    if values and values.keys() <= NOT_SHOWN:
        return values
    return {**values, "modified_on": stamped(tx, contact, workspace_id)}


def _change(
    tx: Transaction,
    table: Table,
    workspace_id: int,
    which: Collection[int] | ColumnElement[bool],
    values: Mapping[str, Any],
    only: ColumnElement[bool] | None,
    returning: Columns,
) -> Sequence[Any]:
    """The audit log hears of what it tells, which no kept statement does."""
    rule = policy_of(table).audited
    if not isinstance(which, ColumnElement):
        if not which:
            return ()
        if tx.witness is None or rule is None or values.keys().isdisjoint(rule.columns):
            given = {f"new_{name}": value for name, value in values.items() if not isinstance(value, ClauseElement)}
            statement = _updating(table, _expressions(values), only, returning)
            return statement.rows(tx, workspace_id=workspace_id, ids=sorted(which), **given)
        which = table.c.id.in_(which)
    changing = update(table).where(table.c.workspace_id == workspace_id, which, *([] if only is None else [only]))
    return tx.execute(changing.values(**values).returning(*returning)).all()


def _change_each(tx: Transaction, table: Table, workspace_id: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    if changes:
        statement = _updating(table, _expressions(next(iter(changes.values()))), None, ())
        mine = {"workspace_id": workspace_id}
        rows = [
            {**mine, "ids": [one], **{f"new_{name}": value for name, value in values.items()}}
            for one, values in sorted(changes.items())
        ]
        statement.run_each(tx, rows)


def _expressions(values: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((name, value if isinstance(value, ClauseElement) else None) for name, value in values.items())


@lru_cache(maxsize=500)
def _updating(
    table: Table, news: tuple[tuple[str, Any], ...], only: ColumnElement[bool] | None, returning: Columns
) -> Statement[...]:
    """The statement that gives rows, by id, new values; None stands for a parameter."""

    def build(workspace_id: int, ids: Sequence[int]) -> Executable:
        rows = table.c
        theirs = (beside_index(rows.workspace_id) == workspace_id) & among(rows.id, ids)
        values = {name: param(f"new_{name}", rows[name].type) if new is None else new for name, new in news}
        return update(table).where(theirs if only is None else theirs & only).values(values).returning(*returning)

    return Statement(build)


class NewMessage(NamedTuple):
    """A message that was just stored: whose, when, by which channel, and the folder in which lists show it. `is_of_new`
    says that this unit of work has created the contact, who has no other messages but those stored with this one.
    """

    id: int
    contact_id: int
    channel_id: int | None
    direction: str
    created_on: datetime
    folder: str | None
    is_deleted: bool = False
    is_of_new: bool = False


class Handled(NamedTuple):
    """An incoming message that waits no longer: whose, and the folder in which lists show it now."""

    id: int
    contact_id: int
    folder: str | None


@dataclass(slots=True)
class Noted:
    """Changed records of a workspace: ids by kind, new messages, messages that change conversations. `seen` are
    contacts whose conversations change, `came` how many messages came into the inbox of each, `ended` those who may
    have no conversation any more. Also what runs did, by flow, kind, key and value, failed attempts to send, by
    channel, rows of new runs, the flows into which contacts came, by contact, and the contacts who are present: who
    were just seen, and whether this makes stopped ones active.
    """

    ids: dict[str, set[int]] = field(default_factory=dict)
    new_messages: list[NewMessage] = field(default_factory=list)
    moved: set[int] = field(default_factory=set)
    seen: dict[int, Unread] = field(default_factory=dict)
    came: Counter[int] = field(default_factory=Counter)
    ended: set[int] = field(default_factory=set)
    flows: Counter[tuple[int, str, str, str]] = field(default_factory=Counter)
    errors: Counter[int] = field(default_factory=Counter)
    runs: list[Mapping[str, Any]] = field(default_factory=list)
    moves: dict[int, int | None] = field(default_factory=dict)
    present: dict[int, bool] = field(default_factory=dict)

    def see(self, contact_id: int, unread: Unread, came: int = 0) -> None:
        """The conversation of this contact changes; so many messages came into the inbox."""
        former = self.seen.get(contact_id)
        self.seen[contact_id] = unread if former is None else unread.beside(former)
        if came:
            self.came[contact_id] += came

    def beside(self, today: date) -> Beside:
        """What is written with the clock."""
        records = [(kind, one) for kind, ids in sorted(self.ids.items()) for one in sorted(ids)]
        counts: Counter[tuple[str, date, int]] = Counter()
        for each in self.new_messages:
            counts[CAME if each.direction == INCOMING else WENT, _day_of(each), each.channel_id or 0] += 1
        for day, contact_ids in self._heard(are_new=True).items():
            counts[ACTIVE, day, 0] += len(contact_ids)
        counts.update({(ERRORS, today, channel_id): number for channel_id, number in self.errors.items()})
        assert self.moves.keys().isdisjoint(self.present), "a statement changes a contact only once"
        return Beside(records, counts, self.flows, list(self._talks().values()), self.runs, self.moves, self.present)

    def _talks(self) -> dict[int, Talk]:
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
        return {
            contact_id: Talk(contact_id, each.id, each.created_on, each.folder)
            for contact_id, each in sorted(newest.items())
            if contact_id not in self.seen
        }

    def heard(self) -> dict[date, set[int]]:
        """The contacts from whom new messages came, and perhaps others before, by day."""
        return self._heard(are_new=False)

    def _heard(self, *, are_new: bool) -> dict[date, set[int]]:
        found: dict[date, set[int]] = {}
        for each in self.new_messages:
            if each.direction == INCOMING and each.is_of_new == are_new:
                found.setdefault(_day_of(each), set()).add(each.contact_id)
        return found


def _day_of(each: NewMessage) -> date:
    return each.created_on.astimezone(UTC).date()


class Changes:
    """The changes of one unit of work."""

    is_last = True

    def __init__(self) -> None:
        self._noted: dict[int, Noted] = {}

    def of(self, tx: Transaction, workspace_id: int) -> Noted:
        noted = self._noted.get(workspace_id)
        if noted is None:
            noted = self._noted[workspace_id] = Noted()
            told = noted

            def tell() -> Beside:
                from persistence.change_effects import find_seen  # noqa: PLC0415  # see below

                find_seen(tx, workspace_id, told)
                return told.beside(tx.now.date())

            tx.before_commit(Stamps).carry(workspace_id, tell)
        return noted

    def flush(self, tx: Transaction) -> None:
        """Writes the times and the conversations, workspace by workspace in the order of ids."""
        noted, self._noted = self._noted, {}
        if not noted:
            return
        from persistence.change_effects import write_effects  # noqa: PLC0415  # most commands change no such record

        tx.before_commit(Stamps).flush(tx)
        for workspace_id, found in sorted(noted.items(), key=lambda item: item[0]):
            write_effects(tx, workspace_id, found)


def note_changed(tx: Transaction, table: Table, workspace_id: int, ids: Iterable[int]) -> None:
    """Records of a table changed that are not listed by this time otherwise."""
    found = set(ids)
    if found:
        tx.before_commit(Changes).of(tx, workspace_id).ids.setdefault(table.name, set()).update(found)


def note_messages(tx: Transaction, workspace_id: int, ids: Iterable[int]) -> None:
    """These messages changed their status or visibility, so that their conversations may look different or end."""
    found = set(ids)
    if found:
        noted = tx.before_commit(Changes).of(tx, workspace_id)
        noted.ids.setdefault(MESSAGE, set()).update(found)
        noted.moved.update(found)


def note_handled(tx: Transaction, workspace_id: int, done: Collection[Handled]) -> None:
    """Like `note_messages` for messages that this unit of work has handled: they are in the inbox, or went to a
    flow.
    """
    if done:
        noted = tx.before_commit(Changes).of(tx, workspace_id)
        noted.ids.setdefault(MESSAGE, set()).update(each.id for each in done)
        for each in done:
            came = int(each.folder == INBOX)
            noted.see(each.contact_id, Unread.MORE if came else Unread.SAME, came)


def note_moved(tx: Transaction, workspace_id: int, contacts: Mapping[int, int], unread: Unread) -> None:
    """Like `note_messages` for messages that are not deleted, with their contacts by message id."""
    if contacts:
        noted = tx.before_commit(Changes).of(tx, workspace_id)
        noted.ids.setdefault(MESSAGE, set()).update(contacts)
        for contact_id in contacts.values():
            noted.see(contact_id, unread)


def note_new_messages(tx: Transaction, workspace_id: int, made: Collection[NewMessage]) -> None:
    """These messages were stored."""
    if made:
        noted = tx.before_commit(Changes).of(tx, workspace_id)
        noted.ids.setdefault(MESSAGE, set()).update(each.id for each in made)
        noted.new_messages += made


def note_passes(tx: Transaction, workspace_id: int, passes: Counter[tuple[int, str, str, str]]) -> None:
    """What runs did: (flow, `exit`, UUID of the exit, "") or (flow, `result`, key, category), and how often."""
    if passes:
        tx.before_commit(Changes).of(tx, workspace_id).flows.update(passes)


def note_runs(tx: Transaction, workspace_id: int, rows: Collection[Mapping[str, Any]]) -> None:
    """These rows of new runs, without their time, are inserted at the end. What they refer to is locked."""
    if rows:
        tx.before_commit(Changes).of(tx, workspace_id).runs += rows


def note_moves(tx: Transaction, workspace_id: int, moves: Mapping[int, int | None]) -> None:
    """These contacts, which are locked, came into flows; their leases end."""
    if moves:
        tx.before_commit(Changes).of(tx, workspace_id).moves.update(moves)


def note_present(tx: Transaction, workspace_id: int, present: Mapping[int, bool]) -> None:
    """These contacts, which are locked, were just seen; true if this makes a stopped one active. They come into no flow
    in this unit of work. PostgreSQL."""
    if present:
        tx.before_commit(Changes).of(tx, workspace_id).present.update(present)


def note_errors(tx: Transaction, workspace_id: int, channel_id: int, number: int) -> None:
    """So many attempts to send messages by a channel failed."""
    if number:
        tx.before_commit(Changes).of(tx, workspace_id).errors[channel_id] += number
