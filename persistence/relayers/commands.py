"""The commands of phones, read leniently: numbers may be strings, and optional parts may be missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from urllib.parse import urlsplit

from persistence.channels.event_form import CALL_TYPES, CallName

FCM = "fcm"
"""The `push_via` of phones that have a token of Firebase; of others it is the origin of their endpoint."""
VIA_LENGTH = 255

TEXT_LENGTH = 4096
LONGEST_ID_LIST = 10_000
LARGEST_ID = 2**31 - 1
LARGEST_NUMBER = 2**63
WRAPPED_IDS = 2**32
REPORTS = ("mt_sent", "mt_dlvd", "mt_fail", "mt_error")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9000, 1, 1, tzinfo=UTC)
OLDEST = timedelta(days=365)
AHEAD = timedelta(minutes=15)
"""The tolerated error of a phone's clock in a sync (relayer protocol, 7.3)."""
POWER_LENGTH, NETWORK_LENGTH, DEVICE_LENGTH = 64, 128, 255
PUSH_TOKEN_LENGTH = 1000
"""Tokens of Firebase have less than 200 characters, endpoints of UnifiedPush may have this many."""


@dataclass(frozen=True, slots=True)
class SmsReport:
    """`mo_sms`: an SMS arrived; `moment` is None if the phone sent no valid time."""

    number: str
    text: str
    moment: datetime | None


@dataclass(frozen=True, slots=True)
class CallReport:
    """`call`: an entry of the call log."""

    number: str
    kind: CallName
    moment: datetime | None
    duration_seconds: int


@dataclass(frozen=True, slots=True)
class DeliveryReport:
    """`mt_sent`, `mt_dlvd`, `mt_fail` or `mt_error`: the status of an outgoing message; of gateways also `mt_read`, and
    `detail`: why it failed, as the provider says it."""

    kind: str
    message_id: int
    moment: datetime | None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class StatusReport:
    """`status`: the state of the phone."""

    power_source: str | None
    power_status: str | None
    power_level: int
    network_type: str | None
    pending: tuple[int, ...]
    retry: tuple[int, ...]
    workspace_id: int | None
    device: str | None
    os: str | None
    app_version: str | None


@dataclass(frozen=True, slots=True)
class Reset:
    """`reset`: the owner disconnects the phone."""


Report = SmsReport | CallReport | DeliveryReport | Reset | None


@dataclass(slots=True)
class Upload:
    """One sync of a phone: its identity, its state, and its reports, each with the number by which it is
    acknowledged."""

    push_token: str | None = None
    status: StatusReport | None = None
    reports: list[tuple[Any, Report]] = field(default_factory=list)
    command_count: int = 0


def read_upload(commands: list[Any]) -> Upload:
    """The commands of a sync; unknown commands are acknowledged and ignored, so that they cannot block the phone's
    queue."""
    upload = Upload(command_count=len(commands))
    for command in commands:
        if not isinstance(command, dict):
            continue
        name = command.get("cmd")
        if name in ("fcm", "gcm"):
            upload.push_token = _text(command.get("fcm_id") or command.get("gcm_id"), PUSH_TOKEN_LENGTH)
        elif name == "status":
            upload.status = _read_status(command)
        else:
            upload.reports.append((_read_number(command.get("p_id")), _read_report(name, command)))
    return upload


def _read_number(value: object) -> Any:
    """The number of a command as it was sent, for the response; None if a response cannot contain it."""
    if isinstance(value, str):
        return clean_text(value)
    is_number = isinstance(value, (int, float)) and abs(value) < LARGEST_NUMBER
    return value if is_number else None


def _read_report(name: object, command: Mapping[str, Any]) -> Report:
    if name == "reset":
        return Reset()
    moment = read_moment(command.get("ts"))
    if name == "mo_sms":
        text = clean_text(_text(command.get("msg")) or "")
        return SmsReport(_text(command.get("phone"), 128) or "", text, moment) if text else None
    if name == "call":
        return _read_call(command, moment)
    message_id = read_integer(command.get("msg_id"))
    if name in REPORTS and message_id is not None:
        message_id = message_id + WRAPPED_IDS if message_id < 0 else message_id
        return DeliveryReport(name, message_id, moment) if 0 < message_id <= LARGEST_ID else None
    return None


def _read_call(command: Mapping[str, Any], moment: datetime | None) -> CallReport | None:
    kind, seconds = command.get("type"), max(0, read_integer(command.get("dur")) or 0)
    if kind == "mt_call" and seconds == 0:
        kind = "mt_miss"
    if not isinstance(kind, str) or kind not in CALL_TYPES:
        return None
    return CallReport(_text(command.get("phone"), 128) or "", cast(CallName, kind), moment, min(seconds, LARGEST_ID))


def _read_status(command: Mapping[str, Any]) -> StatusReport:
    def either(short: str, long: str) -> Any:
        return command[short] if short in command else command.get(long)

    level = read_integer(either("p_lvl", "power_level"))
    return StatusReport(
        power_source=_text(either("p_src", "power_source"), POWER_LENGTH),
        power_status=_text(either("p_sts", "power_status"), POWER_LENGTH),
        power_level=-1 if level is None else max(-1, min(100, level)),
        network_type=_text(either("net", "network_type"), NETWORK_LENGTH),
        pending=_ids(either("pending", "pending_messages")),
        retry=_ids(either("retry", "retry_messages")),
        workspace_id=read_integer(command.get("org_id")),
        device=_text(command.get("dev"), DEVICE_LENGTH),
        os=_text(command.get("os"), DEVICE_LENGTH),
        app_version=_text(command.get("app_version"), POWER_LENGTH),
    )


def read_integer(value: object) -> int | None:
    """A whole number given as integer, float or numeric string; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = int(value) if not isinstance(value, str) else int(float(value)) if "." in value else int(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < LARGEST_NUMBER else None


def read_moment(value: object) -> datetime | None:
    """Milliseconds since 1970 as a datetime; None if there is no valid time."""
    milliseconds = read_integer(value)
    if milliseconds is None or milliseconds < 0:
        return None
    try:
        moment = EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None
    return moment if moment < LATEST else None


def believe(moment: datetime | None, now: datetime) -> datetime | None:
    """The time, or None for a time that no working clock shows: more than a year ago, or in the future. A phone whose
    clock was reset reports 1970, or the day when its software was built.
    """
    return moment if moment is not None and now - OLDEST <= moment <= now + AHEAD else None


def clean_text(text: str) -> str:
    """The text without control characters and code points that are not characters, cut to the maximum length of a
    message."""
    return "".join(character for character in text if not _is_not_text(character))[:TEXT_LENGTH]


def _is_not_text(character: str) -> bool:
    code = ord(character)
    if code < 0x20:
        return character not in "\n\t\r"
    return 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE


def _text(value: object, length: int | None = None) -> str | None:
    if value is None or isinstance(value, (dict, list, bool)):
        return None
    return clean_text(str(value))[:length]


def _ids(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        return ()
    numbers = (read_integer(item) for item in value[:LONGEST_ID_LIST])
    return tuple(number for number in numbers if number is not None and 0 < number <= LARGEST_ID)


def via_of(token: str | None) -> str | None:
    """Who delivers to a token: Firebase, or the server of the UnifiedPush endpoint that it is; None if nobody can."""
    if not token or not token.lower().startswith(("http://", "https://")):
        return FCM if token else None
    try:
        parts = urlsplit(token)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}{'' if port is None else f':{port}'}"[:VIA_LENGTH]
