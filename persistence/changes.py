"""The only code that changes contacts and messages. What follows from it, follows by itself: the time of the change,
by the clock of the workspace (`persistence.stamps`), the conversations of the messages' contacts, the counts of labels,
and what the audit log tells.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Executable,
    Select,
    Table,
    delete,
    func,
    literal,
    literal_column,
    or_,
    select,
    type_coerce,
)

from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.leases import beside_index
from persistence.sql.columns import UtcDateTime
from persistence.stamps import (
    CONTACT_CHANGED,
    INBOX,
    MESSAGE,
    MESSAGE_FAILED,
    MESSAGE_SENT,
    NewMessage,
    Unread,
    changes_of,
    later,
    stamped,
    tell,
)
from persistence.statements import RowsOf, Statement, among, param, select_rows, statement, update
from persistence.tables.contacts import contact
from persistence.tables.messages import (
    ARCHIVED,
    DELETED,
    FAILED,
    HANDLED,
    INCOMING,
    OUTGOING,
    QUEUED,
    VISIBLE,
    WIRED,
    label,
    message,
    message_label,
)
from persistence.tables.policies import policy_of

NO_VALUES: Mapping[str, Any] = MappingProxyType({})
NOT_SHOWN = {
    contact.name: {"handling_until", "handling_attempts", "merged_into_id", "open_ticket_count", "timezone"},
    message.name: {"offered_on", "automatic"},
}
"""Columns that no record shows: its time stays if nothing else changes."""
NOT_TOLD = NOT_SHOWN[contact.name] | {"last_seen_on", "current_flow_id", "answers_stopped_on", "created_on"}
"""Columns of contacts of whose changes no subscriber hears: each message and each flow changes them."""
TOLD_STATUSES = {WIRED: MESSAGE_SENT, FAILED: MESSAGE_FAILED}
IN_CONVERSATIONS = {"visibility", "status", "flow_id", "contact_id"}
"""Columns of messages on which conversations depend."""
_FOLLOWED = (*(message.c[name] for name in ("id", "contact_id", "direction", "folder", "channel_id", "created_on")),)
IS_LIVING = (message.c.direction == literal(INCOMING)) & (message.c.visibility != literal(DELETED))

Columns = tuple[ColumnElement[Any], ...]
Which = Collection[int] | ColumnElement[bool]


def change_contacts(
    tx: Transaction,
    workspace_id: int,
    which: Which,
    values: Mapping[str, Any] = NO_VALUES,
    *,
    only: ColumnElement[bool] | None = None,
    returning: Columns = (contact.c.id,),
) -> Sequence[Any]:
    """Changes contacts, by id or by a condition, and `only` those that meet another one; without values only their
    time. Returns rows with columns of those that it has changed. With ids, `only` and expressions among the values have
    to be constants: the statement is kept for them.
    """
    rows = _change(tx, contact, workspace_id, which, values, only, returning)
    if returning[0] is contact.c.id:
        _tell_changed(tx, workspace_id, rows, values)
    return rows


def change_each_contact(tx: Transaction, workspace_id: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Gives each of these contacts values of its own, all of the same columns."""
    rows = _change_each(tx, contact, workspace_id, changes, (contact.c.id,))
    _tell_changed(tx, workspace_id, rows, next(iter(changes.values()), NO_VALUES))


def _tell_changed(tx: Transaction, workspace_id: int, rows: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Of expressions nobody knows here whether they change anything; whoever gives them tells it."""
    is_told = not values or any(
        name not in NOT_TOLD and not isinstance(value, ClauseElement) for name, value in values.items()
    )
    if rows and is_told:
        tell(tx, workspace_id, CONTACT_CHANGED, [row[0] for row in rows])


def change_messages(
    tx: Transaction,
    workspace_id: int,
    which: Which,
    values: Mapping[str, Any] = NO_VALUES,
    *,
    only: ColumnElement[bool] | None = None,
) -> list[int]:
    """The same for messages; returns the ids of those that it has changed. Their conversations follow. Labels no longer
    count messages that are not visible any more, and deleted ones have none: the caller has locked those.
    """
    if "visibility" in values:
        leave_labels(tx, workspace_id, _condition(message, which), are_deleted=values["visibility"] == DELETED)
    rows = _change(tx, message, workspace_id, which, values, only, _FOLLOWED)
    _follow_messages(tx, workspace_id, rows, values)
    return [row[0] for row in rows]


def change_each_message(tx: Transaction, workspace_id: int, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Gives each of these messages values of its own, all of the same columns. Labels are the caller's."""
    if changes:
        rows = _change_each(tx, message, workspace_id, changes, _FOLLOWED)
        _follow_messages(tx, workspace_id, rows, dict.fromkeys(next(iter(changes.values()))))


def move_messages(
    tx: Transaction, workspace_id: int, ids: Sequence[int], uuids: Sequence[str] | None, old: str, new: str
) -> list[int]:
    """Incoming messages with one visibility get another one, and labels count them or do not any more; returns their
    ids. With UUIDs, or none of them, this locks them too (PostgreSQL); without, the caller has locked them.
    """
    if uuids is None:
        rows = _move_held.rows(tx, workspace_id, ids, old, new, tx.now)
    else:
        rows = _move_named.rows(tx, workspace_id, ids, uuids, old, new, tx.now, by_uuid=bool(uuids))
    labels = Counter(int(label_id) for *_, listed in rows if listed for label_id in listed.split(","))
    for label_id, number in sorted(labels.items()):
        change_count(tx, workspace_id, label_id, number if new == VISIBLE else -number)
    _follow_messages(tx, workspace_id, [row[:-1] for row in rows], {"visibility": new})
    return [row[0] for row in rows]


def differs(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a row does not have the new value of this column yet; for `only`."""
    return column.is_distinct_from(param(f"new_{column.key}", column.type))


def change_count(tx: Transaction, workspace_id: int, label_id: int, change: int) -> None:
    """Add to a label's count of visible messages."""
    if change and not _add_to_count.run(tx, workspace_id, label_id, change):
        raise LostRace


@statement
def _add_to_count(workspace_id: int, label_id: int, change: int) -> Executable:
    mine = (label.c.workspace_id == workspace_id) & (label.c.id == label_id)
    return update(label).where(mine).values(message_count=label.c.message_count + change)


def hold_messages(tx: Transaction, messages: ColumnElement[bool]) -> int:
    """Lock these messages against labeling and archiving until this transaction ends, so that each is counted once.
    Returns how many there are.
    """
    held = select(message.c.id).where(messages).order_by(message.c.id).with_for_update(key_share=True).subquery()
    return tx.execute(select(func.count()).select_from(held)).scalar_one()


def leave_labels(tx: Transaction, workspace_id: int, messages: ColumnElement[bool], *, are_deleted: bool) -> None:
    """Labels no longer count these messages, of which the visible ones were counted; deleted ones lose them. The caller
    has locked the messages.
    """
    mine = (message.c.workspace_id == workspace_id) & messages
    counted = (
        select(message_label.c.label_id, func.count().label("n"))
        .join(message, message.c.id == message_label.c.message_id)
        .where(mine, message.c.visibility == VISIBLE)
        .group_by(message_label.c.label_id)
        .order_by(message_label.c.label_id)
    )
    for label_id, count in tx.execute(counted).all():
        change_count(tx, workspace_id, label_id, -count)
    if are_deleted:
        tx.execute(delete(message_label).where(message_label.c.message_id.in_(select(message.c.id).where(mine))))


def _follow_messages(
    tx: Transaction, workspace_id: int, rows: Sequence[Sequence[Any]], values: Mapping[str, Any]
) -> None:
    """What follows from new values of messages, whose rows are given as they are now (`_FOLLOWED`)."""
    if not rows or (values and values.keys() <= NOT_SHOWN[message.name]):
        return
    changes = changes_of(tx, workspace_id)
    changes.ids.setdefault(MESSAGE, set()).update([row[0] for row in rows])
    if values.keys().isdisjoint(IN_CONVERSATIONS):
        return
    status, visibility = values.get("status"), values.get("visibility", VISIBLE)
    if isinstance(status, str) and status in TOLD_STATUSES:
        tell(tx, workspace_id, TOLD_STATUSES[status], [row[0] for row in rows if row[2] == OUTGOING])
    is_handled = isinstance(status, str) and status == HANDLED
    if status == FAILED:
        for _, _, direction, _, channel_id, created_on in rows:
            if direction == OUTGOING:
                changes.fare(QUEUED, FAILED, created_on, channel_id)
    for _, contact_id, direction, folder, *_ in rows:
        came = int(is_handled and folder == INBOX)
        if direction == OUTGOING or (is_handled and not came):
            unread = Unread.SAME
        elif is_handled:
            unread = Unread.MORE
        else:
            unread = Unread.FEWER if visibility == ARCHIVED else Unread.CHANGED
        changes.see(contact_id, unread, came)
    if visibility in (DELETED, None):
        changes.ended.update([row[1] for row in rows])


def _change(
    tx: Transaction,
    table: Table,
    workspace_id: int,
    which: Which,
    values: Mapping[str, Any],
    only: ColumnElement[bool] | None,
    returning: Columns,
) -> Sequence[Any]:
    """The audit log hears of what it tells, which no kept statement does."""
    values = {**values, **_time(tx, table, workspace_id, values)}
    if not isinstance(which, ColumnElement):
        if not which:
            return ()
        if tx.witness is None or not _is_told(table, values):
            given = {f"new_{name}": value for name, value in values.items() if not isinstance(value, ClauseElement)}
            news = tuple((name, value if isinstance(value, ClauseElement) else None) for name, value in values.items())
            kept = _updating(table, news, only, returning)
            return kept.rows(tx, workspace_id=workspace_id, ids=sorted(which), **given)
    if "modified_on" in values:
        values["modified_on"] = _moment(table, values["modified_on"], is_sqlite=tx.sqlite)
    mine = (table.c.workspace_id == workspace_id, _condition(table, which), *([] if only is None else [only]))
    changing = update(table).where(*mine)
    return tx.execute(changing.values(**values).returning(*returning)).all()


def _is_told(table: Table, values: Mapping[str, Any]) -> bool:
    rule = policy_of(table).audited
    return rule is not None and not values.keys().isdisjoint(rule.columns)


def _condition(table: Table, which: Which) -> ColumnElement[bool]:
    return which if isinstance(which, ColumnElement) else table.c.id.in_(which)


def _change_each(
    tx: Transaction, table: Table, workspace_id: int, changes: Mapping[int, Mapping[str, Any]], returning: Columns
) -> Sequence[Any]:
    if not changes:
        return ()
    names = tuple(next(iter(changes.values())))
    moment = _time(tx, table, workspace_id, NO_VALUES)
    rows = [{"id": one, **values} for one, values in sorted(changes.items())]
    return _updating_each(table, names, returning).rows(
        tx, workspace_id=workspace_id, rows=rows, new_modified_on=moment["modified_on"]
    )


def _time(tx: Transaction, table: Table, workspace_id: int, values: Mapping[str, Any]) -> dict[str, datetime]:
    if values and values.keys() <= NOT_SHOWN[table.name]:
        return {}
    return {"modified_on": tx.now if table is message else stamped(tx, table, workspace_id)}


def _moment(table: Table, given: Any, *, is_sqlite: bool) -> Any:
    """No list filters messages by their own time."""
    return later(table, given, is_sqlite=is_sqlite) if table is message else given


@lru_cache(maxsize=500)
def _updating(
    table: Table, news: tuple[tuple[str, Any], ...], only: ColumnElement[bool] | None, returning: Columns
) -> Statement[...]:
    """The statement that gives rows, by id, new values; None stands for a parameter."""

    def build(workspace_id: int, ids: Sequence[int], *, is_sqlite: bool = False) -> Executable:
        rows = table.c
        theirs = (beside_index(rows.workspace_id) == workspace_id) & among(rows.id, ids)
        values = {name: param(f"new_{name}", rows[name].type) if new is None else new for name, new in news}
        if "modified_on" in values:
            values["modified_on"] = _moment(table, values["modified_on"], is_sqlite=is_sqlite)
        return update(table).where(theirs if only is None else theirs & only).values(values).returning(*returning)

    return Statement(build)


@lru_cache(maxsize=500)
def _updating_each(table: Table, names: tuple[str, ...], returning: Columns) -> Statement[...]:
    """The statement that gives each row values of its own."""

    def build(
        workspace_id: int, rows: Annotated[Sequence[Mapping[str, Any]], RowsOf()], *, is_sqlite: bool = False
    ) -> Executable:
        given = select_rows(table, ("id", *names), rows, is_sqlite=is_sqlite).subquery("given")
        mine = (beside_index(table.c.workspace_id) == workspace_id) & (table.c.id == given.c.id)
        moment = _moment(table, param("new_modified_on", UtcDateTime), is_sqlite=is_sqlite)
        values = {name: type_coerce(given.c[name], table.c[name].type) for name in names}
        return update(table).where(mine).values({**values, "modified_on": moment}).returning(*returning)

    return Statement(build)


def are_these(workspace_id: int, ids: Sequence[int], uuids: Sequence[str] | None = None) -> ColumnElement[bool]:
    """Messages of a workspace by id, or also by UUID."""
    named: ColumnElement[bool] = among(message.c.id, ids)
    either = named if uuids is None else or_(named, among(message.c.uuid, uuids, "UUID"))
    return (beside_index(message.c.workspace_id) == workspace_id) & either


def holding(columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]) -> Select[Any]:
    """Locks messages in the order of ids."""
    return select(*columns).where(*conditions).order_by(message.c.id).with_for_update(key_share=True)


def _moving(new: str, now: datetime, *conditions: ColumnElement[bool], is_sqlite: bool) -> Executable:
    """Also returns the labels of the messages: they are locked, so nobody adds one meanwhile."""
    theirs = message_label.c.message_id == message.c.id
    label_ids = select(func.group_concat(message_label.c.label_id) if is_sqlite else message_label.c.label_id)
    listed = label_ids.where(theirs).correlate(message).scalar_subquery()
    labels = listed if is_sqlite else func.array_to_string(func.array(listed), literal_column("','"))
    news = {"visibility": new, "modified_on": later(message, now, is_sqlite=is_sqlite)}
    return update(message).where(*conditions).values(news).returning(*_FOLLOWED, labels)


@statement
def _move_named(
    workspace_id: int,
    ids: Sequence[int],
    uuids: Sequence[str],
    old: str,
    new: str,
    now: datetime,
    *,
    by_uuid: bool,
    is_sqlite: bool = False,
) -> Executable:
    """Locks messages in the order of ids and moves those that can be moved, on PostgreSQL. Messages that another
    transaction changed after the statement began are left to `_move_held`: the other may have changed their labels,
    which this statement sees as they were. Whoever changes labels of a message moves its time.
    """
    columns = (message.c.id, message.c.direction, message.c.visibility, message.c.modified_on)
    these = are_these(workspace_id, ids, uuids if by_uuid else None)
    held = holding(columns, these, message.c.visibility != DELETED).cte("held")
    is_mine = beside_index(message.c.workspace_id) == workspace_id
    can_move = (held.c.direction == INCOMING) & (held.c.visibility == old)
    is_same = (message.c.id == held.c.id) & (message.c.modified_on == held.c.modified_on)
    return _moving(new, now, is_mine, is_same, can_move, is_sqlite=is_sqlite)


@statement
def _move_held(
    workspace_id: int, ids: Sequence[int], old: str, new: str, now: datetime, *, is_sqlite: bool = False
) -> Executable:
    is_old = message.c.visibility == old
    return _moving(new, now, are_these(workspace_id, ids), IS_LIVING, is_old, is_sqlite=is_sqlite)


def note_changed(tx: Transaction, table: Table, workspace_id: int, ids: Iterable[int]) -> None:
    """Records of a table changed that are not listed by this time otherwise."""
    found = set(ids)
    if found:
        changes_of(tx, workspace_id).ids.setdefault(table.name, set()).update(found)


def note_new_messages(tx: Transaction, workspace_id: int, made: Collection[NewMessage]) -> None:
    """These messages were stored."""
    if made:
        changes = changes_of(tx, workspace_id)
        changes.ids.setdefault(MESSAGE, set()).update(each.id for each in made)
        changes.new_messages += made
        for each in made:
            if each.direction == OUTGOING:
                changes.fare("", each.status, each.created_on, each.channel_id)
