"""The baseline: a bare ASGI application that runs the same queries and builds the same rows in Python."""

import os
import socket
import sys
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import anyio.to_thread
import orjson
import uvicorn
from sqlalchemy import Select, insert, select, tuple_, update

from persistence.database import Database
from persistence.sql.columns import new_uuid, time_text
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import label, message, message_label

PAGE = 250
database = Database(os.environ["RELAYBOARD_DATABASE_URL"])
limiter = anyio.CapacityLimiter(1 if database.sqlite else 4)

COLUMNS = (
    message.c.id,
    message.c.uuid,
    message.c.urn,
    message.c.direction,
    message.c.type,
    message.c.status,
    message.c.visibility,
    message.c.text,
    message.c.attachments,
    message.c.quick_replies,
    message.c.broadcast_id,
    message.c.created_on,
    message.c.sent_on,
    message.c.modified_on,
    contact.c.uuid.label("contact_uuid"),
    contact.c.name.label("contact_name"),
    channel.c.uuid.label("channel_uuid"),
    channel.c.name.label("channel_name"),
)
SOURCE = message.join(contact, contact.c.id == message.c.contact_id).outerjoin(
    channel, channel.c.id == message.c.channel_id
)


def _statement(query: dict[str, str]) -> Select[Any]:
    statement = select(*COLUMNS).select_from(SOURCE).where(message.c.workspace_id == 1)
    if "contact" in query:
        owner = select(contact.c.id).where(contact.c.uuid == query["contact"]).scalar_subquery()
        statement = statement.where(message.c.contact_id == owner)
    if "folder" in query:
        statement = statement.where(message.c.folder == query["folder"])
    if "label" in query:
        wanted = select(label.c.id).where(label.c.uuid == query["label"]).scalar_subquery()
        statement = statement.where(message_label.c.label_id == wanted, message_label.c.message_id == message.c.id)
        return statement.order_by(message_label.c.created_on.desc(), message_label.c.message_id.desc()).limit(PAGE)
    if "after" in query:
        moment, _, number = query["after"].partition("|")
        place = (datetime.fromisoformat(moment), int(number))
        statement = statement.where(tuple_(message.c.created_on, message.c.id) < place)
    return statement.order_by(message.c.created_on.desc(), message.c.id.desc()).limit(PAGE)


def read_page(query: dict[str, str]) -> bytes:
    with database.reading() as tx:
        rows = tx.execute(_statement(query)).all()
        ids = [row.id for row in rows]
        labels: dict[int, list[dict[str, str]]] = {}
        links = select(message_label.c.message_id, label.c.uuid, label.c.name).join(label)
        for message_id, uuid, name in tx.execute(links.where(message_label.c.message_id.in_(ids))):
            labels.setdefault(message_id, []).append({"uuid": uuid, "name": name})
    results = [_record(row, labels.get(row.id, [])) for row in rows]
    return orjson.dumps({"next": None, "previous": None, "results": results})


def _record(row: Any, labels: list[dict[str, str]]) -> dict[str, Any]:
    return {
        "uuid": row.uuid,
        "id": row.id,
        "contact": {"uuid": row.contact_uuid, "name": row.contact_name},
        "urn": row.urn,
        "channel": {"uuid": row.channel_uuid, "name": row.channel_name},
        "direction": row.direction,
        "type": row.type,
        "status": row.status,
        "visibility": row.visibility,
        "archived": row.visibility == "archived",
        "text": row.text,
        "attachments": row.attachments,
        "media": row.attachments[0]["url"] if row.attachments else None,
        "quick_replies": row.quick_replies,
        "labels": labels,
        "flow": None,
        "broadcast": row.broadcast_id,
        "created_on": time_text(row.created_on),
        "sent_on": time_text(row.sent_on) if row.sent_on else None,
        "modified_on": time_text(row.modified_on),
    }


def write_message(body: dict[str, Any]) -> bytes:
    """One outgoing message: the contact, its address and the channels are looked up, the row is read back."""
    with database.writing() as tx:
        found = select(contact.c.id, contact.c.status).where(contact.c.uuid == body["contact"])
        contact_id = tx.execute(found).one().id
        mine = contact_urn.c.contact_id == contact_id
        address = tx.execute(select(contact_urn.c.scheme, contact_urn.c.path).where(mine)).first()
        sender = tx.execute(select(channel.c.id, channel.c.schemes).where(channel.c.workspace_id == 1)).first()
        row = _row("out", contact_id, f"{address.scheme}:{address.path}" if address else None, body["text"])
        tx.execute(insert(message), [{**row, "channel_id": sender.id if sender else None}])
        written = tx.execute(select(*COLUMNS).select_from(SOURCE).where(message.c.uuid == row["uuid"])).one()
        return orjson.dumps(_record(written, []))


def write_sms(reports: list[dict[str, Any]]) -> bytes:
    """Fifty SMS: the channel is locked, owners are looked up, rows written, contacts and the channel touched."""
    with database.writing() as tx:
        tx.execute(select(channel.c.id).where(channel.c.id == 1).with_for_update()).one()
        paths = [report["phone"] for report in reports]
        owners = tx.execute(select(contact_urn.c.path, contact_urn.c.contact_id).where(contact_urn.c.path.in_(paths)))
        known = {path: contact_id for path, contact_id in owners}
        rows = [
            _row("in", known.get(report["phone"]) or 1, f"tel:{report['phone']}", report["msg"]) for report in reports
        ]
        tx.execute(insert(message), [{**row, "channel_id": 1} for row in rows])
        tx.execute(update(contact).where(contact.c.id.in_(set(known.values()))).values(last_seen_on=tx.now))
        tx.execute(update(channel).where(channel.c.id == 1).values(last_seen=tx.now))
    return orjson.dumps({"cmds": [{"cmd": "ack", "p_id": number} for number, _ in enumerate(reports)]})


def _row(direction: str, contact_id: int, urn: str | None, text: str) -> dict[str, Any]:
    now = datetime.now(UTC)
    return {
        "uuid": new_uuid(),
        "workspace_id": 1,
        "contact_id": contact_id,
        "urn": urn,
        "direction": direction,
        "type": "text",
        "status": "queued",
        "visibility": "visible",
        "text": text,
        "attachments": [],
        "quick_replies": [],
        "error_count": 0,
        "created_on": now,
        "modified_on": now,
    }


def _write(document: Any) -> bytes:
    return write_sms(document) if isinstance(document, list) else write_message(document)


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """ASGI: GET gives a page, POST writes one message or a list of them."""
    if scope["type"] != "http":
        return
    if scope["method"] == "GET":
        query = dict(parse_qsl(scope["query_string"].decode()))
        body = await anyio.to_thread.run_sync(read_page, query, limiter=limiter)
    else:
        raw = b""
        while True:
            part = await receive()
            raw += part.get("body", b"")
            if not part.get("more_body"):
                break
        document = orjson.loads(raw)
        body = await anyio.to_thread.run_sync(_write, document, limiter=limiter)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


if __name__ == "__main__":
    config = uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=int(sys.argv[1]))])
