"""SMS by Infobip, by version 3 of its API: https://www.infobip.com/docs/api/channels/sms."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from channels.calls import (
    JSON_TYPE,
    BadSignature,
    Callback,
    Event,
    Heard,
    Later,
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
from channels.reading import mapping, mappings, moment, word
from channels.signatures import is_same
from channels.sms import cut, with_links

API_URL = "https://api.infobip.com"
SEGMENTS = 10
STATUS = "status"

# https://www.infobip.com/docs/essentials/api-essentials/response-status-and-error-codes
REJECTED = "REJECTED"
TO_OPERATOR = "DELIVERED_TO_OPERATOR"
"""Of the group of what was delivered, though only the network has it."""
IS_KNOWN = "REJECTED_DUPLICATE_MESSAGE_ID"
"""A repeat of a part that Infobip has already."""
WAITS_FOR_OWNER = {"REJECTED_NOT_ENOUGH_CREDITS", "REJECTED_PREPAID_PACKAGE_EXPIRED"}
REPEATS = {"REJECTED_SYSTEM_ERROR", "REJECTED_FLOODING_FILTER"}
HAS_STOPPED = {"REJECTED_DND", "REJECTED_DESTINATION_BLOCKLISTED"}
"""The first is a register of the country, the second a list of the network or of the account."""
STATES: dict[str, State] = {
    "DELIVERED": "delivered",
    "UNDELIVERABLE": "failed",
    "EXPIRED": "failed",
    "REJECTED": "failed",
}


def requests(message: Message, settings: Settings) -> Sequence[Request]:
    """A request for each part; files go as links. A part has our id, by which Infobip knows a repeat."""
    text = with_links(message.text, [_link(each.kind, each.url) for each in message.attachments])
    return [_request(message, number, part, settings) for number, part in enumerate(cut(text, SEGMENTS), start=1)]


def _link(kind: str, url: str) -> str:
    return f"https://maps.google.com/?q={url}" if kind == "geo" else url


def _request(message: Message, number: int, text: str, settings: Settings) -> Request:
    to = {"to": message.to.lstrip("+"), "messageId": message.part_id(number)}
    webhooks: dict[str, Any] = {"callbackData": str(message.id)}
    if message.callback_url:
        report = {"url": f"{message.callback_url}{STATUS}/", "intermediateReport": True}
        webhooks |= {"delivery": report, "contentType": JSON_TYPE}
    part = {"sender": message.address.lstrip("+"), "destinations": [to], "content": {"text": text}}
    value = {"messages": [part | {"webhooks": webhooks}]}
    return Request.json("POST", _url(settings) + "/sms/3/messages", value, _authorization(settings))


def _url(settings: Settings) -> str:
    url = str(settings.get("api_url") or API_URL).rstrip("/")
    return url if "://" in url else f"https://{url}"


def _authorization(settings: Settings) -> dict[str, str]:
    return {"Authorization": f"App {settings['api_key']}", "Accept": JSON_TYPE}


def accepted(response: Response, settings: Settings) -> Outcome:
    """A success can have refused the message: its status decides."""
    said = mapping(response.json())
    if not response.is_ok or response.is_page:
        return _problem(response, said)
    message = next(iter(mappings(said.get("messages"))), {})
    status, id_ = mapping(message.get("status")), word(message.get("messageId"))
    name, group = word(status.get("name")), word(status.get("groupName"))
    if not group.startswith(REJECTED) or name == IS_KNOWN:
        return Sent(id_)
    reason = _reason(status, {})
    if name in HAS_STOPPED:
        return Refused(reason, has_stopped=True)
    if name in WAITS_FOR_OWNER:
        return Later(reason, is_for_all=True)
    return Later(reason, response.retry_after) if name in REPEATS else Refused(reason)


def _problem(response: Response, said: Mapping[str, Any]) -> Outcome:
    """An error in the newer form of the API, or in the older one."""
    older = mapping(mapping(said.get("requestError")).get("serviceException"))
    text = word(said.get("description")) or word(older.get("text")) or response.text[:200]
    details = [word(each.get("violation")) for each in mappings(said.get("violations"))]
    text = ": ".join(each for each in (text, *details) if each)
    reason = f"Infobip answered {response.status}: {text}"
    if response.status in (401, 403, 429):
        return Later(reason, response.retry_after, is_for_all=True)
    is_passing = response.is_ok or response.status >= 500
    return Later(reason, response.retry_after) if is_passing else Refused(reason)


def _reason(status: Mapping[str, Any], error: Mapping[str, Any]) -> str:
    """The more exact of the two in words, with its name."""
    exact = error if word(error.get("name")) not in ("", "NO_ERROR") else status
    text, name = word(exact.get("description")), word(exact.get("name"))
    return f"{text} ({name})" if text and name else text or name


def events(callback: Callback, settings: Settings) -> Heard:
    """Messages or statuses; one call has up to some hundred. Raises BadSignature, Unread."""
    expected = str(settings.get("callback_authorization") or "")
    if expected and not is_same(callback.headers.get("authorization", ""), expected):
        raise BadSignature("The Authorization header is not the one in the channel's settings.")
    told = mapping(callback.json())
    results = told.get("results")
    if not isinstance(results, list):
        raise Unread(f"There are no results; there is {', '.join(sorted(told)[:20]) or 'nothing'}.")
    return Heard(tuple(event for each in mappings(results) for event in _read(each)))


def _read(result: dict[str, Any]) -> Iterator[Event]:
    id_, status = word(result.get("messageId")), mapping(result.get("status"))
    if not status:
        sender = word(result.get("from")) or word(result.get("sender"))
        if sender:
            yield Received(_number(sender), word(result.get("text")), id_, moment(result.get("receivedAt")))
        return
    error, name = mapping(result.get("error")), word(status.get("name"))
    state = "sent" if name == TO_OPERATOR else STATES.get(word(status.get("groupName")).partition("_")[0])
    if state is None:  # PENDING: Infobip has it, as we know
        return
    number, on = word(result.get("callbackData")), moment(result.get("doneAt") or result.get("sentAt"))
    yield Status(state, id_, number, on, _reason(status, error) if state == "failed" else "")
    person = word(result.get("to"))
    if person and name in HAS_STOPPED:
        yield Stopped(_number(person), on)


def _number(written: str) -> str:
    """Infobip writes international numbers without their plus; short codes and names have none."""
    digits = written.lstrip("+")
    return f"+{digits}" if digits.isascii() and digits.isdecimal() and len(digits) > 6 else written


def check(settings: Settings) -> Request:
    """The balance of the account."""
    return Request("GET", _url(settings) + "/account/1/balance", _authorization(settings))


TYPE = ChannelType(
    "infobip",
    schemes=("tel",),
    title="Infobip",
    help="SMS by numbers and sender names of Infobip",
    settings=(
        Setting("api_key", "of the account", "secret", "--api-key-file", is_required=True),
        Setting("api_url", f"the account's base URL, such as https://xxxxx.api.infobip.com; default: {API_URL}", "url"),
        Setting(
            "callback_authorization",
            "the Authorization header of Infobip's calls, such as Basic dXNlcjpwYXNz",
            "secret",
            "--callback-authorization-file",
            is_advanced=True,
        ),
    ),
    carries=Carries(length=SEGMENTS, is_sms=True),
    rate=50,
    requests=requests,
    accepted=accepted,
    events=events,
    check=check,
)
