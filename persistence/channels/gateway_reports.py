"""Reports of gateways, as their channel types read them: incoming messages, statuses, contacts that opted out."""

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parseaddr
from functools import lru_cache
from typing import Any

from sqlalchemy import Executable, literal, select

from channels import calls
from flows.typed import plain
from flows.urns import PATH_LENGTH_MAX, URN_LENGTH_MAX, Urn, UrnError, from_parts
from persistence.changes import change_contacts
from persistence.channels.channels import Source
from persistence.channels.settings import OVERLAP, is_one_of
from persistence.contacts.bulk import interrupt_contacts
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups.groups import leave_all_groups
from persistence.media.incoming import expect_files, plan_files
from persistence.messages.incoming import Received, find_known_messages
from persistence.messages.outgoing import fail_waiting
from persistence.relayers.commands import TEXT_LENGTH, DeliveryReport, believe, clean_text
from persistence.relayers.reports import (
    SENDERS_KEPT,
    UNKNOWN_SENDER,
    announce_received,
    find_senders,
    record_delivery_reports,
    sender_of,
)
from persistence.secrets.encryption import open_sealed, sealed_text
from persistence.sql.columns import is_uuid, new_uuid
from persistence.statements import statement
from persistence.tables.channels import channel, channel_event
from persistence.tables.contacts import ACTIVE, BLOCKED, STOPPED, contact

REPORTS = {"sent": "mt_sent", "delivered": "mt_dlvd", "failed": "mt_fail"}
OTHER = "ext"
NOBODY = Urn(OTHER, "unknown")
AS_NUMBER = re.compile(r"[0-9+ ().-]+")


class WrongSecret(Exception):
    """A call of a gateway does not contain its secret."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that calls; its contacts have URNs of one `scheme`, `config` holds the settings of its type."""

    source: Source
    scheme: str
    config: Mapping[str, Any]


def find_gateway(tx: Transaction, channel_type: str, uuid: str, secret: str | None) -> Gateway:
    """The active gateway of a type with this UUID, for a call with its secret. Raises Refused, WrongSecret."""
    row = next(iter(_select_gateway.rows(tx, uuid, channel_type)), None) if is_uuid(uuid) else None
    if row is None:
        raise Refused("There is no such channel.")
    channel_id, channel_uuid, workspace_id, address, country, schemes, config, present, former, rotated_on = row
    has_former = rotated_on is not None and tx.now < rotated_on + OVERLAP
    in_force = (channel.c.secret, present), (channel.c.previous_secret, former if has_former else None)
    if not is_one_of([open_sealed(tx.dialect, column, sealed) for column, sealed in in_force], secret):
        raise WrongSecret("The secret of this channel is missing or wrong.")
    assert workspace_id is not None, "gateways are created in a workspace"
    source = Source(channel_id, channel_uuid, workspace_id, address, country)
    return Gateway(source, schemes[0], open_sealed(tx.dialect, channel.c.config, config) or {})


@statement
def _select_gateway(uuid: str, channel_type: str) -> Executable:
    rows = channel.c
    columns = (rows.id, rows.uuid, rows.workspace_id, rows.address, rows.country)
    sealed = map(sealed_text, (rows.config, rows.secret, rows.previous_secret))
    known = (rows.uuid == uuid) & (rows.type == channel_type) & rows.is_active
    return select(*columns, rows.schemes, *sealed, rows.secret_rotated_on).where(known)


_IS_ACTIVE = contact.c.status == literal(ACTIVE)


def record_events(tx: Transaction, gateway: Gateway, events: Sequence[calls.Event], root: str = "") -> str:
    """Carries out what a gateway reports; returns what became of it. What cannot be carried out does not keep the rest
    from it. Files get URLs below `root`, that of the service. Raises Refused if all is like that.
    """
    told, refused = list[str](), list[str]()
    for event in events:
        try:
            told.append(_record(tx, gateway, event, root))
        except Refused as error:
            refused.append(str(error))
    if refused and not told:
        raise Refused(" ".join(refused))
    return " ".join([*told, *refused]) or "There was nothing to do."


def _record(tx: Transaction, gateway: Gateway, event: calls.Event, root: str) -> str:
    match event:
        case calls.Received():
            message_id = receive_message(tx, gateway, event, root)
            dropped = "The message was dropped: its sender is blocked."
            return dropped if message_id is None else f"Message {message_id}"
        case calls.Status():
            report = DeliveryReport(REPORTS[event.state], int(event.message), event.on)
            record_delivery_reports(tx, gateway.source, [report])
            return f"Message {event.message} is {event.state}."
        case calls.Stopped():
            stop_contact(tx, gateway, event.sender)
            return "The contact is stopped."
        case _:
            return "Nothing is done about calls."


def receive_message(tx: Transaction, gateway: Gateway, report: calls.Received, root: str = "") -> int | None:
    """Store an incoming message, whatever its sender; returns its id, or None if its sender is blocked."""
    urn = _sender(gateway, report.sender)
    text = clean_text(report.text)[:TEXT_LENGTH]
    # Without a time, a repeated report cannot be distinguished from a second message with the same text.
    stamp = report.sent_on.isoformat() if report.sent_on is not None else new_uuid()
    name = hashlib.sha256(f"gateway\x1f{urn.identity}\x1f{stamp}\x1f{text}".encode()).hexdigest()
    known = find_known_messages(tx, gateway.source.id, [name]).get(name)
    if known is not None:
        return known[1]
    owner = find_senders(tx, gateway.source, [urn])[urn.identity]
    if owner.status == BLOCKED:
        return None
    files = plan_files(tx, gateway.source.workspace_id, root, report.attachments)
    attachments = tuple(each.attachment for each in files)
    received = Received(owner, text, believe(report.sent_on, tx.now) or tx.now, name, attachments)
    message_id = announce_received(tx, gateway.source, [received])[name]
    expect_files(tx, gateway.source.workspace_id, message_id, files)
    return message_id


def stop_contact(tx: Transaction, gateway: Gateway, sender: str) -> None:
    """The contact opted out: it is stopped and leaves its flow and all groups, and a channel event is recorded."""
    urn, source = _sender(gateway, sender), gateway.source
    if urn in (UNKNOWN_SENDER, NOBODY) or urn.scheme != gateway.scheme:
        raise Refused("The sender is not a valid address.")
    owner = ensure_owners(tx, source.workspace_id, [urn], channel_id=source.id, changes=True)[urn.identity]
    if not change_contacts(tx, source.workspace_id, [owner.contact_id], {"status": STOPPED}, only=_IS_ACTIVE):
        return
    interrupt_contacts(tx, source.workspace_id, [owner.contact_id])
    fail_waiting(tx, source.workspace_id, [owner.contact_id])
    leave_all_groups(tx, source.workspace_id, [owner.contact_id])
    values = {
        "uuid": new_uuid(),
        "workspace_id": source.workspace_id,
        "channel_id": source.id,
        "contact_id": owner.contact_id,
        "type": "stop-contact",
        "urn": urn.identity,
        "occurred_on": tx.now,
        "created_on": tx.now,
    }
    tx.execute(channel_event.insert().values(**values))


def _sender(gateway: Gateway, sender: str) -> Urn:
    text = clean_text(sender)
    if gateway.scheme == "tel":
        return sender_of(text, gateway.source.country)
    # Without characters that cannot be stored it would be the address of somebody else.
    return _read_sender(gateway.scheme, text.strip()) if text == sender else NOBODY


@lru_cache(maxsize=SENDERS_KEPT)
def _read_sender(scheme: str, sender: str) -> Urn:
    """The address as the scheme has it. What is none is kept in a scheme that takes all, and cannot be answered."""
    for known, path in ((scheme, sender), (scheme, _bare_address(scheme, sender)), (OTHER, sender[:PATH_LENGTH_MAX])):
        with contextlib.suppress(UrnError):
            return from_parts(known, path, path_length=URN_LENGTH_MAX)
    return NOBODY


def _bare_address(scheme: str, sender: str) -> str:
    """The address without what gateways write around it: `whatsapp:+250 788...`, `Ann <ann@example.org>`."""
    bare = sender[len(scheme) + 1 :] if sender.lower().startswith(f"{scheme}:") else sender
    if scheme == "mailto":
        return parseaddr(bare)[1]
    number = plain(bare)
    return re.sub(r"[^0-9]", "", number) if AS_NUMBER.fullmatch(number) else bare
