"""SMPP without a connection: the parts of messages as bytes, what responses mean, and what an SMS centre delivers."""

import time
from typing import Any

import pytest

from channels import sms
from channels.calls import Attachment, Later, Message, Received, Refused, Sent, Status
from channels.smpp import (
    MESSAGE_PAYLOAD,
    MESSAGE_STATE,
    RECEIPTED_MESSAGE_ID,
    SAR_NUMBER,
    SAR_REFERENCE,
    SAR_TOTAL,
    WITH_HEADER,
    Address,
    Deliver,
    answered,
    read,
    submits,
)
from channels.smpp.coding import GSM_CODING, UCS2_CODING, decode_gsm, encode_gsm, read_text, unpack_septets
from channels.sms import Piece, join

PERSON, US = Address("250788123456", 1, 1), Address("8080", 3, 0)
RECEIPT = "id:{} sub:001 dlvrd:001 submit date:2603011200 done date:2603011201 stat:{} err:{} text:Hello"
FAMILY = "👨‍👩‍👧"


def message(text: str, **values: Any) -> Message:
    return Message(**{"uuid": "u", "id": 0x1234, "to": "+250788123456", "address": "8080", "text": text, **values})


def deliver(content: bytes, **values: Any) -> Deliver:
    return Deliver(source=PERSON, destination=US, content=content, **values)


class TestSubmits:
    def test_a_short_text_is_one_part_in_the_alphabet_of_gsm(self) -> None:
        (part,) = submits(message("Où est @£[€]?"), {})

        assert part.content == b"O\x06 est \x00\x01\x1b<\x1be\x1b>?"
        assert (part.data_coding, part.esm_class, part.registered_delivery, part.options) == (0, 0, 1, {})
        assert (part.source, part.destination) == (Address("8080", 3, 0), Address("250788123456", 1, 1))

    @pytest.mark.parametrize(
        ("address", "expected"),
        [
            ("+250788000000", Address("250788000000", 1, 1)),
            ("250788000000", Address("250788000000", 1, 1)),
            ("8080", Address("8080", 3, 0)),
            ("Clinic", Address("Clinic", 5, 0)),
        ],
    )
    def test_the_type_of_the_source_is_that_of_what_it_is(self, address: str, expected: Address) -> None:
        assert submits(message("Hi", address=address), {})[0].source == expected

    def test_settings_name_source_types_and_receipts(self) -> None:
        settings = {"source": "Clinic", "source_ton": 0, "source_npi": 1, "destination_ton": 2, "destination_npi": 8}
        (part,) = submits(message("Hi"), settings | {"without_receipts": True})

        assert (part.source, part.destination) == (Address("Clinic", 0, 1), Address("250788123456", 2, 8))
        assert part.registered_delivery == 0

    @pytest.mark.parametrize(
        ("wanted", "text", "coding", "content"),
        [
            ("default", "Где", 8, "Где".encode("utf-16-be")),
            ("latin1", "ça", 3, b"\xe7a"),
            ("latin1", "Łódź", 8, "Łódź".encode("utf-16-be")),
            ("ucs2", "Hi", 8, b"\0H\0i"),
        ],
    )
    def test_what_a_coding_lacks_goes_as_ucs2(self, wanted: str, text: str, coding: int, content: bytes) -> None:
        (part,) = submits(message(text), {"data_coding": wanted})

        assert (part.data_coding, part.content) == (coding, content)

    @pytest.mark.parametrize(
        ("text", "lengths"),
        [
            ("a" * 160, [160]),
            ("a" * 161, [153, 8]),
            ("a" * 152 + "€" + "b" * 10, [152, 12]),
            ("я" * 70, [140]),
            ("я" * 71, [134, 8]),
            ("я" * 66 + "😀" + "я" * 5, [132, 14]),
            ("я" * 60 + FAMILY + "я" * 5, [120, 26]),
        ],
    )
    def test_parts_are_as_long_as_there_is_room_and_cut_no_letter(self, text: str, lengths: list[int]) -> None:
        coding = GSM_CODING if text[0] == "a" else UCS2_CODING

        assert [len(each) for each in coding.split(text)] == lengths
        decoded = b"".join(coding.split(text))
        assert (decode_gsm(decoded) if coding is GSM_CODING else decoded.decode("utf-16-be")) == text

    @pytest.mark.parametrize(
        "text", ["a" * 153 + "€" * 80, "é^" * 200, "я" * 300, FAMILY * 40, "e" + "\u0301" * 150, "😀" * 99]
    )
    def test_there_are_as_many_as_are_counted(self, text: str) -> None:
        assert len(submits(message(text), {})) == sms.measure(text).segments

    def test_parts_have_headers_with_one_reference(self) -> None:
        first, second = submits(message("a" * 161), {})

        assert (first.content[:6], second.content[:6]) == (b"\x05\0\x03\x34\x02\x01", b"\x05\0\x03\x34\x02\x02")
        assert first.esm_class == second.esm_class == WITH_HEADER
        assert len(first.content) == 159

    def test_or_parameters_instead(self) -> None:
        first, second = submits(message("a" * 161), {"long_messages": "sar"})

        assert first.options == {SAR_REFERENCE: b"\x12\x34", SAR_TOTAL: b"\x02", SAR_NUMBER: b"\x01"}
        assert (second.options[SAR_NUMBER], second.content, second.esm_class) == (b"\x02", b"a" * 8, 0)

    def test_or_they_go_whole(self) -> None:
        (part,) = submits(message("a" * 161), {"long_messages": "payload"})

        assert (part.content, part.options) == (b"", {MESSAGE_PAYLOAD: b"a" * 161})

    def test_the_urls_of_files_follow_the_text(self) -> None:
        (part,) = submits(message("See", attachments=(Attachment("image/png", "https://example.org/a"),)), {})

        assert part.content == b"See\nhttps://example.org/a"


@pytest.mark.parametrize(
    ("status", "settings", "expected"),
    [
        (0, {}, Sent("00aB12")),
        (0, {"receipt_ids": "hex-decimal"}, Sent(str(0xAB12))),
        (0, {"receipt_ids": "decimal-hex"}, Sent("00aB12")),
        (0x58, {}, Later("The SMS centre says 0x58: too many messages at a time.", 5.0, is_for_all=True)),
        (0x14, {}, Later("The SMS centre says 0x14: its queue is full.", 5.0, is_for_all=True)),
        (0x08, {}, Later("The SMS centre says 0x08: it has an error.")),
        (0x0B, {}, Refused("The SMS centre says 0x0B: it does not know the number.")),
        (0x0417, {}, Later("The SMS centre says 0x417: an error of its own.")),
    ],
)
def test_a_response_is_taken_refused_or_later(status: int, settings: dict[str, str], expected: object) -> None:
    assert answered(status, "00aB12", settings) == expected


class TestTexts:
    @pytest.mark.parametrize(
        ("content", "coding", "default", "text"),
        [
            (b"O\x06 \x1be", 0, "gsm", "Où €"),
            (b"\xe8\x32\x9b\xfd\x06", 0, "gsm_packed", "hello"),
            (b"\xe7a", 0, "latin1", "ça"),
            ("ça".encode(), 0, "utf8", "ça"),
            (b"Hi", 1, "gsm", "Hi"),
            (b"\xe7a", 3, "gsm", "ça"),
            ("Где".encode("utf-16-be"), 8, "gsm", "Где"),
            ("Где".encode("utf-16-be"), 0x18, "gsm", "Где"),
            (b"\0", 0xF0, "gsm", "@"),
            (b"\xff\x1b\x1b", 0, "gsm", "\ufffd\ufffd"),
            (b"\0", 8, "gsm", "\ufffd"),
        ],
    )
    def test_are_read_by_their_data_coding(self, content: bytes, coding: int, default: str, text: str) -> None:
        assert read_text(content, coding, default) == text

    def test_all_characters_of_gsm_come_back(self) -> None:
        text = decode_gsm(bytes(range(0x1B)) + bytes(range(0x1C, 0x80))) + "^{}\\[~]|€\f"

        assert decode_gsm(encode_gsm(text)) == text
        assert len(set(text)) == 137

    def test_packed_septets_begin_after_fill_bits(self) -> None:
        packed = bytes.fromhex("e8329bfd06")
        shifted = (int.from_bytes(packed, "little") << 1).to_bytes(6, "little")

        assert unpack_septets(shifted, 1)[:5] == unpack_septets(packed) == b"hello"

    def test_the_longest_packed_text_holds_up_no_other_connection(self) -> None:
        began = time.process_time()

        assert len(unpack_septets(b"\xaa" * 0xFFFF)) == 0xFFFF * 8 // 7
        assert time.process_time() - began < 1


class TestDelivered:
    def test_a_text_has_its_sender_as_an_international_number(self) -> None:
        assert read(deliver(b"Hi"), {}) == Received("+250788123456", "Hi")

    def test_a_name_stays_a_name(self) -> None:
        named = Deliver(source=Address("Bank", 5, 0), destination=US, content=b"Hi")

        assert read(named, {}) == Received("Bank", "Hi")

    def test_a_part_says_where_it_belongs(self) -> None:
        content = b"\x05\0\x03\x07\x03\x02two"

        assert read(deliver(content, esm_class=0x40), {}) == Piece("+250788123456", "8080", 7, 3, 2, "two")

    def test_also_by_a_reference_of_two_bytes_among_other_elements(self) -> None:
        content = b"\x0a\x24\x01\x00\x08\x04\x01\x02\x02\x01\x00\x00one"

        assert read(deliver(content, esm_class=0x40), {}) == Piece("+250788123456", "8080", 0x102, 2, 1, "@one")

    def test_or_by_parameters(self) -> None:
        options = {SAR_REFERENCE: b"\x01\x02", SAR_TOTAL: b"\x02", SAR_NUMBER: b"\x01"}

        assert read(deliver(b"one", options=options), {}) == Piece("+250788123456", "8080", 0x102, 2, 1, "one")

    @pytest.mark.parametrize(
        "header", [b"\x05\0\x03\x07\x02\x03", b"\x05\0\x03\x07\x02\0", b"\x05\0\x03\x07\x01\x01", b"\0"]
    )
    def test_an_impossible_place_is_a_text_of_its_own(self, header: bytes) -> None:
        assert read(deliver(header + b"Hi", esm_class=0x40), {}) == Received("+250788123456", "Hi")

    @pytest.mark.parametrize(
        "options",
        [
            {SAR_REFERENCE: b"\x01" * 9, SAR_TOTAL: b"\x02", SAR_NUMBER: b"\x01"},
            {SAR_REFERENCE: b"\x01\x02", SAR_TOTAL: b"\x01\0", SAR_NUMBER: b"\x01"},
            {SAR_REFERENCE: b"\x01\x02"},
        ],
    )
    def test_so_is_one_with_numbers_that_no_message_has(self, options: dict[int, bytes]) -> None:
        assert read(deliver(b"Hi", options=options), {}) == Received("+250788123456", "Hi")

    def test_a_header_longer_than_the_message_is_none(self) -> None:
        assert read(deliver(b"@Hi", esm_class=0x40), {}) == Received("+250788123456", "¡Hi")

    def test_a_whole_long_text_is_a_parameter(self) -> None:
        assert read(deliver(b"", options={MESSAGE_PAYLOAD: b"a" * 500}), {}) == Received("+250788123456", "a" * 500)

    def test_pieces_are_joined_in_their_order_without_what_is_missing(self) -> None:
        pieces = [Piece("+2507", "8080", 7, 3, number, text) for number, text in ((3, "c"), (1, "a"))]

        assert join(pieces) == Received("+2507", "ac")


class TestReceipts:
    @pytest.mark.parametrize(
        ("word", "error", "expected"),
        [
            ("DELIVRD", "000", Status("delivered", "77aB")),
            ("ACCEPTD", "000", Status("sent", "77aB")),
            ("ENROUTE", "000", Status("sent", "77aB")),
            ("UNDELIV", "011", Status("failed", "77aB", reason="UNDELIV, error 011")),
            ("EXPIRED", "000", Status("failed", "77aB", reason="EXPIRED")),
            ("REJECTD", "0", Status("failed", "77aB", reason="REJECTD")),
            ("UNKNOWN", "000", None),
        ],
    )
    def test_are_read_by_their_words(self, word: str, error: str, expected: Status | None) -> None:
        assert read(deliver(RECEIPT.format("77aB", word, error).encode(), esm_class=4), {}) == expected

    def test_parameters_come_before_words(self) -> None:
        options = {RECEIPTED_MESSAGE_ID: b"abc\0", MESSAGE_STATE: b"\x05"}

        found = read(deliver(RECEIPT.format("other", "DELIVRD", "0").encode(), esm_class=4, options=options), {})
        assert found == Status("failed", "abc", reason="UNDELIV")

    @pytest.mark.parametrize(
        ("ids", "text", "expected"),
        [
            ("same", "00aB", "00aB"),
            ("hex-decimal", "43794", "43794"),
            ("decimal-hex", "AB12", "43794"),
            ("hex-decimal", "x-1", "x-1"),
        ],
    )
    def test_ids_are_those_of_the_responses(self, ids: str, text: str, expected: str) -> None:
        receipt = deliver(RECEIPT.format(text, "DELIVRD", "0").encode(), esm_class=4)

        assert read(receipt, {"receipt_ids": ids}) == Status("delivered", expected)

    def test_a_person_who_writes_like_one_writes_a_text(self) -> None:
        text = RECEIPT.format("77", "DELIVRD", "000")

        assert read(deliver(text.encode()), {}) == Received("+250788123456", text)
