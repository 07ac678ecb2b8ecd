"""Local servers that play providers, in their documented shapes, and channels that call them."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import select

from channels.signatures import hmac_hex
from channels.telegram import secret_token
from persistence.channels.channels import create_gateway
from persistence.database import Database
from persistence.tables.channels import channel
from persistence.workspaces.records import Workspace
from testbed.gateways import SECRET
from tests.worker.receivers import Received, Receiver, Reply

TOKEN, APP_SECRET = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "a1b2c3d4e5f60718293a4b5c6d7e8f90"
NUMBER_ID, ACCOUNT_ID = "106540352242922", "102290129340398"
PICTURE = b"\xff\xd8\xff\xe0 a picture"
JPEG = {"Content-Type": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel of a provider: its row, and the path that the provider calls."""

    id: int
    uuid: str
    path: str


def json_reply(value: Any, status: int = 200, **headers: str) -> Reply:
    return Reply(status, orjson.dumps(value), {"Content-Type": "application/json", **headers})


def root_of(receiver: Receiver) -> str:
    return receiver.url.removesuffix("/hook")


def add_telegram(database: Database, workspace: Workspace, receiver: Receiver, address: str = "clinic_bot") -> Channel:
    config = {"auth_token": TOKEN, "api_url": root_of(receiver)}
    return _add(database, workspace, "telegram", address, config)


def add_whatsapp(database: Database, workspace: Workspace, receiver: Receiver) -> Channel:
    config = {
        "phone_number_id": NUMBER_ID,
        "business_account_id": ACCOUNT_ID,
        "access_token": "EAAJB-token",
        "app_secret": APP_SECRET,
        "api_url": root_of(receiver),
    }
    return _add(database, workspace, "whatsapp", "250788000001", config)


def _add(database: Database, workspace: Workspace, kind: str, address: str, config: dict[str, Any]) -> Channel:
    with database.writing() as tx:
        options: dict[str, Any] = {"schemes": [kind], "country": "RW", "config": config, "secret": SECRET}
        uuid = create_gateway(tx, workspace.id, kind, name=kind.title(), address=address, **options)
        channel_id = tx.execute(select(channel.c.id).where(channel.c.uuid == uuid)).scalar_one()
    return Channel(int(channel_id), uuid, f"/c/{kind}/{uuid}/{SECRET}/")


def telegram_update(number: int, **message: Any) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of an update with a message of Ann."""
    common = {"message_id": number, "from": {"id": 501, "first_name": "Ann"}, "chat": {"id": 501, "type": "private"}}
    body = orjson.dumps({"update_id": number, "message": common | {"date": 1772366400} | message})
    return body, {"X-Telegram-Bot-Api-Secret-Token": secret_token(SECRET), "Content-Type": "application/json"}


def whatsapp_change(**value: Any) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a call about our number."""
    about = {"messaging_product": "whatsapp", "metadata": {"phone_number_id": NUMBER_ID}}
    change = {"field": "messages", "value": about | value}
    body = orjson.dumps({"object": "whatsapp_business_account", "entry": [{"id": ACCOUNT_ID, "changes": [change]}]})
    return body, {"X-Hub-Signature-256": "sha256=" + hmac_hex(APP_SECRET, body), "Content-Type": "application/json"}


def whatsapp_message(number: str, **content: Any) -> tuple[bytes, dict[str, str]]:
    """A message of Ann, such as `text={"body": "Hi"}`."""
    (kind,) = content
    message = {"from": "250788123123", "id": number, "timestamp": "1772366400", "type": kind, **content}
    contacts = [{"profile": {"name": "Ann"}, "wa_id": "250788123123"}]
    return whatsapp_change(contacts=contacts, messages=[message])


@dataclass(slots=True)
class Provider:
    """Answers as Telegram and as WhatsApp do; `answers` has other answers by the end of the path, to be used up first,
    one after the other. `templates` are those of the account, `calls` what was sent by the end of its path."""

    answers: dict[str, list[Reply]] = field(default_factory=dict)
    templates: list[dict[str, Any]] = field(default_factory=list)
    file: Callable[[], Reply] = lambda: Reply(200, PICTURE, JPEG)
    calls: list[tuple[str, Any]] = field(default_factory=list)
    root: str = ""

    def __call__(self, request: Received) -> Reply:
        path = request.path.partition("?")[0]
        method = path.rpartition("/")[2]
        if request.body:
            self.calls.append((method, orjson.loads(request.body)))
        if self.answers.get(method):
            return self.answers[method].pop(0)
        return self._telegram(path, method) if "/bot" in path else self._whatsapp(path, method)

    def _telegram(self, path: str, method: str) -> Reply:
        if path.startswith("/file/"):
            return self.file()
        if method == "getFile":
            return json_reply({"ok": True, "result": {"file_id": "f", "file_path": "photos/file_1.jpg"}})
        number = 1000 + len(self.calls)
        return json_reply({"ok": True, "result": {"message_id": number, "chat": {"id": 501, "type": "private"}}})

    def _whatsapp(self, path: str, method: str) -> Reply:
        if method == "messages":
            return json_reply({"messaging_product": "whatsapp", "messages": [{"id": f"wamid.{len(self.calls)}"}]})
        if method == "message_templates":
            return json_reply({"data": self.templates})
        if re.fullmatch(r"/v[0-9.]+/[0-9]+", path):
            return json_reply({"url": f"{self.root}/attachments/1", "mime_type": "image/jpeg"})
        return self.file()
