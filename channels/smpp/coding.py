"""Texts as the bytes of short messages: the default alphabet of GSM (3GPP TS 23.038, 6.2.1), Latin-1 and UCS-2, the
headers of messages in several parts (3GPP TS 23.040, 9.2.3.24), and the parts that a text has.
"""

from collections.abc import Callable
from dataclasses import dataclass

from flows.words import cut_between_letters

BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\x1bÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§"
    "¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
EXTENSION = {0x0A: "\f", 0x14: "^", 0x28: "{", 0x29: "}", 0x2F: "\\", 0x3C: "[", 0x3D: "~", 0x3E: "]", 0x40: "|"}
EXTENSION |= {0x65: "€"}
ESCAPE = 0x1B
SEPTET_BITS = 7
_CODES = {character: bytes([code]) for code, character in enumerate(BASIC) if code != ESCAPE}
_CODES |= {character: bytes([ESCAPE, code]) for code, character in EXTENSION.items()}

DEFAULT, ASCII, BINARY, LATIN1, UCS2 = 0x00, 0x01, 0x02, 0x03, 0x08
"""Values of `data_coding` (SMPP 3.4, 5.2.19)."""
CHARSETS = {ASCII: "ascii", LATIN1: "latin-1", 0x05: "shift_jis", 0x06: "iso8859_5", 0x07: "iso8859_8", 0x0E: "euc_kr"}
CONCATENATED, CONCATENATED_16 = 0x00, 0x08
"""Information elements with a reference of one byte and of two, the number of parts, and the number of this part."""
MOST_PARTS = 255


@dataclass(frozen=True, slots=True)
class Coding:
    """How a text is written: `single` and `part` are the room of a message alone and of one of several, in its units:
    octets, septets or units of UTF-16.
    """

    data_coding: int
    single: int
    part: int
    encode: Callable[[str], bytes]
    unit_bytes: int = 1

    def units(self, text: str) -> int:
        return len(self.encode(text)) // self.unit_bytes

    def split(self, text: str) -> list[bytes]:
        """The text in one piece if it has room in one message, otherwise in pieces that are cut between letters."""
        whole = self.encode(text)
        if len(whole) <= self.single * self.unit_bytes:
            return [whole]
        pieces = []
        while text:
            piece = cut_between_letters(text, self._fit(text))
            pieces.append(self.encode(piece))
            text = text[len(piece) :]
        return pieces

    def _fit(self, text: str) -> int:
        """How many characters at the beginning have room in a part."""
        length = min(len(text), self.part)
        while self.units(text[:length]) > self.part:
            length -= max((self.units(text[:length]) - self.part) // 2, 1)
        return length


def encode_gsm(text: str) -> bytes:
    """One octet for each septet. Raises UnicodeError for what the alphabet has not."""
    try:
        return b"".join([_CODES[character] for character in text])
    except KeyError as error:
        raise UnicodeError(f"{error.args[0]!r} is not in the alphabet of GSM") from error


def decode_gsm(content: bytes) -> str:
    """Octets of septets; an unknown escape is its character without it, and what is no septet is a replacement."""
    found, is_escaped = [], False
    for code in content:
        if code == ESCAPE and not is_escaped:
            is_escaped = True
            continue
        usual = BASIC[code] if code < len(BASIC) and code != ESCAPE else "\ufffd"
        found.append(EXTENSION.get(code, usual) if is_escaped else usual)
        is_escaped = False
    return "".join(found)


def unpack_septets(content: bytes, fill_bits: int = 0) -> bytes:
    """Septets that are packed into octets (3GPP TS 23.038, 6.1.2), after as many bits to a boundary, as octets."""
    septets, bits, held = bytearray(), 0, 0
    for place, octet in enumerate(content):
        dropped = 0 if place else fill_bits
        bits |= (octet >> dropped) << held
        held += 8 - dropped
        while held >= SEPTET_BITS:
            septets.append(bits & 0x7F)
            bits, held = bits >> SEPTET_BITS, held - SEPTET_BITS
    is_padded = (len(content) * 8 - fill_bits) % 7 == 0 and septets[-1:] in (bytearray(b"\0"), bytearray(b"\r"))
    return bytes(septets[:-1] if is_padded else septets)


def encode_latin1(text: str) -> bytes:
    return text.encode("latin-1")


def encode_ucs2(text: str) -> bytes:
    return text.encode("utf-16-be", "replace")


GSM_CODING = Coding(DEFAULT, 160, 153, encode_gsm)
LATIN1_CODING = Coding(LATIN1, 140, 134, encode_latin1)
UCS2_CODING = Coding(UCS2, 70, 67, encode_ucs2, unit_bytes=2)


def choose_coding(text: str, wanted: str) -> Coding:
    """The coding `default`, `latin1` or `ucs2`, or UCS-2 if that one lacks a character of the text."""
    coding = {"default": GSM_CODING, "latin1": LATIN1_CODING}.get(wanted, UCS2_CODING)
    try:
        coding.encode(text)
    except UnicodeError:
        return UCS2_CODING
    return coding


def header_of(reference: int, total: int, number: int) -> bytes:
    """The user data header of a part (from 1) of so many."""
    return bytes([5, CONCATENATED, 3, reference & 0xFF, total, number])


def read_header(content: bytes) -> tuple[tuple[int, int, int] | None, bytes]:
    """Reference, total and number of a part, if its header says so, and what follows the header. A header that is
    longer than the message is none.
    """
    end = content[0] + 1 if content else 0
    if not content or end > len(content):
        return None, content
    place, found = 1, None
    while place + 2 <= end:
        element, length = content[place], content[place + 1]
        value = content[place + 2 : min(place + 2 + length, end)]
        if element == CONCATENATED and len(value) == 3:
            found = (value[0], value[1], value[2])
        elif element == CONCATENATED_16 and len(value) == 4:
            found = (int.from_bytes(value[:2], "big"), value[2], value[3])
        place += 2 + length
    return found, content[end:]


def read_text(content: bytes, data_coding: int, default: str) -> str:
    """The text of a message. `default` is what the data coding 0 means with this provider: `gsm`, `gsm_packed`,
    `latin1` or `utf8`. The general groups of 3GPP TS 23.038, 4, name their alphabet in two bits.
    """
    if data_coding & 0xF0 in (0x10, 0x20, 0x30, 0xF0):
        data_coding = {0x00: DEFAULT, 0x04: BINARY, 0x08: UCS2}.get(data_coding & 0x0C, DEFAULT)
    if data_coding == UCS2:
        return content.decode("utf-16-be", "replace")
    if data_coding in CHARSETS:
        return content.decode(CHARSETS[data_coding], "replace")
    if data_coding != DEFAULT:
        return content.decode("latin-1")
    if default == "gsm_packed":
        return decode_gsm(unpack_septets(content))
    return (
        decode_gsm(content)
        if default == "gsm"
        else content.decode({"utf8": "utf-8"}.get(default, "latin-1"), "replace")
    )
