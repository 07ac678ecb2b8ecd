"""Bots of Viber, by its REST API: https://developers.viber.com/docs/api/rest-bot-api/."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from channels.calls import (
    JSON_TYPE,
    Answer,
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
    State,
    Status,
    Stopped,
    Unread,
)
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import fetch_linked, linked_file, mapping, moment, word
from channels.signatures import hmac_hex, is_same
from channels.sms import split_text, with_links
from flows.words import cut_between_letters

API_URL = "https://chatapi.viber.com"
TEXT_LENGTH, CAPTION_LENGTH, NAME_LENGTH = 7000, 120, 28
MOST_REPLIES, REPLY_LENGTH = 24, 250
WIDE = 6
"""The columns of a keyboard."""
EVENT_TYPES = ("delivered", "seen", "failed", "subscribed", "unsubscribed", "conversation_started")
STATES: dict[str, State] = {"delivered": "delivered", "seen": "read", "failed": "failed"}
FILES = {
    "picture": "image/jpeg",
    "video": "video/mp4",
    "file": "application/octet-stream",
    "sticker": "image/png",
}
"""What is attached, with the usual media type of each; its URL ends after an hour."""

WRONG_SETTINGS = {2, 7, 8, 9, 10, 15, 18, 23, 24}
"""The token is not valid, or the bot may not send now: everything waits until the owner has done something."""
HAS_STOPPED = {5: "The person does not use Viber any more.", 6: "The person has not subscribed to the bot."}
TOO_MANY = 12
"""For this person or for the bot: Viber does not say which."""
WORDS = {
    11: "The person has no device that shows this message.",
    14: "The person's Viber is too old for this message.",
    21: "Viber does not send to this country.",
}
OTHERS = 25
"""Codes from here on are said to be faults of Viber."""


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """Texts, pictures and places. A short text is the caption of the first picture; Viber wants to know the size of
    other files, so their URLs follow the text. The keyboard is under the last of them."""
    pictures = [each.url for each in message.attachments if each.kind == "image"]
    places = [place for place in (_place(each.url) for each in message.attachments if each.kind == "geo") if place]
    text = with_links(message.text, [each.url for each in message.attachments if each.kind not in ("image", "geo")])
    is_caption = bool(pictures) and len(text) <= CAPTION_LENGTH
    texts = split_text(text, TEXT_LENGTH) if text and not is_caption else []
    parts: list[dict[str, Any]] = [
        *({"type": "text", "text": each} for each in texts),
        *(
            {"type": "picture", "media": url, "text": text if is_caption and number == 0 else ""}
            for number, url in enumerate(pictures)
        ),
        *({"type": "location", "location": place} for place in places),
    ]
    if message.quick_replies and not parts:
        parts = [{"type": "text", "text": ", ".join(each.text for each in message.quick_replies[:MOST_REPLIES])}]
    if message.quick_replies:
        parts[-1]["keyboard"] = _keyboard(message.quick_replies[:MOST_REPLIES])
    name = str(settings.get("sender_name") or message.address)
    common = {"receiver": message.to, "sender": {"name": cut_between_letters(name, NAME_LENGTH)}}
    return [_call(settings, "send_message", common | part) for part in parts]


def _call(settings: Settings, method: str, value: Any) -> Request:
    url = f"{str(settings.get('api_url') or API_URL).rstrip('/')}/pa/{method}"
    return Request.json("POST", url, value, {"X-Viber-Auth-Token": str(settings["auth_token"])})


def _place(text: str) -> dict[str, float]:
    latitude, _, longitude = text.partition(",")
    try:
        return {"lat": float(latitude), "lon": float(longitude)}
    except ValueError:
        return {}


def _keyboard(replies: Sequence[QuickReply]) -> dict[str, Any]:
    texts = [cut_between_letters(each.text, REPLY_LENGTH) for each in replies]
    buttons = [
        {"Columns": WIDE, "Rows": 1, "ActionType": "reply", "ActionBody": each, "Text": each, "Silent": False}
        for each in texts
    ]
    return {"Type": "keyboard", "DefaultHeight": False, "Buttons": buttons}


def accepted(response: Response, settings: Settings) -> Outcome:
    """Viber answers 200 to everything; `status` in the body decides, and 0 is success."""
    said = mapping(response.json())
    status = said.get("status")
    if not response.is_ok or not isinstance(status, int):
        reason = f"Viber answered {response.status}: {response.text[:200]}"
        is_theirs = response.is_ok or response.status == 429 or response.status >= 500
        return Later(reason, response.retry_after, response.status == 429) if is_theirs else Refused(reason)
    if status == 0:
        return Sent(word(said.get("message_token")))
    reason = f"{word(said.get('status_message')) or 'Viber says no'} (Viber's status {status})"
    if status in HAS_STOPPED:
        return Refused(HAS_STOPPED[status], has_stopped=True)
    if status in WRONG_SETTINGS:
        return Later(reason, is_for_all=True)
    if status == TOO_MANY or status >= OTHERS:
        return Later(reason, response.retry_after)
    return Refused(WORDS.get(status, reason))


def events(callback: Callback, settings: Settings) -> Heard:
    """One event. Raises BadSignature, Unread."""
    token = str(settings.get("auth_token") or "")
    given = callback.headers.get("x-viber-content-signature", "").lower()
    if not token or not is_same(given, hmac_hex(token, callback.body)):
        raise BadSignature("X-Viber-Content-Signature is not that of this body and token.")
    told = mapping(callback.json())
    kind, on, token_of_message = word(told.get("event")), moment(told.get("timestamp")), word(told.get("message_token"))
    if not kind:
        raise Unread(f"There is no event; the body begins with {callback.text[:80]!r}.")
    if kind == "message":
        found = _received(mapping(told.get("message")), mapping(told.get("sender")), token_of_message, on)
        return Heard((found,) if found else ())
    if kind in STATES:
        reason = word(told.get("desc")) or "Viber could not deliver it." if kind == "failed" else ""
        return Heard((Status(STATES[kind], token_of_message, on=on, reason=reason),) if token_of_message else ())
    user = mapping(told.get("user"))
    sender, name = word(told.get("user_id")) or word(user.get("id")), word(user.get("name"))
    if not sender:  # "webhook", when Viber is told our URL
        return Heard()
    return _of_person(kind, sender, name, on, word(told.get("context")), settings)


def _of_person(kind: str, sender: str, name: str, on: datetime | None, context: str, settings: Settings) -> Heard:
    """Viber shows the answer to `conversation_started` as welcome, before the person has written anything."""
    extra = {"referrer_id": context} if context else {}
    if kind == "unsubscribed":
        return Heard((Stopped(sender, on),))
    if kind == "subscribed":
        return Heard((Call(sender, "new_conversation", on, name=name, extra=extra),))
    if kind != "conversation_started":
        return Heard()
    found: Event = Call(sender, "welcome_message", on, name=name, extra=extra)
    welcome = str(settings.get("welcome_message") or "")
    if not welcome:
        return Heard((found,))
    said = {"type": "text", "text": welcome, "sender": {"name": str(settings.get("sender_name") or "Bot")}}
    return Heard((found,), Answer(orjson.dumps(said).decode(), JSON_TYPE))


def _received(message: dict[str, Any], sender: dict[str, Any], id_: str, on: datetime | None) -> Received | None:
    kind, url, person = word(message.get("type")), word(message.get("media")), word(sender.get("id"))
    place, contact = mapping(message.get("location")), mapping(message.get("contact"))
    text = word(message.get("text"))
    files = [linked_file(url, FILES[kind])] if kind in FILES and url else []
    if kind == "url":
        text = with_links(text if text != url else "", [url])
    elif kind == "contact":
        text = " ".join(each for each in (word(contact.get("name")), word(contact.get("phone_number"))) if each)
    elif kind == "location" and place:
        files = [Media("geo", url=f"{word(place.get('lat'))},{word(place.get('lon'))}")]
    if not person or not (text or files):
        return None
    return Received(person, text, id_, on, word(sender.get("name")), tuple(files))


def check(settings: Settings) -> Request:
    """What Viber knows of the bot; `status` of the response is 0 if it knows it."""
    return _call(settings, "get_account_info", {})


def connect(settings: Settings, url: str, secret: str) -> Sequence[Request]:
    """Viber calls the URL at once, and takes it if the response is 200."""
    return [_call(settings, "set_webhook", {"url": url, "event_types": EVENT_TYPES, "send_name": True})]


TYPE = ChannelType(
    "viber",
    schemes=("viber",),
    title="Viber",
    help="a bot on Viber",
    settings=(
        Setting("auth_token", "the bot's token", "secret", "--auth-token-file", is_required=True),
        Setting("sender_name", "the name over messages, at most 28 letters; default: the address", "text"),
        Setting("welcome_message", "shown to whoever opens the conversation", "text", is_advanced=True),
        Setting("api_url", f"default: {API_URL}", "url", default=API_URL, is_advanced=True),
    ),
    carries=Carries(length=TEXT_LENGTH, attachments=True, quick_replies=MOST_REPLIES, locations=True),
    rate=10,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
    connect=connect,
    fetch=fetch_linked,
)
