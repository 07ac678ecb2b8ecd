"""Visitors of sites with a chat (`channels/webchat/`): who they are, what they write, and the messages that they see.

A visitor is a browser. Its code is in the URN of its contact, its token proves that a request is its own. An outgoing
message is wired once the visitor may have it, delivered when the visitor's browser has it, and read when it is shown.
"""

import hashlib
import hmac
import secrets
import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Executable, Select, insert, or_, select

from channels.chats import VISITOR_LENGTH
from channels.types import TYPES
from flows.urns import Urn, UrnError, from_parts
from persistence.changes import change_contacts, change_messages
from persistence.channels.event_form import BEGUN, Source
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.messages.incoming import Received, find_known_messages
from persistence.relayers.commands import TEXT_LENGTH, DeliveryReport, clean_text
from persistence.relayers.reports import announce_received, find_senders, record_delivery_reports
from persistence.secrets.encryption import open_sealed, sealed_text
from persistence.sql.columns import is_uuid, new_uuid, time_text
from persistence.statements import among, statement
from persistence.stream import Change
from persistence.tables.changes import record_stamp
from persistence.tables.channels import channel, channel_event, webchat_visitor
from persistence.tables.contacts import BLOCKED, contact_urn
from persistence.tables.messages import (
    DELETED,
    DELIVERED,
    INCOMING,
    OUTGOING,
    READ,
    SENT,
    WIRED,
    message,
)
from persistence.workspaces.records import Workspace

SCHEME = "webchat"
CHATS = tuple(name for name, each in TYPES.items() if each.transport == SCHEME)
LETTERS = string.ascii_letters + string.digits
TOKEN_BYTES = 32
NAME_LENGTH = 64
KEY_LENGTH = 36
PAGE = 50
SHOWN = (WIRED, SENT, DELIVERED, READ)

_rows, _its = message.c, webchat_visitor.c


class Blocked(Exception):
    """The contact of a visitor is blocked: nothing that it writes is stored."""


@dataclass(frozen=True, slots=True)
class Chat:
    """An active channel of this type, with its settings."""

    source: Source
    name: str
    config: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Visitor:
    """A visitor whose token was right; `contact_id` is who has the URN now."""

    id: int
    contact_id: int
    urn: Urn

    def listens_to(self, chat: Chat) -> str:
        """What changes must be marked with to be this visitor's."""
        return _right(chat.source.id, self.urn.identity)


def find_chat(tx: Transaction, uuid: str) -> Chat | None:
    """The chat with the UUID of this channel."""
    row = next(iter(_select_chat.rows(tx, uuid)), None) if is_uuid(uuid) else None
    if row is None:
        return None
    channel_id, found_uuid, workspace_id, address, country, name, config = row
    assert workspace_id is not None, "gateways are created in a workspace"
    source = Source(channel_id, found_uuid, workspace_id, address, country)
    return Chat(source, name or "", open_sealed(tx.dialect, channel.c.config, config) or {})


@statement
def _select_chat(uuid: str) -> Executable:
    rows = channel.c
    columns = (rows.id, rows.uuid, rows.workspace_id, rows.address, rows.country, rows.name, sealed_text(rows.config))
    return select(*columns).where((rows.uuid == uuid) & rows.type.in_(CHATS) & rows.is_active)


def begin_visit(tx: Transaction, chat: Chat, name: str = "", email: str = "") -> tuple[str, str]:
    """A new visitor and its contact: the code and the token. An e-mail address becomes part of the URN: nobody has
    proved that it is the visitor's, so it is not taken for that of a contact. Raises InvalidInput.
    """
    code = "".join(secrets.choice(LETTERS) for _ in range(VISITOR_LENGTH))
    token = secrets.token_urlsafe(TOKEN_BYTES)
    try:
        urn = from_parts(SCHEME, f"{code}:{email.lower()}" if email else code)
    except UrnError as error:
        raise InvalidInput.on("email", "This is not an e-mail address.") from error
    workspace_id, source = chat.source.workspace_id, chat.source
    seen = {urn.identity}
    owner = ensure_owners(tx, workspace_id, [urn], channel_id=source.id, changes=True, seen=seen)[urn.identity]
    shown = clean_text(name).strip()[:NAME_LENGTH]
    if shown:
        change_contacts(tx, workspace_id, [owner.contact_id], {"name": shown})
    of_it = {"workspace_id": workspace_id, "channel_id": source.id, "contact_id": owner.contact_id}
    values = {"code": code, "path": urn.path, "token_hash": _hash(token), "created_on": tx.now}
    tx.execute(insert(webchat_visitor).values(**of_it, **values))
    event = {"uuid": new_uuid(), "type": BEGUN, "urn": urn.identity, "occurred_on": tx.now}
    tx.execute(insert(channel_event).values(**of_it, **event, created_on=tx.now, is_pending=True))
    tx.wake("calls")
    return code, token


def find_visitor(tx: Transaction, chat: Chat, code: str, token: str) -> Visitor | None:
    """The visitor with this code, if the token is right and its contact was not deleted."""
    found = _select_visitor.rows(tx, chat.source.workspace_id, chat.source.id, code)
    for visitor_id, contact_id, path, token_hash in found:
        if hmac.compare_digest(token_hash, _hash(token)):
            return Visitor(visitor_id, contact_id, Urn(SCHEME, path))
    return None


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@statement
def _select_visitor(workspace_id: int, channel_id: int, code: str) -> Executable:
    of_it = (contact_urn.c.scheme == SCHEME) & (contact_urn.c.path == _its.path)
    owned = (contact_urn.c.workspace_id == _its.workspace_id) & of_it & contact_urn.c.contact_id.is_not(None)
    mine = (_its.workspace_id == workspace_id) & (_its.channel_id == channel_id) & (_its.code == code)
    columns = (_its.id, contact_urn.c.contact_id, _its.path, _its.token_hash)
    return select(*columns).select_from(webchat_visitor.join(contact_urn, owned)).where(mine)


def receive(
    tx: Transaction, chat: Chat, visitor: Visitor, key: str, text: str, files: Sequence[dict[str, str]] = ()
) -> dict[str, Any]:
    """Stores what a visitor wrote; a repeat with the same `key` is the same message. Returns the message as the visitor
    sees it. Raises Blocked.
    """
    source, name = chat.source, _external_id(visitor.id, key)
    known = find_known_messages(tx, source.id, [name]).get(name)
    if known is None:
        owner = find_senders(tx, source, [visitor.urn])[visitor.urn.identity]
        if owner.status == BLOCKED:
            raise Blocked
        received = Received(owner, clean_text(text)[:TEXT_LENGTH], tx.now, name, tuple(files))
        message_id = announce_received(tx, source, [received])[name]
    else:
        message_id = known[1]
    (row,) = _select_messages.rows(tx, source.workspace_id, [message_id])
    return _show(row)


def has_received(tx: Transaction, chat: Chat, visitor: Visitor, key: str) -> bool:
    """Whether the visitor's message with this key is stored."""
    name = _external_id(visitor.id, key)
    return bool(find_known_messages(tx, chat.source.id, [name]))


def _external_id(visitor_id: int, key: str) -> str:
    return f"visitor {visitor_id} {key}"


def list_messages(
    tx: Transaction, chat: Chat, visitor: Visitor, before: str | None = None
) -> tuple[list[dict[str, Any]], bool]:
    """The latest messages of a visitor, oldest first, those before the message with this UUID; and whether there are
    earlier ones. Raises RecordMissing.
    """
    source, shown = chat.source, visitor.urn.identity
    mine = [_rows.workspace_id == source.workspace_id, _rows.contact_id == visitor.contact_id]
    mine += [_rows.channel_id == source.id, _rows.urn == shown, _rows.visibility != DELETED, _is_shown()]
    if before is not None:
        last = select(_rows.created_on, _rows.id).where(*mine, _rows.uuid == before)
        row = tx.execute(last).first() if is_uuid(before) else None
        if row is None:
            raise RecordMissing("There is no such message.")
        mine.append((_rows.created_on < row[0]) | ((_rows.created_on == row[0]) & (_rows.id < row[1])))
    page = select(*COLUMNS).where(*mine).order_by(_rows.created_on.desc(), _rows.id.desc()).limit(PAGE + 1)
    found = tx.execute(page).all()
    return [_show(row) for row in reversed(found[:PAGE])], len(found) > PAGE


COLUMNS = (
    *(_rows.uuid, _rows.direction, _rows.text, _rows.attachments, _rows.quick_replies),
    *(_rows.status, _rows.created_on, _rows.external_id, _rows.visibility),
)


def _show(row: Sequence[Any]) -> dict[str, Any]:
    uuid, direction, text, attachments, quick_replies, status, created_on, external_id, _ = row
    is_own = direction == INCOMING
    key = external_id.rpartition(" ")[2] if is_own and external_id else None
    return {
        "id": uuid,
        "key": key,
        "from": "visitor" if is_own else "site",
        "text": text,
        "attachments": [{"content_type": each["content_type"], "url": each["url"]} for each in attachments],
        "quick_replies": [each["text"] for each in quick_replies if each.get("text")],
        "status": "sent" if is_own or status == WIRED else status,
        "created_on": time_text(created_on),
    }


def _is_shown() -> ColumnElement[bool]:
    return or_(_rows.direction == INCOMING, _rows.status.in_(SHOWN))


@statement
def _select_messages(workspace_id: int, ids: Sequence[int]) -> Executable:
    return select(*COLUMNS).where(_rows.workspace_id == workspace_id, among(_rows.id, ids))


def read_visitor_changes(
    tx: Transaction, workspace: Workspace, after: datetime, upto: datetime, most: int
) -> list[Change] | None:
    """The messages of all visitors of a workspace that changed after one time of its clock and up to another one,
    oldest change first; one statement. None if there are more than `most`.
    """
    rows = tx.execute(_changed(workspace.id, after, upto).limit(most + 1)).all()
    if len(rows) > most:
        return None
    return [
        Change(
            "message",
            moment,
            orjson.dumps({"id": shown[0]} if shown[-1] == DELETED else _show(shown)).decode(),
            is_gone=shown[-1] == DELETED,
            right=_right(channel_id, urn),
        )
        for moment, channel_id, urn, *shown in rows
    ]


def _changed(workspace_id: int, after: datetime, upto: datetime) -> Select[Any]:
    stamps = record_stamp.c
    stamped = [stamps.workspace_id == workspace_id, stamps.kind == message.name, stamps.record == _rows.id]
    between = [stamps.stamped_on > after, stamps.stamped_on <= upto]
    theirs = [_rows.workspace_id == workspace_id, channel.c.id == _rows.channel_id, channel.c.type.in_(CHATS)]
    shown = or_(_is_shown(), _rows.visibility == DELETED)
    columns = (stamps.stamped_on, _rows.channel_id, _rows.urn, *COLUMNS)
    return select(*columns).where(*stamped, *between, *theirs, shown).order_by(stamps.stamped_on, _rows.id)


def _right(channel_id: int, urn: str | None) -> str:
    return f"{channel_id} {urn}"


def acknowledge(
    tx: Transaction, chat: Chat, visitor: Visitor, delivered: Collection[str], read: Collection[str]
) -> None:
    """The visitor's browser has these messages, by UUID, or has shown them. What is not the visitor's changes nothing,
    nor does a repeat.
    """
    source = chat.source
    uuids = sorted({each for each in (*delivered, *read) if is_uuid(each)})
    if not uuids:
        return
    mine = [_rows.workspace_id == source.workspace_id, _rows.contact_id == visitor.contact_id]
    mine += [_rows.channel_id == source.id, _rows.urn == visitor.urn.identity, _rows.direction == OUTGOING]
    mine += [_rows.status.in_(SHOWN)]
    found = tx.execute(select(_rows.id, _rows.uuid).where(*mine, _rows.uuid.in_(uuids)).order_by(_rows.id)).all()
    reports = [DeliveryReport("mt_dlvd", message_id, tx.now) for message_id, _ in found]
    record_delivery_reports(tx, source, reports)
    wanted = set(read)
    shown = [message_id for message_id, uuid in found if uuid in wanted]
    if shown:
        change_messages(tx, source.workspace_id, shown, {"status": READ}, only=_rows.status == DELIVERED)
