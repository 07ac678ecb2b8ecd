"""Texts that people of a workspace often send."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select

from persistence.database import Transaction
from persistence.deletions import SAVED_REPLY, note_deleted
from persistence.groups.groups import lock_contacts
from persistence.lists import ListSpec, equals
from persistence.messages.actions import add_label, select_incoming
from persistence.messages.outgoing import note_replies
from persistence.pages import Order
from persistence.records import Record, optional
from persistence.sql.names import check_room, find_id, free_name, must_exist, require_id
from persistence.stamps import later
from persistence.statements import update
from persistence.tables.contacts import OPEN, ticket
from persistence.tables.messages import INCOMING, VISIBLE, label, message, saved_reply
from persistence.tickets.actions import choose_tickets, close_tickets
from persistence.tokens import Areas, check_area
from persistence.workspaces.records import Workspace, hold_workspace

rows = saved_reply.c

SAVED_REPLIES = ListSpec(
    saved_reply,
    Record(
        {
            "uuid": rows.uuid,
            "name": rows.name,
            "text": rows.text,
            "label": optional(label.c.id, {"uuid": label.c.uuid, "name": label.c.name}),
            "closes_ticket": rows.closes_ticket,
            "created_on": rows.created_on,
            "modified_on": rows.modified_on,
        }
    ),
    Order(rows.created_on, rows.id),
    source=saved_reply.outerjoin(label, label.c.id == rows.label_id),
    filters={"uuid": equals(rows.uuid)},
)


def create_saved_reply(tx: Transaction, workspace_id: int, name: str, given: Mapping[str, Any]) -> int:
    """Create a saved reply; returns its id. `given` may contain `text`, `label` (a UUID or name, or None) and
    `closes_ticket`. Raises InvalidInput for a bad or taken name or an unknown label, LimitReached at the workspace's
    limit.
    """
    hold_workspace(tx, workspace_id)
    naming = free_name(tx, workspace_id, saved_reply, name)
    check_room(tx, workspace_id, saved_reply)
    times = {"created_on": tx.now, "modified_on": tx.now}
    return tx.insert(saved_reply, workspace_id=workspace_id, **_read(tx, workspace_id, given), **naming, **times)


def change_saved_reply(tx: Transaction, workspace_id: int, uuid: str, name: str, given: Mapping[str, Any]) -> int:
    """Change a saved reply, where it is given; returns its id. Raises RecordMissing or InvalidInput."""
    hold_workspace(tx, workspace_id)
    reply_id = require_id(tx, workspace_id, saved_reply, uuid)
    naming = free_name(tx, workspace_id, saved_reply, name, besides_id=reply_id)
    mine = (rows.workspace_id == workspace_id) & (rows.id == reply_id)
    modified_on = later(saved_reply, tx.now, is_sqlite=tx.sqlite)
    values = {**_read(tx, workspace_id, given), **naming, "modified_on": modified_on}
    tx.execute(update(saved_reply).where(mine).values(values))
    return reply_id


def _read(tx: Transaction, workspace_id: int, given: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: given[name] for name in ("text", "closes_ticket") if given.get(name) is not None}
    if "label" in given:
        wanted = given["label"]
        known = wanted and must_exist(find_id(tx, workspace_id, label, wanted, by_name=True), "label", wanted)
        found["label_id"] = known or None
    return found


def do_beside(
    tx: Transaction, workspace: Workspace, uuid: str, contact_id: int, user_id: int | None, areas: Areas
) -> None:
    """What goes with a saved reply to a contact: the last visible message of theirs gets its label, and the open ticket
    is closed. Raises InvalidInput if there is no such reply, NotAllowed if a token may not change tickets.
    """
    mine = (rows.workspace_id == workspace.id) & (rows.uuid == uuid.lower())
    # An older program leaves the id of a label that it deletes.
    with_label = saved_reply.outerjoin(label, (label.c.id == rows.label_id) & (label.c.workspace_id == workspace.id))
    found = tx.execute(select(label.c.id, rows.closes_ticket).select_from(with_label).where(mine)).first()
    label_id, closes_ticket = must_exist(found, "saved_reply", uuid)
    lock_contacts(tx, workspace.id, [contact_id])
    if closes_ticket:
        check_area(areas, "tickets")
        theirs = (ticket.c.workspace_id == workspace.id) & (ticket.c.contact_id == contact_id)
        uuids = tx.execute(select(ticket.c.uuid).where(theirs, ticket.c.status == OPEN)).scalars().all()
        chosen = choose_tickets(tx, workspace.id, uuids)
        # The message that answers the ticket is stored after it is closed.
        note_replies(tx, workspace.id, [contact_id])
        close_tickets(tx, workspace, chosen, user_id)
    if label_id is not None:
        texts = message.c
        of_contact = (texts.workspace_id == workspace.id) & (texts.contact_id == contact_id)
        theirs = of_contact & (texts.direction == INCOMING) & (texts.visibility == VISIBLE)
        last = tx.execute(select(texts.id).where(theirs).order_by(texts.created_on.desc(), texts.id.desc()).limit(1))
        add_label(tx, workspace.id, select_incoming(tx, workspace.id, last.scalars().all()).ids, label_id)


def delete_saved_reply(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a saved reply. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    reply_id = require_id(tx, workspace_id, saved_reply, uuid)
    tx.execute(delete(saved_reply).where(rows.workspace_id == workspace_id, rows.id == reply_id))
    note_deleted(tx, workspace_id, SAVED_REPLY, [uuid])
