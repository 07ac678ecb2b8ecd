"""Bots of Telegram, by the Bot API: https://core.telegram.org/bots/api."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from channels.calls import (
    Attachment,
    BadSignature,
    Call,
    Callback,
    Event,
    Heard,
    Later,
    Media,
    Message,
    Outcome,
    QuickReply,
    Received,
    Refused,
    Request,
    Response,
    Sent,
    Settings,
    Stopped,
    Unread,
)
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import mapping, mappings, moment, path_of, word
from channels.signatures import hmac_hex, is_same
from channels.sms import split_text, with_links

API = "https://api.telegram.org"
TEXT_LENGTH, CAPTION_LENGTH = 4096, 1024
MOST_REPLIES = 100
WIDE_REPLY = 16
"""Replies up to this length stand two in a row."""
UPDATES = ("message", "my_chat_member")
BY_URL = ("application/pdf", "application/zip")
"""The documents that Telegram fetches by their URL."""
CHAT, NUMBER = re.compile(rb'"chat":\{"id":(-?[0-9]+)'), re.compile(rb'"message_id":([0-9]+)')
MARKS_OF_BLOCKING = ("blocked by the user",)


def requests(message: Message, settings: Settings) -> list[Request]:
    """The texts and files of a message. A short text is the caption of the first file."""
    geo = [each for each in message.attachments if each.kind == "geo"]
    files = [(each, _way_of(each)) for each in message.attachments if each.kind != "geo"]
    text = with_links(message.text, (each.url for each, way in files if way is None))
    sendable = [(each, way) for each, way in files if way is not None]
    is_caption = bool(sendable) and 0 < len(text) <= CAPTION_LENGTH
    parts: list[tuple[str, dict[str, Any]]] = []
    if text and not is_caption:
        parts += [("sendMessage", {"text": each}) for each in split_text(text, TEXT_LENGTH)]
    for number, (each, (method, field)) in enumerate(sendable):
        parts.append((method, {field: each.url} | ({"caption": text} if is_caption and number == 0 else {})))
    parts += [("sendLocation", place) for place in map(_place, geo) if place]
    if not parts:
        return []
    parts[-1][1]["reply_markup"] = _keyboard(message.quick_replies)
    return [Request.json("POST", _url(settings, method), {"chat_id": message.to} | body) for method, body in parts]


def _url(settings: Settings, method: str) -> str:
    return f"{_api(settings)}/bot{settings['auth_token']}/{method}"


def _api(settings: Settings) -> str:
    return str(settings.get("api_url") or API).rstrip("/")


def _way_of(file: Attachment) -> tuple[str, str] | None:
    """The method that sends a file and the field of its URL; None for what Telegram does not fetch by URL."""
    if file.content_type == "image/gif":
        return "sendAnimation", "animation"
    if file.kind == "image" and file.content_type != "image/svg+xml":
        return "sendPhoto", "photo"
    if file.content_type in ("audio/ogg", "audio/opus"):
        return "sendVoice", "voice"
    if file.kind in ("audio", "video"):
        return f"send{file.kind.title()}", file.kind
    is_fetched = file.content_type in BY_URL or path_of(file.url).lower().endswith((".pdf", ".zip"))
    return ("sendDocument", "document") if is_fetched else None


def _place(geo: Attachment) -> dict[str, Any]:
    latitude, _, longitude = geo.url.partition(",")
    try:
        return {"latitude": float(latitude), "longitude": float(longitude)}
    except ValueError:
        return {}


def _keyboard(replies: Sequence[QuickReply]) -> dict[str, Any]:
    """Buttons in place of the keyboard, until one is chosen; a message without any takes those of an earlier one
    away."""
    rows: list[list[dict[str, Any]]] = []
    for reply in replies[:MOST_REPLIES]:
        button: dict[str, Any] = {"text": reply.text}
        if reply.kind == "location":
            button["request_location"] = True
        is_short = len(reply.text) <= WIDE_REPLY
        if rows and len(rows[-1]) == 1 and is_short and len(rows[-1][0]["text"]) <= WIDE_REPLY:
            rows[-1].append(button)
        else:
            rows.append([button])
    if not rows:
        return {"remove_keyboard": True}
    return {"keyboard": rows, "one_time_keyboard": True, "resize_keyboard": True}


def accepted(response: Response, settings: Settings) -> Outcome:
    """Success is `ok` with the message. A response that is cut off is read as far as it goes."""
    said = mapping(response.json())
    if response.is_ok and (said.get("ok") is True or response.body.lstrip().startswith(b'{"ok":true')):
        chat, number = CHAT.search(response.body), NUMBER.search(response.body)
        found = mapping(said.get("result"))
        chat_id = word(mapping(found.get("chat")).get("id")) or (chat[1].decode() if chat else "")
        message_id = word(found.get("message_id")) or (number[1].decode() if number else "")
        return Sent(f"{chat_id}:{message_id}" if message_id else "")
    reason = word(said.get("description")) or f"HTTP {response.status}"
    if response.status == 429:
        after = mapping(said.get("parameters")).get("retry_after")
        return Later(reason, float(after) if isinstance(after, int | float) else None, is_for_all=True)
    if response.status in (401, 404):
        return Later(f"Telegram does not know the bot's token: {reason}", is_for_all=True)
    if response.status in (400, 403) and said:
        return Refused(reason, has_stopped=any(mark in reason for mark in MARKS_OF_BLOCKING))
    return Later(reason)


def events(callback: Callback, settings: Settings) -> Heard:
    """One update: a message of a person, or that a person blocked the bot. Groups and edited messages are no
    conversation with a person."""
    given = callback.headers.get("x-telegram-bot-api-secret-token", "")
    if not is_same(given, secret_token(callback.secret)):
        raise BadSignature
    update = callback.json()
    if not isinstance(update, dict) or "update_id" not in update:
        raise Unread(f"This is no update of Telegram; it begins with {callback.text[:80]!r}.")
    change = mapping(update.get("my_chat_member"))
    message = mapping(update.get("message"))
    chat = mapping((message or change).get("chat"))
    sender = word(chat.get("id"))
    if chat.get("type") != "private" or not sender.isdecimal():
        return Heard()
    if change:
        has_left = mapping(change.get("new_chat_member")).get("status") == "kicked"
        return Heard((Stopped(sender, moment(change.get("date"))),) if has_left else ())
    return Heard(tuple(_said(message, sender, moment(message.get("date")))))


def _said(message: dict[str, Any], sender: str, on: datetime | None) -> list[Event]:
    person = mapping(message.get("from"))
    name = " ".join(each for each in map(word, (person.get("first_name"), person.get("last_name"))) if each)
    text = word(message.get("text")) or word(message.get("caption")) or _told(message)
    command, _, referrer = text.partition(" ")
    if command == "/start":
        extra = {"referrer_id": referrer.strip()} if referrer.strip() else {}
        return [Call(sender, "new_conversation", on, name=name, extra=extra)]
    files = tuple(_files(message))
    if not text and not files:
        return []
    return [Received(sender, text, f"{sender}:{word(message.get('message_id'))}", on, name, files)]


def _told(message: dict[str, Any]) -> str:
    """What is neither text nor file as text: a contact, the name of a place, a sticker without a picture."""
    contact, venue = mapping(message.get("contact")), mapping(message.get("venue"))
    number = word(contact.get("phone_number"))
    sticker = mapping(message.get("sticker"))
    parts = [
        "" if _sticker(sticker) else word(sticker.get("emoji")),
        *(word(contact.get(name)) for name in ("first_name", "last_name")),
        f"+{number.lstrip('+')}" if number else "",
        ", ".join(each for each in map(word, (venue.get("title"), venue.get("address"))) if each),
    ]
    return " ".join(each for each in parts if each)


def _files(message: dict[str, Any]) -> list[Media]:
    place, sticker = mapping(message.get("location")), mapping(message.get("sticker"))
    if place:
        return [Media("geo", url=f"{word(place.get('latitude'))},{word(place.get('longitude'))}")]
    if sticker:
        return _sticker(sticker)
    photos = mappings(message.get("photo"))
    if photos:
        largest = max(photos, key=lambda each: _number(each.get("width")) * _number(each.get("height")))
        return _file(largest, "image/jpeg")
    for name, usual in (
        ("animation", "video/mp4"),
        ("voice", "audio/ogg"),
        ("audio", "audio/mpeg"),
        ("video", "video/mp4"),
        ("video_note", "video/mp4"),
        ("document", "application/octet-stream"),
    ):
        found = mapping(message.get(name))
        if found:
            return _file(found, word(found.get("mime_type")) or usual)
    return []


def _sticker(sticker: dict[str, Any]) -> list[Media]:
    """An animated one is a program for a picture that nothing else shows: its still picture stands for it."""
    if sticker.get("is_animated"):
        return _file(mapping(sticker.get("thumbnail")), "image/webp")
    return _file(sticker, "video/webm" if sticker.get("is_video") else "image/webp")


def _file(found: dict[str, Any], content_type: str) -> list[Media]:
    reference = word(found.get("file_id"))
    return [Media(content_type, reference=reference)] if reference else []


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


def secret_token(secret: str) -> str:
    """What Telegram sends in a header of each update, of the characters that it allows."""
    return hmac_hex(secret, b"telegram")


def check(settings: Settings) -> Request:
    """What Telegram knows of the bot."""
    return Request("GET", _url(settings, "getMe"))


def connect(settings: Settings, url: str, secret: str) -> list[Request]:
    """Asks for the updates that we read, at our URL."""
    wanted = {"url": url, "secret_token": secret_token(secret), "allowed_updates": UPDATES}
    return [Request.json("POST", _url(settings, "setWebhook"), wanted)]


def fetch(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """The path of the file by its id, then the file. Raises Unread for a response without a path."""
    if not responses:
        return Request("GET", f"{_url(settings, 'getFile')}?file_id={quote(media.reference, safe='')}")
    if len(responses) > 1:
        return None
    path = word(mapping(mapping(responses[0].json()).get("result")).get("file_path"))
    if not path:
        raise Unread("The response to getFile has no file_path.")
    if path.startswith("/"):
        raise Unread("The Bot API server runs with --local and does not serve files.")
    return Request("GET", f"{_api(settings)}/file/bot{settings['auth_token']}/{quote(path)}")


TYPE = ChannelType(
    "telegram",
    schemes=("telegram",),
    title="Telegram",
    help="a bot on Telegram, free of charge and made in five minutes",
    settings=(
        Setting("auth_token", "the token of the bot, from BotFather", "secret", "--token-file", is_required=True),
        Setting("api_url", "of a Bot API server of your own", "url", default=API, is_advanced=True),
    ),
    carries=Carries(TEXT_LENGTH, attachments=True, quick_replies=MOST_REPLIES, locations=True),
    rate=25,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
    connect=connect,
    fetch=fetch,
)
