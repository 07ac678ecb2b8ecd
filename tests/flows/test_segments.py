"""How many SMS a text takes."""

import pytest

from flows.segments import measure


@pytest.mark.parametrize(
    ("text", "encoding", "characters", "segments"),
    [
        ("", "gsm", 0, 0),
        ("a" * 160, "gsm", 160, 1),
        ("a" * 161, "gsm", 161, 2),
        ("a" * 306, "gsm", 306, 2),
        ("a" * 307, "gsm", 307, 3),
        ("€" * 80, "gsm", 160, 1),
        ("a" * 152 + "€" * 77, "gsm", 306, 3),
        ("ж" * 70, "ucs2", 70, 1),
        ("ж" * 71, "ucs2", 71, 2),
        ("👍" * 35, "ucs2", 70, 1),
        ("👍" * 67, "ucs2", 134, 3),
        ("ж" * 66 + "e\u0301" + "ж" * 66, "ucs2", 134, 3),
        ("👨‍👩‍👧‍👦" * 12, "ucs2", 132, 2),
        ("👨‍👩‍👧‍👦" * 18, "ucs2", 198, 3),
        ("🇷🇼" * 34, "ucs2", 136, 3),
        ("กำ" * 67, "ucs2", 134, 3),
        ("e" + "\u0301" * 133, "ucs2", 134, 2),
    ],
)
def test_a_text_takes_as_many_sms_as_phones_divide_it_into(
    text: str, encoding: str, characters: int, segments: int
) -> None:
    length = measure(text)

    assert (length.encoding, length.characters, length.segments) == (encoding, characters, segments)
