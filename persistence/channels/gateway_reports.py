"""What HTTP gateways report: incoming messages, the fate of outgoing ones, contacts that opted out."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from flows.urns import URN_LENGTH_MAX, Urn, UrnError, from_parts, read_phone_urn
from persistence.channels.channels import EXTERNAL
from persistence.channels.gateway_secrets import is_secret_of
from persistence.contacts.actions import interrupt_contacts
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups.members import leave_all_groups
from persistence.messages.incoming import Received, find_known_messages
from persistence.messages.outgoing import fail_waiting
from persistence.relayers.commands import TEXT_LENGTH, FateReport, clean_text
from persistence.relayers.delivery_reports import record_fates
from persistence.relayers.reported_times import believe
from persistence.relayers.reports import announce_received, find_senders
from persistence.sql.columns import is_uuid, new_uuid
from persistence.stamps import stamped
from persistence.tables.channels import channel, channel_event
from persistence.tables.contacts import ACTIVE, BLOCKED, STOPPED, contact

FATES = {"sent": "mt_sent", "delivered": "mt_dlvd", "failed": "mt_fail"}


class WrongSecret(Exception):
    """A call for a gateway does not bring its secret."""


@dataclass(frozen=True, slots=True)
class GatewayMessage:
    """An incoming message as its gateway tells it."""

    sender: str
    text: str
    moment: datetime | None


def find_gateway(tx: Transaction, uuid: str, secret: str | None) -> Any:
    """The active gateway with this uuid, for a call that brings its secret. Raises Refused, WrongSecret."""
    known = (channel.c.uuid == uuid) & (channel.c.type == EXTERNAL) & channel.c.is_active
    row = tx.execute(select(channel).where(known)).first() if is_uuid(uuid) else None
    if row is None:
        raise Refused("There is no such channel.")
    if not is_secret_of(row, secret, tx.now):
        raise WrongSecret("The secret of this channel is missing or wrong.")
    return row


def receive_message(tx: Transaction, gateway: Any, report: GatewayMessage) -> int | None:
    """Store an incoming message; its id, None when its sender is blocked. Raises Refused for an unusable sender."""
    urn = _sender(gateway, report.sender)
    text = clean_text(report.text)[:TEXT_LENGTH]
    # Without a time of its own a report cannot be told from a second message with the same text.
    stamp = report.moment.isoformat() if report.moment is not None else new_uuid()
    name = hashlib.sha256(f"gateway\x1f{urn.identity}\x1f{stamp}\x1f{text}".encode()).hexdigest()
    known = find_known_messages(tx, gateway.id, [name]).get(name)
    if known is not None:
        return known[1]
    owner = find_senders(tx, gateway, [urn])[urn.identity]
    if owner.status == BLOCKED:
        return None
    received = Received(owner, text, believe(report.moment, tx.now) or tx.now, name)
    return announce_received(tx, gateway, [received])[name]


def note_fate(tx: Transaction, gateway: Any, action: str, message_id: int, moment: datetime | None) -> None:
    """Move an outgoing message of this gateway as reported; a report about another one changes nothing."""
    record_fates(tx, gateway, [FateReport(FATES[action], message_id, moment)])


def stop_contact(tx: Transaction, gateway: Any, sender: str) -> None:
    """The contact opted out: it is stopped, leaves its flow and all groups, and a channel event tells of it."""
    urn = _sender(gateway, sender)
    owner = ensure_owners(tx, gateway.workspace_id, [urn], channel_id=gateway.id)[urn.identity]
    mine = (contact.c.workspace_id == gateway.workspace_id) & (contact.c.id == owner.contact_id)
    stopped = (
        update(contact)
        .where(mine, contact.c.status == ACTIVE)
        .values(status=STOPPED, modified_on=stamped(tx, contact, gateway.workspace_id))
    )
    if tx.execute(stopped).rowcount == 0:
        return
    interrupt_contacts(tx, gateway.workspace_id, [owner.contact_id])
    fail_waiting(tx, gateway.workspace_id, [owner.contact_id])
    leave_all_groups(tx, gateway.workspace_id, [owner.contact_id])
    values = {
        "uuid": new_uuid(),
        "workspace_id": gateway.workspace_id,
        "channel_id": gateway.id,
        "contact_id": owner.contact_id,
        "type": "stop-contact",
        "urn": urn.identity,
        "occurred_on": tx.now,
        "created_on": tx.now,
    }
    tx.execute(channel_event.insert().values(**values))


def _sender(gateway: Any, sender: str) -> Urn:
    scheme = gateway.schemes[0]
    if clean_text(sender) != sender:  # such characters cannot be stored, and leaving them out would name another
        raise Refused("The sender is no valid address.")
    try:
        return (
            read_phone_urn(sender, gateway.country or "")
            if scheme == "tel"
            else from_parts(scheme, sender, path_length=URN_LENGTH_MAX)
        )
    except UrnError as error:
        raise Refused(f"The sender is no valid address: {error}.") from error
