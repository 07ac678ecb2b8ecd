"""SMPP 3.4 as bytes, by the codec of smpplib. Its client is not used: it blocks a thread for each connection, has no
window, and answers a message before we have stored it.
"""

import logging
import struct
from collections.abc import Mapping
from typing import Any

from smpplib import command, consts, exceptions, smpp

from channels.smpp import Address, Deliver, Submit

HEADER_BYTES = 16
MOST_BYTES = 128 * 1024
"""A message as a parameter has up to 64 KiB."""
OK, UNKNOWN_COMMAND, TEMPORARY, PERMANENT, QUEUE_FULL = 0x00, 0x03, 0x64, 0x65, 0x14
MOST_SEQUENCE = 0x7FFFFFFF
NAMES = {code: name for name, code in consts.OPTIONAL_PARAMS.items()}
VERSION = 0x34

# It would write a line for each parameter that it does not know, of which a command has room for thousands.
logging.getLogger(command.__name__).setLevel(logging.ERROR)

Pdu = Any
"""A command of smpplib: `command`, `status`, `sequence`, and its fields."""


class NotSmpp(Exception):
    """These bytes are no command of SMPP. Its sequence number is known if its header could be read."""

    def __init__(self, text: str, sequence: int = 0, status: int = PERMANENT) -> None:
        super().__init__(text)
        self.sequence, self.status = sequence, status


class _Delivered(command.DeliverSM):  # type: ignore[misc]  # smpplib has no types
    """Providers add parameters that the library does not know here: all are kept as bytes."""

    options: Mapping[int, bytes] = {}

    def parse_optional_params(self, data: bytes) -> None:
        self.options = read_options(data)


def read_length(head: bytes) -> int:
    """The length of a command by its first four bytes. Raises NotSmpp."""
    length = int.from_bytes(head[:4], "big")
    if not HEADER_BYTES <= length <= MOST_BYTES:
        raise NotSmpp(f"a command cannot have {length} bytes")
    return length


def read_pdu(content: bytes) -> Pdu:
    """One command. Raises NotSmpp."""
    _, number, _, sequence = struct.unpack(">LLLL", content[:HEADER_BYTES])
    try:
        if number == 0x05:
            pdu = _Delivered("deliver_sm", sequence=sequence or 1)
            pdu.parse(content)
            if pdu.data_coding is None:  # the library takes one that ends before its text
                raise NotSmpp("a message of an SMS centre ends before its text", sequence)
            return pdu
        return smpp.parse_pdu(content, sequence=sequence or 1, allow_unknown_opt_params=True)
    except exceptions.UnknownCommandError as error:
        raise NotSmpp(f"0x{number:08X} is no command that we know", sequence, UNKNOWN_COMMAND) from error
    except (struct.error, LookupError, ValueError, TypeError) as error:
        raise NotSmpp(f"the command 0x{number:08X} cannot be read", sequence) from error


def write_pdu(name: str, sequence: int, status: int = OK, **values: Any) -> bytes:
    """A command; texts must be Latin-1 (UnicodeError)."""
    pdu = smpp.make_pdu(name, sequence=sequence, status=status, **values)
    pdu.sequence = sequence
    return bytes(pdu.generate())


def write_submit(submit: Submit, sequence: int) -> bytes:
    return write_pdu(
        "submit_sm",
        sequence,
        **_addresses(submit.source, submit.destination),
        esm_class=submit.esm_class,
        registered_delivery=submit.registered_delivery,
        data_coding=submit.data_coding,
        short_message=submit.content,
        **_named(submit.options, command.SubmitSM.params),
    )


def write_deliver(deliver: Deliver, sequence: int) -> bytes:
    """What an SMS centre writes; for one that we play ourselves."""
    return write_pdu(
        "deliver_sm",
        sequence,
        **_addresses(deliver.source, deliver.destination),
        esm_class=deliver.esm_class,
        data_coding=deliver.data_coding,
        short_message=deliver.content,
        **_named(deliver.options, command.DeliverSM.params),
    )


def read_deliver(pdu: Pdu) -> Deliver:
    return Deliver(**_read_message(pdu), options=pdu.options)


def read_submit(pdu: Pdu) -> Submit:
    """What an SMS centre reads; for one that we play ourselves."""
    options = {
        consts.OPTIONAL_PARAMS[name]: value.to_bytes(param.size, "big") if isinstance(value, int) else value
        for name, param in command.SubmitSM.params.items()
        if name in consts.OPTIONAL_PARAMS and (value := getattr(pdu, name, None)) is not None
    }
    return Submit(**_read_message(pdu), registered_delivery=pdu.registered_delivery, options=options)


def read_text(value: bytes | None) -> str:
    """A text field of a command."""
    return (value or b"").decode("latin-1")


def read_options(data: bytes) -> dict[int, bytes]:
    """Optional parameters by their tags; what is cut off at the end is left out."""
    found, place = {}, 0
    while place + 4 <= len(data):
        tag, length = struct.unpack(">HH", data[place : place + 4])
        found[tag] = data[place + 4 : place + 4 + length]
        place += 4 + length
    return found


def _addresses(source: Address, destination: Address) -> dict[str, Any]:
    return {
        "source_addr_ton": source.ton,
        "source_addr_npi": source.npi,
        "source_addr": source.text,
        "dest_addr_ton": destination.ton,
        "dest_addr_npi": destination.npi,
        "destination_addr": destination.text,
    }


def _read_message(pdu: Pdu) -> dict[str, Any]:
    return {
        "source": Address(read_text(pdu.source_addr), pdu.source_addr_ton, pdu.source_addr_npi),
        "destination": Address(read_text(pdu.destination_addr), pdu.dest_addr_ton, pdu.dest_addr_npi),
        "esm_class": pdu.esm_class,
        "data_coding": pdu.data_coding,
        "content": pdu.short_message or b"",
    }


def _named(options: Mapping[int, bytes], params: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as the library has them: numbers, texts without their end, or bytes."""
    found: dict[str, Any] = {}
    for tag, value in options.items():
        kind = params[NAMES[tag]].type
        text = value.rstrip(b"\0").decode("latin-1")
        found[NAMES[tag]] = int.from_bytes(value, "big") if kind is int else text if kind is str else value
    return found
