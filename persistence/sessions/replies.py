"""What flows do to contacts: the messages they send, with the route and the flow of each, and changes of many contacts
at once.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Executable, literal, select

from channels.types import GATEWAYS
from flows.engine import Contact
from flows.engine.contact import FieldValue, Ticket
from flows.environment import write_moment
from flows.urns import Urn, UrnError, parse
from persistence.changes import change_contacts, change_each_contact
from persistence.channels.terms import HAS_TERMS
from persistence.contacts.bulk import block_contacts, interrupt_contacts, unblock_contacts
from persistence.contacts.owners import find_owners
from persistence.contacts.writes import set_urns
from persistence.database import Transaction
from persistence.groups.groups import add_members, leave_all_groups, remove_members
from persistence.leases import beside_index, has_row
from persistence.messages.incoming import NEUTRAL
from persistence.messages.outgoing import Draft, add_outgoing, fail_waiting, note_fallbacks, read_quick_replies
from persistence.messages.routes import Route
from persistence.messages.templated import TemplateWish
from persistence.sessions.parking import LeasedContact
from persistence.sql.columns import columns_for
from persistence.statements import among, statement, update
from persistence.tables.accounts import user
from persistence.tables.channels import channel
from persistence.tables.contacts import (
    ACTIVE,
    ARCHIVED,
    BLOCKED,
    OPEN,
    STOPPED,
    contact,
    contact_urn,
    field,
    group,
    group_membership,
    ticket,
    topic,
)

REASONS = {
    "no_route": "no_route",
    "no_destination": "no_route",
    "contact_blocked": "contact_inactive",
    "contact_stopped": "contact_inactive",
    "contact_archived": "contact_inactive",
}
"""The reasons why a message cannot be sent, in the engine's terms and in those of message records."""

PLACES = ("state", "district", "ward")


class FlowMessage(NamedTuple):
    """A message of a flow as in the engine's event (`msg`: urn, channel, text, attachments, quick_replies). `is_bulk`
    messages were sent because the flow was started for many contacts, not because the contact wrote. `automatic` says
    what made it (`persistence.messages.incoming`).
    """

    contact_id: int
    flow_id: int | None
    content: Mapping[str, Any]
    is_bulk: bool = False
    automatic: int = NEUTRAL


def send_replies(tx: Transaction, workspace_id: int, replies: Sequence[FlowMessage]) -> None:
    """Queues messages in this order, without empty ones. A message that cannot be sent is `failed` with a reason."""
    uuids = {str(reply.content["channel"]["uuid"]) for reply in replies if reply.content.get("channel")}
    channels = _find_channels(tx, workspace_id, uuids)
    made = (_draft(reply, channels) for reply in replies)
    drafts = [draft for draft in made if not draft.is_empty]
    is_any_down = any(found.is_any_down for found in channels.values())
    add_outgoing(tx, workspace_id, note_fallbacks(tx, workspace_id, drafts) if is_any_down else drafts)


def read_attachments(content: Mapping[str, Any]) -> list[dict[str, str]]:
    """The attachments of a flow's message, in the form of stored messages."""
    parts = (str(text).partition(":") for text in content.get("attachments") or ())
    return [{"content_type": content_type, "url": url} for content_type, _, url in parts]


@dataclass(slots=True)
class ContactDelta:
    """The changes of a contact in one sprint. `values` are new names, languages and time zones (empty: none). `fields`
    are stored values by key, None if a field was cleared. `urns` is the whole new list.
    """

    values: dict[str, str] = dataclasses.field(default_factory=dict)
    fields: dict[str, dict[str, str] | None] = dataclasses.field(default_factory=dict)
    urns: list[Urn] | None = None
    status: str | None = None

    @property
    def is_attribute_change(self) -> bool:
        return bool(self.values or self.fields)


def change_many(
    tx: Transaction, workspace_id: int, rows: Sequence[LeasedContact], deltas: Mapping[int, ContactDelta]
) -> None:
    """Merges changes into contacts whose locked rows are given."""
    changing = [row for row in rows if row.id in deltas]
    attributes = [row for row in changing if deltas[row.id].is_attribute_change]
    if attributes:
        keys = {key for row in attributes for key in deltas[row.id].fields}
        uuids = _find_field_uuids(tx, workspace_id, keys)
        change_each_contact(tx, workspace_id, {row.id: _merge(row, deltas[row.id], uuids) for row in attributes})
    for row in changing:
        delta = deltas[row.id]
        if delta.urns is not None:
            _change_urns(tx, workspace_id, row.id, delta.urns)
        if delta.status is not None and delta.status != row.status:
            _change_status(tx, workspace_id, row.id, delta.status)


def change_memberships(
    tx: Transaction, workspace_id: int, joined: Mapping[str, Sequence[int]], left: Mapping[str, Sequence[int]]
) -> None:
    """Adds contacts to manual groups and removes them, by the group's UUID; smart groups are updated separately."""
    uuids = sorted({*joined, *left})
    if not uuids:
        return
    mine = (group.c.workspace_id == workspace_id) & group.c.uuid.in_(uuids) & group.c.query.is_(None)
    rows = tx.execute(select(group.c.id, group.c.uuid).where(mine).order_by(group.c.id)).all()
    for group_id, uuid in rows:
        if joined.get(uuid):
            add_members(tx, workspace_id, group_id, joined[uuid])
        if left.get(uuid):
            remove_members(tx, workspace_id, group_id, left[uuid])


class ContactRow(NamedTuple):
    """The columns of a contact's row that the engine reads; `fields` are stored values by the field's UUID."""

    id: int
    uuid: str
    name: str | None
    language: str | None
    status: str
    timezone: str | None
    created_on: datetime
    last_seen_on: datetime | None
    fields: Mapping[str, Mapping[str, str]]


CONTACT_COLUMNS = columns_for(ContactRow, contact)


def load_contacts(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> dict[int, Contact]:
    """The contacts with these ids that are not deleted, by id; five statements for any number."""
    if not contact_ids:
        return {}
    rows = [ContactRow(*row) for row in _select_contacts.rows(tx, workspace_id, contact_ids)]
    return complete_contacts(tx, workspace_id, rows, _read_field_keys(tx, workspace_id))


def complete_contacts(
    tx: Transaction,
    workspace_id: int,
    rows: Sequence[ContactRow],
    keys: Mapping[str, str],
    *,
    with_groups: bool = True,
    with_tickets: bool = True,
) -> dict[int, Contact]:
    """The contacts of these rows, by id; `keys` are fields' keys by UUID.

    Three statements, fewer without groups or tickets.
    """
    found = {row.id: _read_contact(row, keys) for row in rows}
    _add_urns(tx, workspace_id, found)
    if with_groups:
        _add_groups(tx, workspace_id, found)
    if with_tickets:
        _add_tickets(tx, workspace_id, found)
    return found


def write_value(value: FieldValue | None) -> dict[str, str] | None:
    """The stored form of a value."""
    if value is None or not value.text:
        return None
    stored = {"text": value.text}
    if value.number is not None:
        stored["number"] = format(value.number, "f")
    texts = {name: getattr(value, name) for name in ("datetime", *PLACES)}
    return stored | {name: text for name, text in texts.items() if text}


@statement
def _select_channels(workspace_id: int, uuids: Sequence[str]) -> Executable:
    rows = channel.c
    mine = (rows.workspace_id == workspace_id) & among(rows.uuid, uuids, "UUID") & rows.is_active
    # Locked as where messages get their routes, so that none is stored for a channel that is just released.
    others = channel.alias("others")
    down = select(literal(1)).where(others.c.workspace_id == workspace_id, others.c.down_since.is_not(None))
    found = select(rows.uuid, rows.id, rows.type, has_row(down).label("is_any_down"), HAS_TERMS).where(mine)
    return found.with_for_update(read=True, key_share=True, of=channel)


class _Found(NamedTuple):
    """An active channel that the engine chose; `is_any_down`: a channel of the workspace has failed for long."""

    id: int
    is_gateway: bool
    is_any_down: bool
    has_terms: bool
    type: str


def _find_channels(tx: Transaction, workspace_id: int, uuids: set[str]) -> dict[str, _Found]:
    """Active channels by uuid."""
    if not uuids:
        return {}
    found = _select_channels.rows(tx, workspace_id, sorted(uuids))
    return {
        uuid: _Found(channel_id, kind in GATEWAYS, bool(down), bool(has_terms), kind)
        for uuid, channel_id, kind, down, has_terms in found
    }


def _draft(reply: FlowMessage, channels: Mapping[str, _Found]) -> Draft:
    content = reply.content
    return Draft(
        reply.contact_id,
        content.get("text") or "",
        tuple(read_attachments(content)),
        tuple(read_quick_replies(content.get("quick_replies") or ())),
        flow_id=reply.flow_id,
        route=_route(content, channels),
        is_bulk=reply.is_bulk,
        automatic=reply.automatic,
        template=_template(content),
    )


def _template(content: Mapping[str, Any]) -> TemplateWish | None:
    """The template of which the engine made a message."""
    made = content.get("templating")
    if not made:
        return None
    variables = tuple(str(each.get("value") or "") for each in made.get("variables") or ())
    return TemplateWish(str(made["template"]["uuid"]), variables, str(content.get("locale") or ""))


def _route(content: Mapping[str, Any], channels: Mapping[str, _Found]) -> Route | None:
    """The route that the engine chose for a message; None if that channel does not exist any more and another may be
    used."""
    reason = content.get("unsendable_reason")
    if reason:
        return Route(failed_reason=REASONS.get(reason, "no_route"))
    found = channels.get(str((content.get("channel") or {}).get("uuid")))
    try:
        if found is None:
            return None
        urn = _identify(content.get("urn") or "")
        kind, has_terms = found.type, found.has_terms
        return Route(urn, found.id, is_by_gateway=found.is_gateway, channel_type=kind, has_terms=has_terms)
    except UrnError:
        return None


@lru_cache(maxsize=64)
def _identify(urn: str) -> str:
    """Most flows send several messages one after the other."""
    return parse(urn).identity


def _merge(row: LeasedContact, delta: ContactDelta, uuids: Mapping[str, str]) -> dict[str, Any]:
    fields = dict(row.fields)
    for key, value in delta.fields.items():
        if key not in uuids:
            continue  # the field was deleted while the flow ran
        if value is None:
            fields.pop(uuids[key], None)
        else:
            fields[uuids[key]] = value
    values = {name: delta.values.get(name, getattr(row, name)) or None for name in ("name", "language", "timezone")}
    return {"fields": fields, **values}


def _find_field_uuids(tx: Transaction, workspace_id: int, keys: set[str]) -> dict[str, str]:
    rows = field.c
    if not keys:
        return {}
    statement = select(rows.key, rows.uuid).where(rows.workspace_id == workspace_id, rows.key.in_(sorted(keys)))
    return {key: uuid for key, uuid in tx.execute(statement)}


def _change_urns(tx: Transaction, workspace_id: int, contact_id: int, urns: Sequence[Urn]) -> None:
    owners = find_owners(tx, workspace_id, urns)
    # Another contact may have got a URN since the flow checked it.
    free = [urn for urn in urns if urn.identity not in owners or owners[urn.identity].contact_id == contact_id]
    if set_urns(tx, workspace_id, contact_id, free):
        change_contacts(tx, workspace_id, [contact_id])
    chosen = {urn.identity: urn.query_values.get("channel", [""])[0] for urn in free if urn.query}
    for urn in free:
        uuid = chosen.get(urn.identity)
        found = select(channel.c.id).where(channel.c.workspace_id == workspace_id, channel.c.uuid == uuid)
        rows = contact_urn.c
        mine = (rows.workspace_id == workspace_id) & (rows.scheme == urn.scheme) & (rows.path == urn.path)
        tx.execute(update(contact_urn).where(mine).values(channel_id=found.scalar_subquery() if uuid else None))


def _change_status(tx: Transaction, workspace_id: int, contact_id: int, status: str) -> None:
    if status == BLOCKED:
        block_contacts(tx, workspace_id, [contact_id])
        return
    if status == ACTIVE:
        unblock_contacts(tx, workspace_id, [contact_id])
    change_contacts(tx, workspace_id, [contact_id], {"status": status})
    if status in (STOPPED, ARCHIVED):
        interrupt_contacts(tx, workspace_id, [contact_id])
        fail_waiting(tx, workspace_id, [contact_id])
        leave_all_groups(tx, workspace_id, [contact_id])


def _read_field_keys(tx: Transaction, workspace_id: int) -> dict[str, str]:
    return {uuid: key for uuid, key in _select_fields.rows(tx, workspace_id)}


def _read_contact(row: ContactRow, keys: Mapping[str, str]) -> Contact:
    return Contact(
        row.uuid,
        row.id,
        name=row.name or "",
        language=row.language or "",
        status=row.status,
        timezone=row.timezone or "",
        created_on=write_moment(row.created_on),
        last_seen_on=write_moment(row.last_seen_on) if row.last_seen_on else "",
        fields={keys[uuid]: _read_value(stored) for uuid, stored in row.fields.items() if uuid in keys},
    )


def _read_value(stored: Mapping[str, str]) -> FieldValue:
    number = stored.get("number")
    texts = {name: stored.get(name) or "" for name in ("datetime", *PLACES)}
    return FieldValue(stored["text"], None if number is None else Decimal(number), **texts)


def _add_urns(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for contact_id, scheme, path, display, channel_uuid in _select_urns.rows(tx, workspace_id, [*found]):
        query = f"channel={channel_uuid}" if channel_uuid else ""
        found[contact_id].urns.append(Urn(scheme, path, query, display or ""))


def _add_groups(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for contact_id, uuid, name in _select_groups.rows(tx, workspace_id, [*found]):
        found[contact_id].groups.append(uuid)
        found[contact_id].group_names[uuid] = name


def _add_tickets(tx: Transaction, workspace_id: int, found: Mapping[int, Contact]) -> None:
    for row in _select_tickets.rows(tx, workspace_id, [*found]):
        contact_id, uuid, topic_uuid, topic_name, user_uuid, user_name, email = row
        chosen = {"uuid": topic_uuid, "name": topic_name}
        assignee = {"uuid": user_uuid, "name": user_name.strip(), "email": email} if user_uuid else None
        found[contact_id].tickets.append(Ticket(uuid, OPEN, chosen, assignee))


@statement
def _select_fields(workspace_id: int) -> Executable:
    return select(field.c.uuid, field.c.key).where(field.c.workspace_id == workspace_id)


@statement
def _select_contacts(workspace_id: int, ids: Sequence[int]) -> Executable:
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, ids) & ~contact.c.is_deleted
    return select(*CONTACT_COLUMNS).where(mine)


@statement
def _select_urns(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = contact_urn.c
    is_theirs = (channel.c.id == rows.channel_id) & (channel.c.workspace_id == rows.workspace_id)
    return (
        select(rows.contact_id, rows.scheme, rows.path, rows.display, channel.c.uuid)
        .outerjoin(channel, is_theirs & channel.c.is_active)
        .where(beside_index(rows.workspace_id) == workspace_id, among(rows.contact_id, contact_ids))
        .order_by(rows.contact_id, rows.priority, rows.id)
    )


@statement
def _select_groups(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    rows = group_membership.c
    mine = (beside_index(group.c.workspace_id) == workspace_id) & ~group.c.is_system
    return (
        select(rows.contact_id, group.c.uuid, group.c.name)
        .join(group, group.c.id == rows.group_id)
        .where(mine, among(rows.contact_id, contact_ids))
        .order_by(rows.contact_id, group.c.id)
    )


@statement
def _select_tickets(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    name = (user.c.first_name + " " + user.c.last_name).label("assignee_name")
    mine = (beside_index(ticket.c.workspace_id) == workspace_id) & among(ticket.c.contact_id, contact_ids)
    return (
        select(ticket.c.contact_id, ticket.c.uuid, topic.c.uuid, topic.c.name, user.c.uuid, name, user.c.email)
        .join(topic, topic.c.id == ticket.c.topic_id)
        .outerjoin(user, user.c.id == ticket.c.assignee_id)
        .where(mine, ticket.c.status == literal(OPEN, literal_execute=True))
        .order_by(ticket.c.contact_id, ticket.c.id)
    )
