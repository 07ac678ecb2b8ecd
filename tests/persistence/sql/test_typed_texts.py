"""The forms in which typed texts are compared and searched are the same in Python, SQLite and PostgreSQL."""

import unicodedata

import pytest
from sqlalchemy import Text, literal, select

from flows.typed import same_form, search_form
from persistence.database import Database
from persistence.sql.query_functions import FoldedText, SearchText

TEXTS = [
    *("José Pérez", unicodedata.normalize("NFD", "José Pérez"), " ÉTIENNE\t", "Thérèse", "Ø Łuk Đặng ŋ", "Straße ẞ æŒ"),
    *("ΓΙΩΡΓΟΣ", "Γιώργος", "İstanbul ışık", "Ёлка й", "١٢٣ ۴۵ १२ ১২ １ 1️⃣ ① ❶", "مُحَمَّد علي‌رضا", "أحمد"),
    "כַּף",
    *("l’école", "O‘Neil", "“quoted” «so»", "a\u00a0b\u202fc", "\u200f+250\u200e", "Jean–Paul", "สมชาย ใจดี", "太郎"),
    *("山田\u3000太郎 Bob", "王 x 小  明", "สุข ទេព မောင် ໃຈ", "ｶﾞ ﾅ ー"),
    *(
        "ﬁn",
        "ｶﾞﾅ",
        "がな",
        "김민준",
        "𝐀𝐁",
        "x²",
        "½",
        "😀👍🏽",
        "",
        "   ",
        "'\"",
        "ﷺ",
        "क़लम",
        "தமிழ்",
        "Nguyễn Thị Minh Khai",
    ),
]


@pytest.mark.together
@pytest.mark.parametrize("text", TEXTS)
def test_the_database_has_the_same_forms(database: Database, text: str) -> None:
    given = literal(text, Text())
    with database.reading() as tx:
        found = tx.execute(select(FoldedText(given), SearchText(given))).one()

    assert tuple(found) == (same_form(text), search_form(text))


def test_letters_of_all_scripts_have_the_same_forms(database: Database) -> None:
    """Each sample character between two letters, so that marks have one to stand on."""
    ranges = [range(0x80, 0x3100), range(0xA640, 0xA800), range(0xAC00, 0xAC80), range(0xF900, 0x10000)]
    codes = [code for some in ranges for code in some if unicodedata.category(chr(code)) not in ("Cn", "Cs", "Co")]
    texts = [f"a{''.join(map(chr, codes[begin : begin + 8]))}z" for begin in range(0, len(codes), 8)]
    wrong = []
    with database.reading() as tx:
        for text in texts:
            given = literal(text, Text())
            found = tuple(tx.execute(select(FoldedText(given), SearchText(given))).one())
            if found != (same_form(text), search_form(text)):
                wrong.append((text, found))

    assert wrong == []
