"""SMS, MMS and WhatsApp by Twilio: its Messages resource of 2010-04-01, and webhooks with `X-Twilio-Signature`."""

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from types import MappingProxyType
from urllib.parse import urlsplit

from channels.calls import (
    JSON_TYPE,
    Answer,
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
    Stopped,
    Unread,
)
from channels.declaration import Carries, ChannelType, Setting
from channels.reading import follow, mapping, word
from channels.signatures import hmac_base64, is_same
from channels.sms import cut, split_text, with_links
from channels.twilio.templates import CONTENT_URL, fill, page_url, read_page

API_URL = "https://api.twilio.com"
VERSION = "2010-04-01"
SEGMENTS, WHATSAPP_LENGTH = 10, 1600
"""Twilio takes 1600 characters, which are a little more than ten segments."""
MOST_FILES = 10
WHATSAPP = "whatsapp:"
STATUS = "status"
Content = Mapping[str, str | Sequence[str]]
"""The fields of a message beside its addresses."""
NOTHING: Content = MappingProxyType({})
NO_REPLY = Answer("<Response/>", "text/xml")

# https://www.twilio.com/docs/api/errors
HAS_STOPPED = "21610"
TRY_LATER = {
    "14107": "Twilio's limit for this account is reached.",
    "20429": "Twilio takes no more requests at the moment.",
    "21611": "Too many messages of this sender wait at Twilio.",
    "63018": "WhatsApp takes no more messages of this sender at the moment.",
}
WRONG_SETTINGS = ("20003", "20005")
WORDS = {
    "30001": "Too many messages of this sender wait.",
    "30002": "The account is suspended.",
    "30003": "The phone cannot be reached: it is off, or not on this network.",
    "30004": "The person or the network does not accept the message.",
    "30005": "The number does not exist, or is not in use any more.",
    "30006": "The number is a landline, or its network takes no SMS.",
    "30007": "The network takes the message for unwanted.",
    "30008": "The network does not say why.",
    "30034": "The sender is not registered for the USA.",
    "63003": "The person has no WhatsApp.",
    "63016": "More than 24 hours have passed since the person last wrote: only a template may be sent.",
    "63024": "The person cannot be written to by WhatsApp.",
}
"""For statuses, which mostly have the code alone."""
STATES: dict[str, State] = {
    "sent": "sent",
    "delivered": "delivered",
    "read": "read",
    "undelivered": "failed",
    "failed": "failed",
    "canceled": "failed",
}


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """A template, or texts and files. Files go with the first part if the channel is for WhatsApp or MMS; their URLs
    follow the text otherwise."""
    if message.template is not None:
        return [_request(message, settings, fill(message.template))]
    files = [each.url for each in message.attachments if each.kind != "geo"]
    places = [f"https://maps.google.com/?q={each.url}" for each in message.attachments if each.kind == "geo"]
    is_whatsapp = message.scheme == "whatsapp"
    media = files[:MOST_FILES] if is_whatsapp or settings.get("has_mms") else []
    text = with_links(message.text, [*places, *files[len(media) :]])
    # WhatsApp takes one file in a message.
    bundles = [[url] for url in media] if is_whatsapp else [media] if media else []
    texts = (split_text(text, WHATSAPP_LENGTH) if is_whatsapp else cut(text, SEGMENTS)) if text else []
    bodies: list[Content] = [{"Body": each} for each in texts]
    media_urls: list[Content] = [{"MediaUrl": each} for each in bundles]
    parts = zip_longest(bodies, media_urls, fillvalue=NOTHING)
    return [_request(message, settings, {**body, **urls}) for body, urls in parts]


def _request(message: Message, settings: Settings, content: Content) -> Request:
    values = {"To": _address(message.to, message.scheme), **content}
    if settings.get("messaging_service_sid"):
        values["MessagingServiceSid"] = str(settings["messaging_service_sid"])
    else:
        values["From"] = _address(message.address, message.scheme)
    if message.callback_url:
        values["StatusCallback"] = f"{message.callback_url}{STATUS}/"
    return Request.form("POST", _account(settings) + "/Messages.json", values, _authorization(settings))


def _address(path: str, scheme: str) -> str:
    return f"{WHATSAPP}+{path.lstrip('+')}" if scheme == "whatsapp" else path


def _account(settings: Settings) -> str:
    url = str(settings.get("api_url") or API_URL).rstrip("/")
    return f"{url}/{VERSION}/Accounts/{settings['account_sid']}"


def _authorization(settings: Settings) -> dict[str, str]:
    user = f"{settings['account_sid']}:{settings['auth_token']}"
    return {"Authorization": "Basic " + b64encode(user.encode()).decode()}


def accepted(response: Response, settings: Settings) -> Outcome:
    """By Twilio's own code of an error before the status."""
    said = mapping(response.json())
    if response.is_ok and not response.is_page:
        return Sent(word(said.get("sid")))
    code, text = word(said.get("code")), word(said.get("message")) or response.text[:200]
    reason = f"{text} (Twilio's error {code})" if code else f"Twilio answered {response.status}: {text}"
    if code == HAS_STOPPED:
        return Refused("The person has sent STOP to this number (Twilio's error 21610).", has_stopped=True)
    if code in TRY_LATER or response.status == 429:
        return Later(TRY_LATER.get(code, reason), response.retry_after, is_for_all=True)
    if code in WRONG_SETTINGS or response.status == 401:
        return Later(reason, is_for_all=True)
    is_passing = response.is_ok or response.status >= 500
    return Later(reason, response.retry_after) if is_passing else Refused(reason)


def events(callback: Callback, settings: Settings) -> Heard:
    """Incoming messages and statuses, both as forms; which of them says the field `MessageStatus`. Raises BadSignature,
    Unread."""
    _check_signature(callback, settings)
    values = callback.values()
    sid = values.get("MessageSid") or values.get("SmsSid") or ""
    # `SmsStatus` is also in incoming messages, as "received".
    word = values.get("MessageStatus") or (values.get("SmsStatus", "") if callback.action == STATUS else "")
    if word and word != "received":
        return Heard(tuple(_statuses(values, sid, word)), NO_REPLY)
    if "From" not in values:
        raise Unread(f"There is no From and no MessageStatus; there is {', '.join(sorted(values)[:20]) or 'nothing'}.")
    sender = values["From"].removeprefix(WHATSAPP)
    sender = sender.lstrip("+") if values["From"].startswith(WHATSAPP) else sender
    text, files = values.get("Body", ""), tuple(_files(values))
    found: list[Event] = [
        Received(sender, text, sid, None, values.get("ProfileName", ""), files, values.get("ButtonPayload", ""))
    ]
    if values.get("OptOutType", "").upper() == "STOP":
        found.append(Stopped(sender))
    return Heard(tuple(found), NO_REPLY)


def _statuses(values: dict[str, str], sid: str, word: str) -> Iterator[Event]:
    state = STATES.get(word.lower())
    if state is None:  # queued, sending and the like
        return
    code = values.get("ErrorCode", "")
    reason = values.get("ErrorMessage") or values.get("ChannelStatusMessage") or WORDS.get(code, "")
    reason = " ".join(part for part in (reason, f"(Twilio's error {code})" if code else "") if part)
    yield Status(state, sid, reason=(reason or f"Twilio says {word}.") if state == "failed" else "")
    if code == HAS_STOPPED and values.get("To"):
        to = values["To"]
        yield Stopped(to.removeprefix(WHATSAPP + "+") if to.startswith(WHATSAPP) else to)


def _files(values: dict[str, str]) -> Iterator[Media]:
    for number in range(MOST_FILES):
        url = values.get(f"MediaUrl{number}")
        if url:
            yield Media(values.get(f"MediaContentType{number}", ""), reference=url)
    if values.get("Latitude") and values.get("Longitude"):
        yield Media("geo", f"{values['Latitude']},{values['Longitude']}")


def _check_signature(callback: Callback, settings: Settings) -> None:
    """Twilio signs its URL, followed by the names and values of a form in the order of the names. It signs JSON by its
    hash in the URL. https://www.twilio.com/docs/usage/security"""
    signed = ""
    if callback.content_type == JSON_TYPE or "bodySHA256" in callback.query:
        if not is_same(callback.query.get("bodySHA256", "").lower(), sha256(callback.body).hexdigest()):
            raise BadSignature("The body is not the one whose hash is in bodySHA256.")
    elif callback.method == "POST":
        signed = "".join(name + value for name, value in sorted(callback.form().items()))
    given = callback.headers.get("x-twilio-signature", "")
    token = str(settings.get("auth_token") or "")
    if not token or not any(
        is_same(given, hmac_base64(token, (url + signed).encode(), "sha1")) for url in _written(callback.url)
    ):
        raise BadSignature("X-Twilio-Signature is not that of this URL, form and auth token.")


def _written(url: str) -> tuple[str, ...]:
    """An URL with and without its usual port: Twilio signs what it was given, a proxy may pass on the other."""
    parts = urlsplit(url)
    port = {"https": ":443", "http": ":80"}.get(parts.scheme, "")
    host = parts.netloc.removesuffix(port) if port else parts.netloc
    rest = url[len(f"{parts.scheme}://{parts.netloc}") :]
    return f"{parts.scheme}://{host}{rest}", f"{parts.scheme}://{host}{port}{rest}"


def fetch(media: Media, settings: Settings, responses: Sequence[Response]) -> Request | None:
    """With the account's credentials, to Twilio only: it sends on to a storage, which must not see them. Raises
    Unread."""
    url = follow(media.reference, responses)
    if url is None:
        return None
    host, own = urlsplit(url), urlsplit(str(settings.get("api_url") or API_URL))
    is_own = (host.scheme, host.netloc) == (own.scheme, own.netloc) or (
        host.scheme == "https" and (host.hostname or "").endswith(".twilio.com")
    )
    return Request("GET", url, _authorization(settings) if is_own else {})


def check(settings: Settings) -> Request:
    """The account itself."""
    return Request("GET", _account(settings) + ".json", _authorization(settings))


def templates(settings: Settings, after: str) -> Request:
    """A page of the account's content templates, with what WhatsApp has approved of them."""
    return Request("GET", page_url(str(settings.get("content_url") or CONTENT_URL), after), _authorization(settings))


TYPE = ChannelType(
    "twilio",
    schemes=("tel", "whatsapp"),
    title="Twilio",
    help="SMS and WhatsApp by numbers of Twilio",
    settings=(
        Setting("account_sid", "of the account: AC and 32 characters", is_required=True),
        Setting(
            "auth_token",
            "of the account; it also signs Twilio's calls",
            "secret",
            "--auth-token-file",
            is_required=True,
        ),
        Setting("messaging_service_sid", "send by this service (MG...) instead of the number", is_advanced=True),
        Setting("has_mms", "send files as MMS: only for numbers of the USA and Canada", "flag", is_advanced=True),
        Setting("api_url", f"default: {API_URL}", "url", default=API_URL, is_advanced=True),
        Setting("content_url", f"of templates; default: {CONTENT_URL}", "url", default=CONTENT_URL, is_advanced=True),
    ),
    carries=Carries(length=SEGMENTS, is_sms=True, attachments=True, templates=True),
    rate=1,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
    fetch=fetch,
    templates=templates,
    read_templates=read_page,
)
