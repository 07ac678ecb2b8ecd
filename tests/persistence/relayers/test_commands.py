"""The commands of phones: which ids of messages are read, and what is left of texts."""

import pytest

from persistence.relayers.commands import TEXT_LENGTH, DeliveryReport, clean_text, read_upload

LARGEST, WRAPPED = 2**31 - 1, 2**32


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (1, 1),
        ("7", 7),
        (LARGEST, LARGEST),
        (LARGEST + 1, None),
        (LARGEST + 2, None),
        (0, None),
        (5 - WRAPPED, 5),
        (-WRAPPED, None),
        (-1, None),
    ],
)
def test_a_report_is_about_an_id_that_a_message_can_have(sent: int | str, read: int | None) -> None:
    upload = read_upload([None, {"cmd": "mt_sent", "msg_id": sent, "p_id": 3}])

    assert upload.reports == [(3, None if read is None else DeliveryReport("mt_sent", read, None))]
    assert upload.command_count == 2


@pytest.mark.parametrize(
    ("first", "last"),
    [(0x00, 0x08), (0x0B, 0x0C), (0x0E, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF), (0xFDD0, 0xFDEF), (0xFFFE, 0xFFFF)],
)
def test_texts_lose_code_points_that_are_no_text_and_keep_their_neighbours(first: int, last: int) -> None:
    kept = "".join(chr(code) for code in (first - 1, last + 1) if code > 0)

    assert clean_text("".join(map(chr, range(max(first - 1, 0), last + 2)))) == kept


def test_a_text_is_cut_after_it_was_cleaned() -> None:
    assert clean_text("\x00" * 10 + "a" * (TEXT_LENGTH + 1)) == "a" * TEXT_LENGTH
