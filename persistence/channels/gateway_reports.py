"""Reports of gateways, as their channel types read them: incoming messages, statuses, contacts that opted out."""

import contextlib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from sqlalchemy import Executable, literal, select

from channels import calls
from flows.typed import plain
from flows.urns import PATH_LENGTH_MAX, URN_LENGTH_MAX, Urn, UrnError, from_parts
from persistence.changes import change_contacts
from persistence.channels.event_form import Source
from persistence.channels.gateway_parts import Told, note_status
from persistence.channels.settings import OVERLAP, is_one_of
from persistence.channels.threads import note_thread
from persistence.channels.traces import hide_secrets
from persistence.contacts.bulk import interrupt_contacts
from persistence.contacts.owners import UrnOwner
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.groups.groups import leave_all_groups
from persistence.groups.smart_groups import follow_contacts
from persistence.media.incoming import expect_files, occupy, plan_files
from persistence.messages.incoming import Received, find_known_messages
from persistence.messages.outgoing import fail_waiting
from persistence.relayers.commands import TEXT_LENGTH, CallReport, believe, clean_text
from persistence.relayers.reports import (
    SENDERS_KEPT,
    UNKNOWN_SENDER,
    announce_received,
    find_senders,
    record_calls,
    sender_of,
)
from persistence.secrets.encryption import open_sealed, sealed_text
from persistence.sql.columns import is_uuid, new_uuid
from persistence.statements import statement
from persistence.tables.channels import channel, channel_event
from persistence.tables.contacts import ACTIVE, BLOCKED, STOPPED, contact
from persistence.tables.messages import message

OTHER = "ext"
NOBODY = Urn(OTHER, "unknown")
AS_NUMBER = re.compile(r"[0-9+ ().-]+")
IN_BRACKETS = re.compile(r"[^<>]*<([^<>]+)>\Z")
SENDER_LENGTH = 512
"""An address with the name before it. Nobody has a longer one, so none is read, and none fills the memory."""


class WrongSecret(Exception):
    """A call of a gateway does not contain its secret."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway that calls; its contacts have URNs of one `scheme`, `config` holds the settings of its type."""

    source: Source
    scheme: str
    config: Mapping[str, Any]
    channel_type: str = ""


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
    return Gateway(source, schemes[0], open_sealed(tx.dialect, channel.c.config, config) or {}, channel_type)


@statement
def _select_gateway(uuid: str, channel_type: str) -> Executable:
    rows = channel.c
    columns = (rows.id, rows.uuid, rows.workspace_id, rows.address, rows.country)
    sealed = map(sealed_text, (rows.config, rows.secret, rows.previous_secret))
    known = (rows.uuid == uuid) & (rows.type == channel_type) & rows.is_active
    return select(*columns, rows.schemes, *sealed, rows.secret_rotated_on).where(known)


_IS_ACTIVE = contact.c.status == literal(ACTIVE)
NAME_LENGTH = 128
MOST_EXTRA = 20


def record_events(
    tx: Transaction, gateway: Gateway, events: Sequence[calls.Event], root: str = "", quota_bytes: int = 0
) -> Told:
    """Carries out what a gateway reports; returns what became of it. What cannot be carried out does not keep the rest
    from it. Files get URLs below `root`, that of the service; those that came with messages are dropped beyond the
    quota of the workspace. Raises Refused if all is like that.
    """
    told, refused = list[Told](), list[str]()
    for event in events:
        try:
            told.append(_record(tx, gateway, event, root, quota_bytes))
        except Refused as error:
            refused.append(str(error))
    if refused and not told:
        raise Refused(" ".join(refused))
    text = " ".join([*(each.text for each in told), *refused]) or "There was nothing to do."
    return Told(text, next((each.message_id for each in told if each.message_id is not None), None))


def find_contact(tx: Transaction, gateway: Gateway, message_id: int) -> int | None:
    """Whose message this is."""
    mine = (message.c.workspace_id == gateway.source.workspace_id) & (message.c.id == message_id)
    return tx.execute(select(message.c.contact_id).where(mine)).scalar_one_or_none()


def _record(tx: Transaction, gateway: Gateway, event: calls.Event, root: str, quota_bytes: int) -> Told:
    match event:
        case calls.Received():
            message_id = receive_message(tx, gateway, event, root, quota_bytes)
            dropped = "The message was dropped: its sender is blocked."
            return Told(dropped if message_id is None else f"Message {message_id}", message_id)
        case calls.Status():
            reason = hide_secrets(gateway.channel_type, gateway.config, event.reason) if event.reason else ""
            return note_status(tx, gateway.source, replace(event, reason=reason))
        case calls.Stopped():
            stop_contact(tx, gateway, event.sender)
            return Told("The contact is stopped.")
        case calls.Call():
            return Told(_record_call(tx, gateway, event))


def receive_message(
    tx: Transaction, gateway: Gateway, report: calls.Received, root: str = "", quota_bytes: int = 0
) -> int | None:
    """Store an incoming message, whatever its sender; returns its id, or None if its sender is blocked. A repeat has
    the same id of its provider, or else the same sender, time and text."""
    urn = _sender(gateway, report.sender)
    text = clean_text(report.text or report.payload)[:TEXT_LENGTH]
    # Without a time, a repeated report cannot be distinguished from a second message with the same text.
    stamp = report.sent_on.isoformat() if report.sent_on is not None else new_uuid()
    parts = ("gateway-id", report.id) if report.id else ("gateway", urn.identity, stamp, text)
    name = hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()
    known = find_known_messages(tx, gateway.source.id, [name]).get(name)
    if known is not None:
        return known[1]
    owner = find_senders(tx, gateway.source, [urn])[urn.identity]
    if owner.status == BLOCKED:
        return None
    owner = _named(tx, gateway.source, owner, report.name)
    planned = plan_files(tx, gateway.source.workspace_id, root, report.attachments)
    files = occupy(tx, gateway.source.workspace_id, planned, quota_bytes)
    attachments = tuple(each.attachment for each in files)
    received = Received(owner, text, believe(report.sent_on, tx.now) or tx.now, name, attachments)
    message_id = announce_received(tx, gateway.source, [received])[name]
    expect_files(tx, gateway.source.workspace_id, message_id, files)
    if report.subject is not None:
        note_thread(tx, gateway.source, owner.contact_id, report.id, clean_text(report.subject))
    return message_id


def _named(tx: Transaction, source: Source, owner: UrnOwner, name: str) -> UrnOwner:
    """A new contact with the name by which its provider knows it."""
    given = " ".join(clean_text(name).split())[:NAME_LENGTH]
    if not owner.is_new or not given:
        return owner
    change_contacts(tx, source.workspace_id, [owner.contact_id], {"name": given})
    follow_contacts(tx, source.workspace_id, [owner.contact_id])
    return replace(owner, name=given)


def _record_call(tx: Transaction, gateway: Gateway, call: calls.Call) -> str:
    """Calls are stored as those of phones are; what else a person did is an event of the channel."""
    source = gateway.source
    if call.kind in ("mo_call", "mo_miss"):
        record_calls(tx, source, [CallReport(clean_text(call.sender), call.kind, call.on, call.seconds)])
        return "The call is recorded."
    urn = _sender(gateway, call.sender)
    if urn in (UNKNOWN_SENDER, NOBODY):
        raise Refused("The sender is not a valid address.")
    owner = find_senders(tx, source, [urn])[urn.identity]
    if owner.status == BLOCKED:
        return "The event was dropped: its sender is blocked."
    owner = _named(tx, source, owner, call.name)
    extra = {clean_text(key): clean_text(value) for key, value in [*call.extra.items()][:MOST_EXTRA]}
    kind = call.kind.replace("_", "-")
    _insert_event(tx, source.workspace_id, source.id, owner.contact_id, urn.identity, kind, call.on, extra)
    return "The event is recorded."


def stop_contact(tx: Transaction, gateway: Gateway, sender: str) -> None:
    """The contact opted out (see `stop`). Raises Refused."""
    urn, source = _sender(gateway, sender), gateway.source
    if urn in (UNKNOWN_SENDER, NOBODY) or urn.scheme != gateway.scheme:
        raise Refused("The sender is not a valid address.")
    owner = ensure_owners(tx, source.workspace_id, [urn], channel_id=source.id, changes=True)[urn.identity]
    stop(tx, source.workspace_id, source.id, owner.contact_id, urn.identity)


def stop(tx: Transaction, workspace_id: int, channel_id: int, contact_id: int, urn: str) -> None:
    """An active contact does not want to be written to any more: it is stopped and leaves its flow and all groups, and
    a channel event is recorded."""
    if not change_contacts(tx, workspace_id, [contact_id], {"status": STOPPED}, only=_IS_ACTIVE):
        return
    interrupt_contacts(tx, workspace_id, [contact_id])
    fail_waiting(tx, workspace_id, [contact_id])
    leave_all_groups(tx, workspace_id, [contact_id])
    _insert_event(tx, workspace_id, channel_id, contact_id, urn, "stop-contact")


def _insert_event(
    tx: Transaction,
    workspace_id: int,
    channel_id: int,
    contact_id: int,
    urn: str,
    kind: str,
    on: datetime | None = None,
    extra: Mapping[str, str] | None = None,
) -> None:
    values = {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "channel_id": channel_id,
        "contact_id": contact_id,
        "type": kind,
        "urn": urn,
        "extra": extra,
        "occurred_on": believe(on, tx.now) or tx.now,
        "created_on": tx.now,
    }
    tx.execute(channel_event.insert().values(**values))


def _sender(gateway: Gateway, sender: str) -> Urn:
    text = clean_text(sender)
    if gateway.scheme == "tel":
        return sender_of(text[:SENDER_LENGTH], gateway.source.country)
    if text != sender:  # without characters that cannot be stored it would be the address of somebody else
        return NOBODY
    if len(text) > SENDER_LENGTH:
        return _read_sender(OTHER, text.strip()[:PATH_LENGTH_MAX])
    return _read_sender(gateway.scheme, text.strip())


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
        found = IN_BRACKETS.match(bare)
        return (found[1] if found else bare).strip()
    number = plain(bare)
    return re.sub(r"[^0-9]", "", number) if AS_NUMBER.fullmatch(number) else bare
