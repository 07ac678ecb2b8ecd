"""What the platforms of Meta share: webhooks that are signed with the app's secret, and, for Messenger and Instagram,
the Send API and the events of conversations. https://developers.facebook.com/documentation/business-messaging/
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from channels.calls import (
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
    Status,
    Unread,
)
from channels.declaration import Setting
from channels.reading import linked_file, mapping, mappings, moment, word
from channels.signatures import hmac_hex, is_same
from channels.sms import with_links
from flows.words import cut_between_letters

VERSION = "v23.0"
WINDOW_HOURS = 24
LONGEST_CHALLENGE = 200
MOST_REPLIES, TITLE_LENGTH, PAYLOAD_LENGTH = 13, 20, 1000
GET_STARTED = "get_started"
FILES = {"image": "image/jpeg", "audio": "audio/mp4", "video": "video/mp4", "file": "application/octet-stream"}
"""What can be attached, with the usual media type of each."""
STORIES = ("share", "story_mention", "ig_reel", "reel", "ig_post")
"""Attachments of Instagram that are pictures or films of others."""
REFERRAL = {"referrer_id": "ref", "source": "source", "type": "type", "ad_id": "ad_id"}

# https://developers.facebook.com/docs/graph-api/guides/error-handling
SIGN_IN = {3, 10, 102, 190, *range(200, 300)}
"""The token is not valid, or may not do this: everything waits until the owner has given another."""
LIMITS = {4, 17, 32, 368, 613, 80002, 80006}
"""The limits of the app and the page, and a page that may not write for a time."""
REPEATS = {-1, 1, 2, 1200}
WINDOW = {2018278, 2534022}
GONE, IS_AWAY = 551, 1545041
"""The person has blocked the page, or does not exist any more."""
WORDS = {
    GONE: "The person cannot be written to: the account is blocked or gone.",
    2018001: "There is no such person at this page.",
}


def api_settings(url: str) -> tuple[Setting, Setting]:
    """The settings that say where the Graph API is."""
    return (
        Setting("api_version", f"of the Graph API; default: {VERSION}", default=VERSION, is_advanced=True),
        Setting("api_url", f"of the Graph API; default: {url}", "url", default=url, is_advanced=True),
    )


def graph(settings: Settings, default: str) -> str:
    """The URL of the Graph API with its version."""
    return f"{str(settings.get('api_url') or default).rstrip('/')}/{settings.get('api_version') or VERSION}"


def signed_in(settings: Settings) -> dict[str, str]:
    """The header that contains the access token."""
    return {"Authorization": f"Bearer {settings['access_token']}"}


def challenge(callback: Callback) -> Heard:
    """The answer when Meta asks by GET whether the URL is ours: it was told the channel's secret as verify token.
    Raises BadSignature, Unread."""
    query = callback.query
    if not is_same(query.get("hub.verify_token", ""), callback.secret):
        raise BadSignature("The verify token is not the channel's secret.")
    asked = query.get("hub.challenge", "")
    if query.get("hub.mode") != "subscribe" or not asked or len(asked) > LONGEST_CHALLENGE:
        raise Unread("A question whether the URL is ours has hub.mode=subscribe and hub.challenge.")
    return Heard(answer=Answer(asked))


def check_signature(callback: Callback, settings: Settings) -> None:
    """Raises BadSignature."""
    secret = str(settings.get("app_secret") or "")
    given = callback.headers.get("x-hub-signature-256", "")
    if not secret or not is_same(given, "sha256=" + hmac_hex(secret, callback.body)):
        raise BadSignature("X-Hub-Signature-256 is not that of this body and app secret.")


def send(message: Message, texts: Sequence[str], url: str, settings: Settings) -> list[Request]:
    """Files and texts as they go out one after the other; quick replies are under the last text."""
    files = [_file(each.kind, each.url) for each in message.attachments if each.kind != "geo"]
    replies = [_reply(each) for each in message.quick_replies[:MOST_REPLIES]]
    parts: list[dict[str, Any]] = [{"text": each} for each in texts]
    if replies:
        parts = parts or [{"text": ", ".join(each.text for each in message.quick_replies[:MOST_REPLIES])}]
        parts[-1]["quick_replies"] = replies
    common = {"recipient": {"id": message.to}, "messaging_type": "RESPONSE"}
    return [Request.json("POST", url, common | {"message": part}, signed_in(settings)) for part in [*files, *parts]]


def text_of(message: Message) -> str:
    """The text with places as links, which are the only attachments that do not go as files."""
    places = [f"https://maps.google.com/?q={each.url}" for each in message.attachments if each.kind == "geo"]
    return with_links(message.text, places)


def _file(kind: str, url: str) -> dict[str, Any]:
    return {"attachment": {"type": kind if kind in FILES else "file", "payload": {"url": url}}}


def _reply(reply: QuickReply) -> dict[str, str]:
    """The payload is the whole text: whoever chooses it has said that, also where its title is cut."""
    title = cut_between_letters(reply.text, TITLE_LENGTH)
    return {"content_type": "text", "title": title, "payload": cut_between_letters(reply.text, PAYLOAD_LENGTH)}


def accepted(response: Response, settings: Settings) -> Outcome:
    """Success names the message. Errors have a code, which decides."""
    said = mapping(response.json())
    if response.is_ok and not said.get("error") and not response.is_page:
        return Sent(word(said.get("message_id")))
    error = mapping(said.get("error"))
    code, detail = (each if isinstance(each, int) else None for each in (error.get("code"), error.get("error_subcode")))
    text = word(error.get("message")) or response.text[:200]
    reason = f"{text} (Meta's error {code})" if code is not None else f"Meta answered {response.status}: {text}"
    if code == GONE or detail == IS_AWAY:
        return Refused(WORDS[GONE], has_stopped=True)
    if detail in WINDOW:
        return Refused("More than 24 hours have passed since the person last wrote.")
    if code in SIGN_IN:
        return Later(f"The access token does not work: {reason}", response.retry_after, is_for_all=True)
    if code in LIMITS or response.status == 429:
        return Later(reason, response.retry_after, is_for_all=True)
    is_passing = response.is_page or response.status >= 500
    if code in REPEATS or error.get("is_transient") is True or is_passing:
        return Later(reason, response.retry_after)
    return Refused(WORDS.get(detail or 0, reason))


def hear(callback: Callback, settings: Settings, kind: str, own_id: str) -> Heard:
    """The events of one page or account; Meta has one URL for all that an app serves, and calls it for each. Raises
    BadSignature, Unread."""
    if callback.method == "GET":
        return challenge(callback)
    check_signature(callback, settings)
    told = mapping(callback.json())
    if told.get("object") != kind:
        raise Unread(f"This is no call for the object {kind}; it begins with {callback.text[:80]!r}.")
    ours = [entry for entry in mappings(told.get("entry")) if word(entry.get("id")) == own_id]
    return Heard(tuple(found for entry in ours for each in mappings(entry.get("messaging")) for found in _read(each)))


def _read(event: dict[str, Any]) -> Iterator[Event]:
    sender, on = word(mapping(event.get("sender")).get("id")), moment(event.get("timestamp"))
    message, postback = mapping(event.get("message")), mapping(event.get("postback"))
    delivery, read = mapping(event.get("delivery")), mapping(event.get("read"))
    if not sender:  # a person at a form of the page, who has no conversation yet
        return
    if message:
        yield from _message(message, sender, on)
    elif postback:
        yield _postback(postback, sender, on)
    elif event.get("referral"):
        yield Call(sender, "referral", on, extra=_referral(event))
    elif delivery:
        mids = delivery.get("mids")
        delivered_on = moment(delivery.get("watermark"))
        yield from (
            Status("delivered", word(each), on=delivered_on) for each in (mids if isinstance(mids, list) else ())
        )
    elif word(read.get("mid")):  # Messenger names no message, only a time
        yield Status("read", word(read["mid"]), on=on)


def _message(message: dict[str, Any], sender: str, on: datetime | None) -> Iterator[Event]:
    """Echoes are what the page itself has sent. What was taken back or cannot be shown is empty."""
    if message.get("is_echo") or message.get("is_deleted"):
        return
    if message.get("referral"):
        yield Call(sender, "referral", on, extra=_referral(message))
    text, payload = word(message.get("text")), word(mapping(message.get("quick_reply")).get("payload"))
    attachments = mappings(message.get("attachments"))
    files = tuple(file for each in attachments for file in _files(each))
    links = [word(mapping(each.get("payload")).get("url")) or word(each.get("url")) for each in attachments]
    said = (payload if text and payload.startswith(text) else text) or ("" if files else "\n".join(filter(None, links)))
    if said or files:
        yield Received(sender, said, word(message.get("mid")), on, attachments=files, payload=payload)


def _files(attachment: dict[str, Any]) -> list[Media]:
    kind, payload = word(attachment.get("type")), mapping(attachment.get("payload"))
    place, url = mapping(payload.get("coordinates")), word(payload.get("url"))
    if place:
        return [Media("geo", url=f"{word(place.get('lat'))},{word(place.get('long'))}")]
    usual = FILES.get(kind, FILES["file"])
    return [linked_file(url, usual)] if url and (kind in FILES or kind in STORIES) else []


def _postback(postback: dict[str, Any], sender: str, on: datetime | None) -> Event:
    """A button of a menu says its title. That of the welcome screen begins the conversation."""
    payload = word(postback.get("payload"))
    if payload == GET_STARTED:
        return Call(sender, "new_conversation", on, extra=_referral(postback))
    return Received(sender, word(postback.get("title")) or payload, word(postback.get("mid")), on, payload=payload)


def _referral(event: dict[str, Any]) -> dict[str, str]:
    given = mapping(event.get("referral"))
    return {ours: word(given.get(theirs)) for ours, theirs in REFERRAL.items() if word(given.get(theirs))}
