"""SMS and WhatsApp by Vonage. Messages go by its SMS API, or by the Messages API if the settings name an application
(`messages.py`). Webhooks are those of the SMS API or of the Messages API, as the account
chooses for all its numbers. https://developer.vonage.com/en/messaging/sms/overview, https://developer.vonage.com/en/messages/overview.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

from channels.calls import (
    JSON_TYPE,
    BadSignature,
    Callback,
    Event,
    Heard,
    Later,
    Media,
    Message,
    Outcome,
    Received,
    Refused,
    Request,
    Response,
    Sent,
    Settings,
    State,
    Status,
    Unread,
)
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import follow, linked_file, mapping, mappings, moment, word
from channels.signatures import Digest, basic, check_age, check_private_key, hmac_hex, is_same, read_jwt
from channels.sms import cut, is_short, with_links
from channels.vonage.messages import MESSAGES_URL, link, requests_of_application

API_URL = "https://rest.nexmo.com"
SEGMENTS = 10
STATUS = "status"
SIGNED_SECONDS = 25 * 3600.0
"""Vonage repeats a callback for a day, with the time at which it began. A repeat that we know is only one message."""
DIGESTS: dict[int, Digest] = {64: "sha256", 128: "sha512"}
"""By the length of the signature. Shorter ones are of algorithms that are not safe any more."""

# https://developer.vonage.com/en/messaging/sms/guides/troubleshooting-sms
OK, THROTTLED = "0", "1"
WAITS_FOR_OWNER = {"4", "8", "9", "11", "14", "32"}
"""The credentials are wrong, or the account is barred or has no money."""
REPEATS = {"5", "10"}
WORDS = {
    "6": "Vonage knows no way to this number.",
    "7": "The number is on a list of those to which Vonage does not send.",
    "15": "Vonage does not take this sender in the country of the number.",
    "29": "A trial account only sends to numbers that were verified.",
}
FAILURES = {
    "1": "unknown",
    "2": "the person cannot be reached at the moment",
    "3": "the person cannot be reached",
    "4": "the phone cannot take it",
    "5": "the number is barred",
    "6": "the number was ported",
    "7": "refused as unwanted",
    "8": "the phone is busy",
    "9": "a fault of the network",
    "10": "the number is not allowed",
    "11": "a word is not allowed",
    "12": "the network does not take it",
    "13": "the sender is not allowed",
    "14": "the network does not know the sender",
    "15": "the sender is not registered",
    "39": "the sender must be another for the USA",
}
STATES: dict[str, State] = {
    "buffered": "sent",
    "delivered": "delivered",
    "read": "read",
    "expired": "failed",
    "failed": "failed",
    "rejected": "failed",
    "undeliverable": "failed",
}
FILES = {
    "image": "image/jpeg",
    "audio": "audio/ogg",
    "video": "video/mp4",
    "file": "application/octet-stream",
    "sticker": "image/webp",
    "vcard": "text/vcard",
}
"""What comes in, with the usual media type of each; its URL ends after some days."""
OWN_HOSTS = (".nexmo.com", ".vonage.com")
CHOICES = ("reply", "button")


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """A request for each part; files go as links by the SMS API."""
    if settings.get("application_id") or message.scheme == "whatsapp":
        return requests_of_application(message, settings)
    text = with_links(message.text, [link(each) for each in message.attachments])
    return [_request(message, part, settings) for part in cut(text, SEGMENTS)]


def _request(message: Message, text: str, settings: Settings) -> Request:
    values: dict[str, Any] = {
        "from": message.address.lstrip("+"),
        "to": message.to.lstrip("+"),
        "text": text,
        "client-ref": str(message.id),
        "type": "text" if is_short(text) else "unicode",
    }
    if message.callback_url:
        values["callback"] = f"{message.callback_url}{STATUS}/"
    return Request.form("POST", _url(settings) + "/sms/json", values, _authorization(settings))


def _url(settings: Settings) -> str:
    return str(settings.get("api_url") or API_URL).rstrip("/")


def _authorization(settings: Settings) -> dict[str, str]:
    return basic(str(settings["api_key"]), str(settings["api_secret"]))


def accepted(response: Response, settings: Settings) -> Outcome:
    """The SMS API answers 200 to everything, with a status for each segment; the Messages API names the message, or
    says a problem. Whoever asks for the balance gets its value."""
    said = mapping(response.json())
    segments = mappings(said.get("messages"))
    if response.is_ok and "value" in said:
        return Sent()
    if response.is_ok and word(said.get("message_uuid")):
        return Sent(word(said["message_uuid"]))
    if not response.is_ok or not segments:
        problem = ": ".join(filter(None, (word(said.get("title")), word(said.get("detail"))))) or response.text[:200]
        reason = f"Vonage answered {response.status}: {problem}"
        if response.status in (401, 402, 403, 429):
            return Later(reason, response.retry_after, is_for_all=True)
        is_passing = response.is_ok or response.status >= 500
        return Later(reason, response.retry_after) if is_passing else Refused(reason)
    first = segments[0]
    code = word(first.get("status"))
    if code == OK:  # if a later segment was refused, the first is on its way; the whole again would be twice
        return Sent(word(first.get("message-id")))
    reason = f"{WORDS.get(code) or word(first.get('error-text')) or 'Vonage says no.'} (Vonage's status {code})"
    if code == THROTTLED:
        return Later(reason, response.retry_after, is_for_all=True)
    if code in WAITS_FOR_OWNER:
        return Later(reason, is_for_all=True)
    return Later(reason, response.retry_after) if code in REPEATS else Refused(reason)


def events(callback: Callback, settings: Settings) -> Heard:
    """One message or status of either API. Raises BadSignature, Unread."""
    values = mapping(callback.json()) if callback.content_type == JSON_TYPE else callback.values()
    _check_signature(callback, values, settings)
    state = word(values.get("status"))
    id_ = word(values.get("messageId")) or word(values.get("message_uuid"))
    if state:
        return Heard(tuple(_status(values, state.lower(), id_)))
    sender = (word(values.get("msisdn")) or word(values.get("from"))).lstrip("+")
    if not sender or not ({"text", "type", "message_type"} & values.keys()):
        raise Unread(
            f"There is no status and no text of an msisdn; there is {', '.join(sorted(values)[:20]) or 'nothing'}."
        )
    return Heard((_received(values, sender if values.get("channel") == "whatsapp" else f"+{sender}", id_),))


def _received(values: Mapping[str, Any], sender: str, id_: str) -> Received:
    """A text, a file, a place, or what was chosen from buttons and lists."""
    kind, on = word(values.get("message_type")), moment(values.get("message-timestamp") or values.get("timestamp"))
    content = mapping(values.get(kind))
    file, place = (content if kind in FILES else {}), (content if kind == "location" else {})
    text = word(values.get("text")) or word(file.get("caption"))
    if kind in CHOICES:
        text = word(content.get("title")) or word(content.get("text"))
    files = [linked_file(word(file.get("url")), FILES[kind])] if word(file.get("url")) else []
    if word(place.get("lat")) and word(place.get("long")):
        files.append(Media("geo", url=f"{word(place.get('lat'))},{word(place.get('long'))}"))
    payload = (word(content.get("id")) or word(content.get("payload"))) if kind in CHOICES else ""
    name = word(mapping(values.get("profile")).get("name"))
    return Received(sender, text, id_, on, name, tuple(files), payload)


def _status(values: Mapping[str, Any], state: str, id_: str) -> list[Event]:
    """`accepted` and `submitted` say nothing new; a part that has no id of ours has our number of the message."""
    known = STATES.get(state)
    if known is None:
        return []
    error, code = mapping(values.get("error")), word(values.get("err-code"))
    code = code or word(error.get("title"))
    words = word(error.get("detail")) or FAILURES.get(code) or state
    reason = f"Vonage: {words} ({code})" if code not in ("", OK) else f"Vonage: {words}"
    number = word(values.get("client-ref")) or word(values.get("client_ref"))
    on = moment(values.get("message-timestamp") or values.get("timestamp"))
    return [Status(known, id_, number, on, reason if known == "failed" else "")]


def _check_signature(callback: Callback, values: Mapping[str, Any], settings: Settings) -> None:
    """A JSON Web Token with the hash of the body, or the older `sig` among the values: the HMAC of all others in the
    order of their names. https://developer.vonage.com/en/getting-started/concepts/signing-messages"""
    secret = str(settings.get("signature_secret") or "")
    if not secret:
        return
    scheme, _, token = callback.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.count(".") == 2:
        claims = read_jwt(token, secret, callback.now, SIGNED_SECONDS)
        # By GET there is no body, and the token proves nothing of the parameters.
        if not callback.body or not is_same(
            word(claims.get("payload_hash")).lower(), sha256(callback.body).hexdigest()
        ):
            raise BadSignature("The JSON Web Token is not for this body.")
        return
    given = word(values.get("sig")).lower()
    digest = DIGESTS.get(len(given))
    pairs = [(name, word(values[name])) for name in sorted(values) if name != "sig"]
    signed = "".join(f"&{name}={value.replace('&', '_').replace('=', '_')}" for name, value in pairs)
    if digest is None or not is_same(given, hmac_hex(secret, signed.encode(), digest)):
        raise BadSignature("There is neither a JSON Web Token nor a sig by SHA-256 or SHA-512 HMAC of these values.")
    time = word(values.get("timestamp"))
    check_age(
        float(time) if time.isascii() and time.isdecimal() and len(time) < 12 else None, callback.now, SIGNED_SECONDS
    )


def fetch(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """With the account's credentials, to Vonage only. Raises Unread."""
    url = follow(media.reference, responses)
    if url is None:
        return None
    host = urlsplit(url)
    is_own = host.scheme == "https" and (host.hostname or "").endswith(OWN_HOSTS)
    return Request("GET", url, _authorization(settings) if is_own else {})


def check(settings: Settings) -> Request:
    """The balance of the account."""
    return Request("GET", _url(settings) + "/account/get-balance", _authorization(settings))


TYPE = ChannelType(
    "vonage",
    schemes=("tel", "whatsapp"),
    title="Vonage",
    help="SMS by numbers and sender names of Vonage, and WhatsApp",
    settings=(
        Setting("api_key", "of the account", is_required=True),
        Setting("api_secret", "of the account", "secret", "--api-secret-file", is_required=True),
        Setting("signature_secret", "of the account, if its webhooks are signed", "secret", "--signature-secret-file"),
        Setting("application_id", "send by this application of the Messages API; default: SMS by the SMS API"),
        Setting(
            "private_key",
            "of that application; default: the account's key and secret",
            "secret",
            "--private-key-file",
            check=check_private_key,
        ),
        Setting(
            "messages_url",
            f"of the Messages API; default: {MESSAGES_URL}",
            "url",
            default=MESSAGES_URL,
            is_advanced=True,
        ),
        Setting("api_url", f"default: {API_URL}", "url", default=API_URL, is_advanced=True),
    ),
    carries=Carries(length=SEGMENTS, is_sms=True, attachments=True),
    rate=30,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
    fetch=fetch,
)
