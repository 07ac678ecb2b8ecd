"""The conversation of a visitor of a site: what it reads, writes and acknowledges (`openapi/chat/`)."""

from collections.abc import AsyncIterator
from typing import Any

import orjson

from handlers.answers import Answer, as_json, no_content
from handlers.asgi.plain_responses import Refusal
from handlers.asgi.uploads import describe_upload
from handlers.chat.visits import scope_of_address, spend
from handlers.listeners import MOST_CHANGES, Listeners, read_position
from handlers.request import ChatRequest
from persistence.channels.visitors import (
    Blocked,
    Chat,
    Visitor,
    acknowledge,
    has_received,
    list_messages,
    read_visitor_changes,
    receive,
)
from persistence.errors import InvalidInput
from persistence.media.store import add_media
from persistence.relayers.commands import clean_text
from persistence.sql.columns import time_text
from persistence.stream import read_clocks
from persistence.workspaces.records import Workspace

ADDRESS_FACTOR = 10
"""How many times the messages of one visitor an address may send: an office is one address."""
CHANNEL_SHARE, ADDRESS_SHARE = 3 / 4, 1 / 10
"""Of a workspace's places for streams: there are always some for another channel, and for who comes from elsewhere."""


def list_conversation(request: ChatRequest, earlier_than: str | None = None, position: str | None = None) -> Answer:
    """The latest messages, those before one, or those that changed after a position, which are the latest ones if so
    much or nobody knows what has changed since."""
    tx, chat, visitor, workspace = request.tx, request.chat, request.known_visitor, request.workspace
    clock = read_clocks(tx, [workspace.id]).get(workspace.id, tx.now)
    asked = read_position(position or "", clock)
    changes = None if asked is None else read_visitor_changes(tx, workspace, asked, clock, MOST_CHANGES)
    if changes is not None:
        theirs = [each.record for each in changes if each.right == visitor.listens_to(chat)]
        results, has_more = [orjson.loads(each) for each in theirs], False
    else:
        results, has_more = list_messages(tx, chat, visitor, earlier_than)
    return as_json(
        200,
        {"results": results, "has_more": has_more, "is_whole": changes is None, "position": time_text(clock)},
    )


def write_message(request: ChatRequest) -> Answer:
    text = clean_text(request.body["text"]).strip()
    if not text:
        raise InvalidInput.on("text", "A value is required.")
    return _store(request, request.body["key"], text)


def send_file(request: ChatRequest, key: str | None = None) -> Answer:
    """A file as a message of its own; of a repeat nothing is kept."""
    upload, chat = request.media, request.chat
    if key is None:
        raise InvalidInput.on("key", "A value is required.")
    assert upload is not None, "the contract has no other body"
    if has_received(request.tx, chat, request.known_visitor, key):
        return _store(request, key, "")
    file = describe_upload(upload, request.workspace.uuid, request.stored_root)
    quota_bytes = request.settings.media_quota_bytes
    add_media(request.tx, request.workspace.id, upload.uuid, size=upload.size, quota_bytes=quota_bytes, **file)
    return _store(request, key, "", ({"content_type": file["content_type"], "url": file["url"]},))


def _store(request: ChatRequest, key: str, text: str, files: tuple[dict[str, str], ...] = ()) -> Answer:
    tx, chat, visitor = request.tx, request.chat, request.known_visitor
    if not has_received(tx, chat, visitor, key):
        spend(request, f"visitor{visitor.id}")
        spend(request, scope_of_address(request, "messages"), ADDRESS_FACTOR)
    try:
        shown: dict[str, Any] = receive(tx, chat, visitor, key, text, files)
    except Blocked as error:
        raise Refusal(409, "Nobody reads what is written here.") from error
    return as_json(201, shown)


def acknowledge_messages(request: ChatRequest) -> Answer:
    delivered, read = request.body.get("delivered", []), request.body.get("read", [])
    acknowledge(request.tx, request.chat, request.known_visitor, delivered, read)
    return no_content()


def follow_conversation(
    listeners: Listeners, workspace: Workspace, chat: Chat, visitor: Visitor, address: str, last_id: str | None
) -> AsyncIterator[bytes]:
    """The events of a visitor. Raises Refusal: 429 without a place; the browser asks again and again then."""
    channel_id, most = chat.source.id, listeners.most_of_workspace
    circles = {
        f"{channel_id}": max(1, int(most * CHANNEL_SHARE)),
        f"{channel_id} {address}": max(1, int(most * ADDRESS_SHARE)),
    }
    return listeners.open(workspace, [visitor.listens_to(chat)], last_id, circles)
