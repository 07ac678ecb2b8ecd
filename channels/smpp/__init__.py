"""SMPP 3.4: the protocol of SMS centres and aggregators, over a connection that is kept. What goes over it is computed
here; `worker/channels/smpp/` holds the connection.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from channels.calls import Later, Message, Outcome, Received, Refused, Sent, Settings, State, Status
from channels.declaration import Carries, ChannelType, Setting
from channels.smpp.coding import MOST_PARTS, choose_coding, header_of, read_header, read_text
from channels.sms import Piece

TON_INTERNATIONAL, TON_NETWORK, TON_ALPHANUMERIC = 1, 3, 5
NPI_NONE, NPI_ISDN = 0, 1
SHORT_CODE_DIGITS = 8
"""A source of at most so many digits, and without a plus sign, is a short code of its network."""

WITH_HEADER, MESSAGE_TYPE = 0x40, 0x3C
RECEIPTS = (0x04, 0x08, 0x10, 0x20)
"""Values in `esm_class` (SMPP 3.4, 5.2.12): a delivery receipt, acknowledgements of phones and people, and what an SMS
centre says on the way."""

LARGEST_REFERENCE = 0xFFFF
RECEIPTED_MESSAGE_ID, MESSAGE_STATE, MESSAGE_PAYLOAD = 0x001E, 0x0427, 0x0424
SAR_REFERENCE, SAR_TOTAL, SAR_NUMBER = 0x020C, 0x020E, 0x020F
"""Optional parameters (SMPP 3.4, 5.3.2)."""

STATES: Mapping[int, State] = {1: "sent", 2: "delivered", 3: "failed", 4: "failed", 5: "failed", 6: "sent", 8: "failed"}
"""By `message_state`. What an SMS centre does not know (7) changes nothing."""
WORDS = {"ENROUTE": 1, "DELIVRD": 2, "EXPIRED": 3, "DELETED": 4, "UNDELIV": 5, "ACCEPTD": 6, "UNKNOWN": 7, "REJECTD": 8}
NAMES = {number: word for word, number in WORDS.items()}
RECEIPT_ID = re.compile(r"\bid:\s*([^\s]{1,65})", re.IGNORECASE)
RECEIPT_STATE = re.compile(r"\bstat:\s*([a-z]+)", re.IGNORECASE)
RECEIPT_ERROR = re.compile(r"\berr:\s*([0-9a-z]{1,8})", re.IGNORECASE)

PAUSE_SECONDS = 5.0
THROTTLED = {0x14: "its queue is full", 0x58: "too many messages at a time"}
LATER = {
    0x08: "it has an error",
    0x45: "it could not take it",
    0x64: "a temporary error",
    0xFE: "it could not deliver it",
    0xFF: "an unknown error",
}
UNBOUND = {0x04: "the connection is not bound for sending", 0x05: "it is bound already", 0x0D: "it refuses the bind"}
REFUSED = {
    0x01: "the text is too long",
    0x0A: "it does not accept the source address",
    0x0B: "it does not know the number",
    0x15: "it does not know the service type",
    0x43: "it does not accept the ESM class",
    0x48: "it does not accept the source's type of number",
    0x49: "it does not accept the source's numbering plan",
    0x50: "it does not accept the destination's type of number",
    0x51: "it does not accept the destination's numbering plan",
    0x53: "it does not know the system type",
    0x62: "it does not accept the validity period",
    0x65: "a permanent error",
    0x66: "it refuses the message",
    0xC1: "it allows no such optional parameter",
    0xC2: "a field is too long",
    0xC4: "an optional parameter has a wrong value",
}
"""Values of `command_status` (SMPP 3.4, 5.1.3) in submit_sm_resp. Any other means that it may be taken later."""


@dataclass(frozen=True, slots=True)
class Address:
    """A number or name, with its type of number and numbering plan."""

    text: str
    ton: int
    npi: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Submit:
    """One `submit_sm`: a part of a message."""

    source: Address
    destination: Address
    content: bytes
    data_coding: int
    esm_class: int = 0
    registered_delivery: int = 0
    options: Mapping[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliver:
    """One `deliver_sm`: a message of a person, a part of one, or a receipt."""

    source: Address
    destination: Address
    content: bytes
    data_coding: int = 0
    esm_class: int = 0
    options: Mapping[int, bytes] = field(default_factory=dict)


def submits(message: Message, settings: Settings) -> Sequence[Submit]:
    """The parts of a message, always the same ones."""
    text = "\n".join([message.text, *(each.url for each in message.attachments)]).strip("\n")
    coding, way = choose_coding(text, settings.get("data_coding") or "default"), settings.get("long_messages") or "udh"
    common: dict[str, Any] = {
        "source": _source(str(settings.get("source") or message.address), settings),
        "destination": Address(
            message.to.lstrip("+"),
            _number(settings, "destination_ton", TON_INTERNATIONAL),
            _number(settings, "destination_npi", NPI_ISDN),
        ),
        "data_coding": coding.data_coding,
        "registered_delivery": 0 if settings.get("without_receipts") else 1,
    }
    pieces = coding.split(text)
    if len(pieces) == 1:
        return [Submit(content=pieces[0], **common)]
    if way == "payload" or len(pieces) > MOST_PARTS:
        return [Submit(content=b"", options={MESSAGE_PAYLOAD: b"".join(pieces)}, **common)]
    made, total = [], len(pieces)
    for number, piece in enumerate(pieces, start=1):
        if way == "sar":
            options = {SAR_REFERENCE: (message.id & 0xFFFF).to_bytes(2, "big"), SAR_TOTAL: bytes([total])}
            made.append(Submit(content=piece, options=options | {SAR_NUMBER: bytes([number])}, **common))
        else:
            header = header_of(message.id, total, number)
            made.append(Submit(content=header + piece, esm_class=WITH_HEADER, **common))
    return made


def answered(status: int, message_id: str, settings: Settings) -> Outcome:
    """What the response to a `submit_sm` means. Message ids are kept as receipts write them."""
    if status == 0:
        return Sent(_same_id(message_id, settings, is_receipt=False))
    code = f"0x{status:02X}"
    if status in THROTTLED:
        return Later(f"The SMS centre says {code}: {THROTTLED[status]}.", PAUSE_SECONDS, is_for_all=True)
    if status in UNBOUND:
        return Later(f"The SMS centre says {code}: {UNBOUND[status]}.", is_for_all=True)
    if status in REFUSED:
        return Refused(f"The SMS centre says {code}: {REFUSED[status]}.")
    return Later(f"The SMS centre says {code}: {LATER.get(status, 'an error of its own')}.")


def read(deliver: Deliver, settings: Settings) -> Received | Piece | Status | None:
    """What a `deliver_sm` is. None if it says nothing, such as a receipt of an SMS centre that does not know."""
    content = deliver.options.get(MESSAGE_PAYLOAD) or deliver.content
    default = settings.get("incoming_default") or "gsm"
    if deliver.esm_class & MESSAGE_TYPE in RECEIPTS or RECEIPTED_MESSAGE_ID in deliver.options:
        return _read_receipt(deliver.options, read_text(content, deliver.data_coding, "latin1"), settings)
    place = None
    if deliver.esm_class & WITH_HEADER:
        place, content = read_header(content)
    elif SAR_REFERENCE in deliver.options:
        numbers = [int.from_bytes(deliver.options.get(each, b""), "big") for each in (SAR_TOTAL, SAR_NUMBER)]
        place = (int.from_bytes(deliver.options[SAR_REFERENCE], "big"), numbers[0], numbers[1])
    text, sender = read_text(content, deliver.data_coding, default), sender_of(deliver.source)
    is_possible = place is not None and 0 <= place[0] <= LARGEST_REFERENCE and 1 <= place[2] <= place[1] <= MOST_PARTS
    if place is not None and is_possible and place[1] > 1:
        return Piece(sender, deliver.destination.text, *place, text)
    return Received(sender, text)


def sender_of(source: Address) -> str:
    """The sender as our URNs have it: an international number has a plus sign."""
    is_international = source.ton == TON_INTERNATIONAL and source.text.isdigit()
    return f"+{source.text}" if is_international else source.text


def _source(text: str, settings: Settings) -> Address:
    """The source address; its type is that of what it is, if the settings say nothing else."""
    digits = text.lstrip("+")
    if not digits.isdigit():
        usual = (TON_ALPHANUMERIC, NPI_NONE)
    elif len(digits) <= SHORT_CODE_DIGITS and digits == text:
        usual = (TON_NETWORK, NPI_NONE)
    else:
        usual = (TON_INTERNATIONAL, NPI_ISDN)
    return Address(digits, _number(settings, "source_ton", usual[0]), _number(settings, "source_npi", usual[1]))


def _number(settings: Settings, name: str, usual: int) -> int:
    given = settings.get(name)
    return usual if given is None or given == "" else int(given)


def _same_id(text: str, settings: Settings, *, is_receipt: bool) -> str:
    """The id as a decimal number, if the provider writes it in hexadecimal at one place and in decimal at the other."""
    bases = {"hex-decimal": (16, 10), "decimal-hex": (10, 16)}.get(str(settings.get("receipt_ids") or ""))
    text = text.strip()
    if bases is None:
        return text
    try:
        return str(int(text, bases[is_receipt]))
    except ValueError:
        return text


def _read_receipt(options: Mapping[int, bytes], text: str, settings: Settings) -> Status | None:
    named = options.get(RECEIPTED_MESSAGE_ID, b"").split(b"\0")[0].decode("latin-1")
    found, word = RECEIPT_ID.search(text), RECEIPT_STATE.search(text)
    name = named or (found.group(1) if found else "")
    number = int.from_bytes(options.get(MESSAGE_STATE, b""), "big") or (
        WORDS.get(word.group(1).upper()[:7], 0) if word else 0
    )
    state = STATES.get(number)
    if not name or state is None:
        return None
    if state != "failed":
        return Status(state, _same_id(name, settings, is_receipt=True))
    error = RECEIPT_ERROR.search(text)
    reason = NAMES[number] + (f", error {error.group(1)}" if error and error.group(1).strip("0") else "")
    return Status(state, _same_id(name, settings, is_receipt=True), reason=reason)


TYPE = ChannelType(
    "smpp",
    schemes=("tel",),
    title="SMPP",
    help="SMS by a direct connection to an SMS centre, as mobile networks and aggregators offer it",
    transport="smpp",
    settings=(
        Setting("host", "host name of the SMS centre", is_required=True),
        Setting("port", "its port; default: 2775", "number", default=2775, bounds=(1, 65535)),
        Setting("system_id", "user name of the bind", is_required=True),
        Setting("password", "password of the bind, at most 8 characters", "secret", "--password-file"),
        Setting("use_tls", "connect by TLS", "flag"),
        Setting("source", "source address of messages; default: the channel's address"),
        Setting("system_type", "if the provider names one", is_advanced=True),
        Setting(
            "bind_mode",
            "one connection for both ways, or one for each; default: transceiver",
            choices=("transceiver", "transmitter+receiver"),
            default="transceiver",
            is_advanced=True,
        ),
        Setting(
            "data_coding",
            "default: the alphabet of GSM; what it lacks goes as UCS-2",
            choices=("default", "latin1", "ucs2"),
            default="default",
            is_advanced=True,
        ),
        Setting(
            "incoming_default",
            "what data coding 0 of incoming messages means; default: gsm",
            choices=("gsm", "gsm_packed", "latin1", "utf8"),
            default="gsm",
            is_advanced=True,
        ),
        Setting(
            "long_messages",
            "how long texts are sent: parts with headers, parts with parameters, or whole; default: udh",
            choices=("udh", "sar", "payload"),
            default="udh",
            is_advanced=True,
        ),
        Setting(
            "receipt_ids",
            "how message ids are written in responses and in receipts; default: same",
            choices=("same", "hex-decimal", "decimal-hex"),
            default="same",
            is_advanced=True,
        ),
        Setting(
            "source_ton",
            "type of number of the source; default: by its form",
            "number",
            bounds=(0, 6),
            is_advanced=True,
        ),
        Setting(
            "source_npi",
            "numbering plan of the source; default: by its form",
            "number",
            bounds=(0, 18),
            is_advanced=True,
        ),
        Setting(
            "destination_ton", "type of number of recipients; default: 1", "number", bounds=(0, 6), is_advanced=True
        ),
        Setting(
            "destination_npi", "numbering plan of recipients; default: 1", "number", bounds=(0, 18), is_advanced=True
        ),
        Setting(
            "window",
            "messages under way at a time; default: 10",
            "number",
            default=10,
            bounds=(1, 100),
            is_advanced=True,
        ),
        Setting(
            "enquire_link_seconds",
            "how often a silent connection is tried; default: 30",
            "number",
            default=30,
            bounds=(5, 600),
            is_advanced=True,
        ),
        Setting("without_receipts", "ask for no delivery receipts", "flag", is_advanced=True),
    ),
    carries=Carries(length=1, is_sms=True),
    rate=10.0,
)
