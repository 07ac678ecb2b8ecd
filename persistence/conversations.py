"""Conversations: contacts with their last message, newest first. They are kept up to date, listed, and marked as read
here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Executable,
    FromClause,
    Select,
    Subquery,
    case,
    delete,
    func,
    literal,
    literal_column,
    null,
    select,
    true,
)

from persistence.database import Transaction, upsert
from persistence.errors import InvalidInput
from persistence.labels import find_label
from persistence.leases import beside_index, list_due_workspaces
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to, found_first
from persistence.messages.records import FOLDERS, MESSAGE_FIELDS, labels_of_message, with_names
from persistence.pages import Order
from persistence.records import Record, Template, optional
from persistence.runs.records import first_urn
from persistence.sql.columns import UtcDateTime
from persistence.stamps import INBOX, Unread, final_time
from persistence.statements import among, statement, update
from persistence.tables.accounts import user, user_ref
from persistence.tables.changes import conversation
from persistence.tables.contacts import OPEN, TOPIC_REF, contact, contact_urn, ticket, topic
from persistence.tables.flows import flow
from persistence.tables.messages import DELETED, label, message, message_label
from persistence.tables.policies import KEPT_FOR
from persistence.tickets.records import REPLY_DUE, assignee, has_assignee
from persistence.tokens import check_area, covers

URN = first_urn(contact_urn.c.scheme + literal(":", literal_execute=True) + contact_urn.c.path)

IS_OPEN = ticket.c.status == literal_column(f"'{OPEN}'")
"""As part of the text, so that the unique index on open tickets is used."""
current_flow = flow.alias("current_flow")
"""The flow in which the contact waits; the message has its own."""
snoozer = user.alias("snoozer")


def _with_names(contacts: FromClause) -> FromClause:
    """Conversations joined with their contacts, and what else of these is shown."""
    return (
        contacts.outerjoin(current_flow, current_flow.c.id == contact.c.current_flow_id)
        .outerjoin(
            ticket,
            (ticket.c.contact_id == conversation.c.contact_id)
            & (ticket.c.workspace_id == conversation.c.workspace_id)
            & IS_OPEN,
        )
        .outerjoin(topic, topic.c.id == ticket.c.topic_id)
        .outerjoin(assignee, assignee.c.id == ticket.c.assignee_id)
        .outerjoin(snoozer, snoozer.c.id == conversation.c.snoozed_by_id)
    )


WITH_CONTACT = conversation.join(contact, contact.c.id == conversation.c.contact_id)
OF_MESSAGE = (conversation.c.message_id == message.c.id) & (conversation.c.workspace_id == message.c.workspace_id)

SNOOZED = "snoozed"
"""The folder of conversations that are put away until a time."""
RETURNED_AT_ONCE = 1000

COUNTED = 100
"""Unread messages are counted among so many last messages of a contact."""
LABELED = 20
"""A conversation has the labels of so many last messages: their number does not depend on how long people write."""


class _LabelList(
    Template,
    sqlite="json_group_array(json_object('uuid', {0}, 'name', {1}))",
    postgresql="json_agg(json_build_object('uuid', {0}, 'name', {1}))",
    kind=JSON(),
):
    """The labels of the rows."""


def _last_messages(
    workspace_id: int | ColumnElement[int], contact_id: ColumnElement[Any], number: int = COUNTED
) -> Subquery:
    """The last messages of a contact, with their folders."""
    theirs = (beside_index(message.c.workspace_id) == workspace_id) & (message.c.contact_id == contact_id)
    newest = select(message.c.id, message.c.folder).where(theirs)
    newest = newest.order_by(message.c.created_on.desc(), message.c.id.desc()).limit(number)
    return newest.correlate_except(message).subquery("last")


def _labels() -> ColumnElement[Any]:
    last = _last_messages(conversation.c.workspace_id, conversation.c.contact_id, LABELED)
    joined = last.join(message_label, message_label.c.message_id == last.c.id)
    joined = joined.join(label, label.c.id == message_label.c.label_id)
    each = select(label.c.uuid, label.c.name, label.c.name_key).distinct().select_from(joined)
    named = each.correlate(conversation).order_by(label.c.name_key).subquery("named")
    listed = select(_LabelList(named.c.uuid, named.c.name)).select_from(named).correlate(conversation)
    return func.coalesce(listed.scalar_subquery(), literal_column("'[]'", JSON()), type_=JSON())


TICKET = optional(
    ticket.c.uuid,
    {
        "uuid": ticket.c.uuid,
        "topic": Record(TOPIC_REF),
        "assignee": optional(assignee.c.id, user_ref(assignee)),
        "reply_due": REPLY_DUE,
    },
)


_MARKS: dict[str, Any] = {
    "folder": conversation.c.folder,
    "unread_count": conversation.c.unread_count,
    "snoozed_until": conversation.c.snoozed_until,
    "snoozed_by": optional(conversation.c.snoozed_until, user_ref(snoozer)),
}


def _row(*, masked: bool = False, ticketed: bool = True) -> dict[str, Any]:
    """What is shown of a conversation beside its last message, which names the contact."""
    return {
        "uuid": contact.c.uuid,
        "urn": None if masked else URN,
        **_MARKS,
        "has_open_ticket": contact.c.open_ticket_count > 0,
        "ticket": TICKET if ticketed else None,
        "labels": _labels(),
        "flow": optional(current_flow.c.id, {"uuid": current_flow.c.uuid, "name": current_flow.c.name}),
        "last_on": conversation.c.last_on,
    }


def _record(*, masked: bool = False, ticketed: bool = True) -> Record:
    shown = MESSAGE_FIELDS | {"labels": labels_of_message(conversation.c.message_id)}
    return Record(
        {
            "uuid": contact.c.uuid,
            "contact": Record({"uuid": contact.c.uuid, "name": contact.c.name}),
            **_row(masked=masked, ticketed=ticketed),
            "last_message": Record(shown | {"urn": None, "failed_detail": None} if masked else shown),
        }
    )


def _in_folder(_query: ListQuery, folder: str) -> Condition:
    return conversation.c.folder == (folder.lower() if folder.lower() in (*FOLDERS, SNOOZED) else "none")


def _with_label(query: ListQuery, reference: str) -> Condition:
    label_id = find_label(query.tx, query.workspace.id, reference)
    labeled = select(message.c.contact_id).join(message_label, message_label.c.message_id == message.c.id)
    return conversation.c.contact_id.in_(
        labeled.where(message.c.workspace_id == query.workspace.id, message_label.c.label_id == label_id)
    )


def _matching(query: ListQuery, text: str) -> Condition:
    from persistence.contacts.queries import match_query  # noqa: PLC0415  # commands that change messages search nothing

    check_area(query.areas, "contacts")
    matches = match_query(query.tx, query.workspace, text, "search", for_agent=query.is_agent)
    return conversation.c.contact_id.in_(select(contact.c.id).where(matches))


def _unread(_query: ListQuery, unread: bool) -> list[Condition]:
    """False is not a filter."""
    return [conversation.c.is_unread] if unread else []


def _assigned_to(query: ListQuery, whom: str) -> Condition:
    """Whose open ticket somebody has."""
    check_area(query.areas, "tickets")
    theirs = select(ticket.c.contact_id).where(ticket.c.workspace_id == query.workspace.id, IS_OPEN)
    return conversation.c.contact_id.in_(theirs.where(has_assignee(whom)))


RECORDS = {
    (masked, ticketed): _record(masked=masked, ticketed=ticketed)
    for masked in (False, True)
    for ticketed in (False, True)
}
"""By whether the workspace is anonymous, and whether the token covers tickets."""

CONVERSATIONS = ListSpec(
    conversation,
    lambda query: RECORDS[query.workspace.is_anonymous, covers(query.areas, "tickets")],
    Order(conversation.c.last_on, conversation.c.id),
    source=_with_names(with_names(conversation.join(message, OF_MESSAGE))),
    filters={
        "assignee": _assigned_to,
        "contact": belongs_to(conversation.c.contact_id, contact),
        "contacts": found_first(conversation.c.contact_id, contact),
        "folder": _in_folder,
        "label": _with_label,
        "search": _matching,
        "unread": _unread,
    },
)

MARKS = ListSpec(
    conversation,
    Record({"uuid": contact.c.uuid, **_MARKS}),
    Order(conversation.c.modified_on, conversation.c.id),
    source=WITH_CONTACT.outerjoin(snoozer, snoozer.c.id == conversation.c.snoozed_by_id),
)
"""What the stream tells of conversations that were put away, came back, were read or marked as unread, or have another
note."""

ROWS = ListSpec(
    conversation,
    Record(_row()),
    Order(conversation.c.last_on, conversation.c.id),
    source=_with_names(WITH_CONTACT),
    masked=Record(_row(masked=True)),
)
"""What the stream tells of conversations in which somebody wrote, beside the message."""

IS_PUT_AWAY = conversation.c.folder == literal_column(f"'{SNOOZED}'")
"""As part of the text, so that the index on those that are put away is used."""


def write_conversations(
    tx: Transaction, workspace_id: int, contacts: Mapping[int, Unread], came: Mapping[int, int]
) -> None:
    """Writes the conversations of these contacts anew, and counts the unread messages of those who may have others than
    before; a statement for each kind. The workspace's clock is locked. `came` says how many messages came into the
    inbox, by contact.
    """
    for kind in sorted(set(contacts.values()), reverse=True):
        theirs = sorted(contact_id for contact_id, found in contacts.items() if found == kind)
        most = max(came[contact_id] for contact_id in theirs) if kind == Unread.MORE else 0
        _store.run(tx, workspace_id, theirs, most, kind=kind)


def end_conversations(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Those of these contacts whose last message was deleted keep no conversation."""
    if contact_ids:
        _end.run(tx, workspace_id, contact_ids)


def mark_read(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Nothing in these conversations is unread any more, up to the newest message that is visible now. The stream tells
    of those in which something was."""
    moment = final_time(tx, workspace_id)
    rows = conversation.c
    mine = (rows.workspace_id == workspace_id) & rows.contact_id.in_(contact_ids)
    told = case((rows.is_unread, literal(moment, UtcDateTime)), else_=rows.modified_on)
    tx.execute(update(conversation).where(mine).values(**_as_read(workspace_id), modified_on=told))


def mark_unread(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], count: int | None = None) -> None:
    """The newest message of the inbox in each of these conversations is unread again. Those that have none among their
    last messages, or something unread, stay as they are. With a `count`, so many of the newest that were read are,
    besides what is unread.
    """
    final_time(tx, workspace_id)
    rows = conversation.c
    theirs: ColumnElement[bool] = rows.contact_id.in_(contact_ids)
    number: ColumnElement[int] = literal(1)
    first = _newest_of_inbox(workspace_id)
    if count is None:
        theirs &= ~rows.is_unread
    else:
        first, again = _read_last(workspace_id, count)
        number = case((rows.unread_count + again > COUNTED, COUNTED), else_=rows.unread_count + again)
    values: dict[str, Any] = {"read_id": first - 1, "unread_count": number, "is_unread": True}
    _mark(tx, workspace_id, theirs & first.is_not(None), values)


def tell_of_note(tx: Transaction, workspace_id: int, contact_id: int) -> None:
    """The stream tells of the conversation with this contact, where a note was written or deleted."""
    _mark(tx, workspace_id, conversation.c.contact_id == contact_id, {})


def snooze(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], until: datetime, user_id: int) -> None:
    """Puts these conversations away until a time, for everybody; they count as read. Raises InvalidInput for a time
    that is not ahead, or at which the last message of one of them is archived, with which a conversation ends. Each row
    changes once, as in `_store`.
    """
    if not tx.now < until <= tx.now + KEPT_FOR:
        raise InvalidInput.on("until", f"A time in the future, within {KEPT_FOR.days} days, is required.")
    final_time(tx, workspace_id)
    rows = conversation.c
    theirs = rows.contact_id.in_(contact_ids)
    oldest = select(func.min(rows.last_on)).where(rows.workspace_id == workspace_id, theirs)
    last_on = tx.execute(oldest).scalar_one()
    if last_on is not None and until > last_on + KEPT_FOR:
        told = f"Messages are archived after {KEPT_FOR.days} days: one of these conversations has none left by then."
        raise InvalidInput.on("until", told)
    put_away = {"folder": SNOOZED, "snoozed_until": until, "snoozed_by_id": user_id}
    _mark(tx, workspace_id, theirs, _as_read(workspace_id) | put_away)


def unsnooze(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """These conversations, put away or back by themselves, are in the folders of their last messages."""
    final_time(tx, workspace_id)
    rows = conversation.c
    its = (message.c.workspace_id == rows.workspace_id) & (message.c.id == rows.message_id)
    folder = select(message.c.folder).where(its).correlate(conversation).scalar_subquery()
    theirs = rows.contact_id.in_(contact_ids) & rows.snoozed_until.is_not(None)
    _mark(tx, workspace_id, theirs, {"folder": folder, "snoozed_until": None})


def list_returning_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a conversation whose time has come."""
    rows = conversation.c
    return list_due_workspaces(tx, rows.workspace_id, IS_PUT_AWAY, rows.snoozed_until <= tx.now, rows.snoozed_until)


def return_due(tx: Transaction, workspace_id: int) -> bool:
    """Conversations whose time has come are back: in the inbox, and unread. Returns whether there may be more. Whoever
    comes second finds none of them, because the clock makes one wait for the other.
    """
    final_time(tx, workspace_id)
    rows = conversation.c
    due = select(rows.id).where(rows.workspace_id == workspace_id, IS_PUT_AWAY, rows.snoozed_until <= tx.now)
    found = tx.execute(due.order_by(rows.snoozed_until).limit(RETURNED_AT_ONCE)).scalars().all()
    newest = _newest_of_inbox(workspace_id)
    unread = {"read_id": func.coalesce(newest - 1, rows.read_id), "unread_count": 1, "is_unread": True}
    _mark(tx, workspace_id, rows.id.in_(found), {"folder": INBOX, **unread})
    return len(found) == RETURNED_AT_ONCE


def _mark(tx: Transaction, workspace_id: int, which: ColumnElement[bool], values: Mapping[str, Any]) -> None:
    """Changes conversations and lets the stream tell it."""
    moment = final_time(tx, workspace_id)
    mine = (conversation.c.workspace_id == workspace_id) & which
    tx.execute(update(conversation).where(mine).values(**values, modified_on=moment))


def _as_read(workspace_id: int) -> dict[str, Any]:
    """The values of conversations that are read up to the newest message that is visible now."""
    rows = conversation.c
    newest = _newest(workspace_id, func.max(message.c.id), rows.contact_id)
    return {"read_id": func.coalesce(newest, rows.read_id), "unread_count": 0, "is_unread": False}


def _newest_of_inbox(workspace_id: int) -> ColumnElement[Any]:
    """The newest message of the inbox among the last ones of a conversation."""
    last = _last_messages(workspace_id, conversation.c.contact_id)
    return select(func.max(last.c.id)).where(last.c.folder == INBOX).correlate_except(last).scalar_subquery()


def _read_last(workspace_id: int, count: int) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """Of so many of the newest messages of the inbox that were read, among the last ones of a conversation: the first,
    and how many there are.
    """
    last, rows = _last_messages(workspace_id, conversation.c.contact_id), conversation.c
    newest = select(last.c.id).where(last.c.folder == INBOX, last.c.id <= rows.read_id).order_by(last.c.id.desc())
    read = newest.limit(count).correlate_except(last).subquery("read")
    first, number = (select(each).select_from(read) for each in (func.min(read.c.id), func.count()))
    return first.correlate_except(read).scalar_subquery(), number.correlate_except(read).scalar_subquery()


def count_unread(
    workspace_id: int,
    contact_id: ColumnElement[Any],
    read_id: ColumnElement[Any],
    most: ColumnElement[int] | None = None,
) -> ColumnElement[int]:
    """How many of the last messages of a contact are in the inbox and come after the message `read_id`. `most` says how
    many there can be.
    """
    last = _last_messages(workspace_id, contact_id)
    unread = select(last.c.id).where(last.c.folder == INBOX, last.c.id > read_id).limit(most).correlate_except(last)
    counted = unread.subquery("unread")
    return select(func.count()).select_from(counted).correlate_except(counted).scalar_subquery()


@statement
def _store(
    workspace_id: int, contact_ids: Sequence[int], came: int, *, kind: Unread, is_sqlite: bool = False
) -> Executable:
    """Each row changes once: a second change would make PostgreSQL lock its contact, in the wrong order."""
    (last, is_last), known = _join_last(workspace_id, is_sqlite=is_sqlite), conversation.alias("known")
    mine = (known.c.workspace_id == contact.c.workspace_id) & (known.c.contact_id == contact.c.id)
    folder, until = _place(known, last, is_same=kind == Unread.SAME)
    columns = (contact.c.workspace_id, contact.c.id, last.c.id, last.c.created_on, folder, until)
    read = func.coalesce(known.c.read_id, 0)
    # PostgreSQL stops counting at what there can be, mostly after a few messages; SQLite takes no limit from a row.
    is_bounded = kind == Unread.MORE and not is_sqlite
    most = func.coalesce(known.c.unread_count, 0) + came if is_bounded else None
    unread: ColumnElement[int] = literal(0)
    if kind != Unread.SAME:
        unread = count_unread(workspace_id, contact.c.id, read, most)
    if kind == Unread.FEWER:
        unread = case((known.c.unread_count > 0, unread), else_=0)
    elif kind == Unread.MORE:
        unread = case((known.c.unread_count >= COUNTED, COUNTED), else_=unread)
    source = contact.join(last, is_last).outerjoin(known, mine)
    if kind != Unread.SAME and not is_sqlite:
        # PostgreSQL would count once for each time that the number is named.
        counted = select(unread.label("number")).correlate(contact, known).limit(1).lateral("counted")
        source, unread = source.join(counted, true()), counted.c.number
    theirs = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, contact_ids)
    reading = (
        select(*columns, unread.label("unread_count"), (unread > 0).label("is_unread"), read.label("read_id"))
        .select_from(source)
        .where(theirs, ~contact.c.is_deleted)
        .order_by(contact.c.id)
    )
    names = ["workspace_id", "contact_id", "message_id", "last_on", "folder", "snoozed_until"]
    names += ["unread_count", "is_unread", "read_id"]
    storing = upsert(conversation, is_sqlite=is_sqlite).from_select(names, reading)
    changed = names[2:6] if kind == Unread.SAME else names[2:8]
    return storing.on_conflict_do_update(
        index_elements=["workspace_id", "contact_id"], set_={name: storing.excluded[name] for name in changed}
    )


def _place(known: FromClause, last: FromClause, *, is_same: bool) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The folder of a conversation, and until when it is snoozed. It stays put away, or back, while nothing comes into
    the inbox, is archived, restored or deleted; once it is back, another last message counts again.
    """
    until = known.c.snoozed_until
    if not is_same:
        return last.c.folder.label("folder"), null().label("snoozed_until")
    is_away, is_back = known.c.folder == SNOOZED, until.is_not(None) & (known.c.message_id == last.c.id)
    folder = case((is_away | is_back, known.c.folder), else_=last.c.folder)
    return folder.label("folder"), case((is_away | is_back, until), else_=null()).label("snoozed_until")


def _join_last(workspace_id: int, *, is_sqlite: bool) -> tuple[FromClause, ColumnElement[bool]]:
    """The last message of each contact, and the condition by which it is joined. SQLite joins no query that depends on
    another row, so there the message is found twice: by the contact, and by its id.
    """
    if is_sqlite:
        last = message.alias("last")
        chosen = _newest(workspace_id, message.c.id, contact.c.id, ordered=True)
        return last, (last.c.workspace_id == contact.c.workspace_id) & (last.c.id == chosen)
    found = _newest_rows(workspace_id, contact.c.id, message.c.id, message.c.created_on, message.c.folder)
    return _only_first(found).correlate(contact).lateral("last"), true()


@statement
def _end(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = conversation.c
    is_there = _newest(workspace_id, message.c.id, rows.contact_id, ordered=True)
    mine = (beside_index(rows.workspace_id) == workspace_id) & among(rows.contact_id, contact_ids)
    return delete(conversation).where(mine, is_there.is_(None))


def _newest(
    workspace_id: int, shown: ColumnElement[Any], contact_id: ColumnElement[Any], *, ordered: bool = False
) -> ColumnElement[Any]:
    """A value of the newest message of a contact that is not deleted."""
    found = _newest_rows(workspace_id, contact_id, shown)
    return (_only_first(found) if ordered else found).correlate_except(message).scalar_subquery()


def _newest_rows(workspace_id: int, contact_id: ColumnElement[Any], *shown: ColumnElement[Any]) -> Select[Any]:
    theirs = (beside_index(message.c.workspace_id) == workspace_id) & (message.c.contact_id == contact_id)
    return select(*shown).where(theirs, message.c.visibility != DELETED)


def _only_first(found: Select[Any]) -> Select[Any]:
    return found.order_by(message.c.created_on.desc(), message.c.id.desc()).limit(1)
