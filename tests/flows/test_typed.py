"""How typed texts are read: the forms of flows.typed, and the doors of the engine that use them."""

from datetime import UTC, datetime

import pytest

from flows.dates import parse_datetime, parse_time
from flows.environment import Environment, NumberFormat, SystemClock
from flows.numbers import NUMBER_FORMATS, find_number_format
from flows.phones import find_phones, parse_phone
from flows.queries import evaluate, parse_query
from flows.typed import clean, plain, same_form, search_form


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("\u202a+٢٥٠\u00a0٧٨٨\u202c", "+250 788"),
        ("１２：３０", "12:30"),
        ("“Zoë’s”", '"Zoë\'s"'),
        ("1️⃣", "1"),
        ("20 m²", "20 m²"),
        ("½", "½"),
        ("\U0001ccf0 \U00011de0", "\U0001ccf0 \U00011de0"),
        ("2026–11−26", "2026-11-26"),
    ],
)
def test_codes_are_read_plainly(typed: str, read: str) -> None:
    assert plain(typed) == read


def test_a_stored_name_keeps_its_spelling() -> None:
    assert clean(" \u200fعلی\u200cرضا\u200e ") == "علی\u200cرضا"
    assert clean("Jose\u0301\u00a0P.") == "José P."
    assert clean("l’école") == "l’école"


@pytest.mark.parametrize(
    ("first", "second"), [("José", "jose\u0301"), ("L’EAU", "l'eau"), ("ΟΔΟΣ", "οδός".replace("ό", "ο"))]
)
def test_what_people_take_for_the_same_is_the_same(first: str, second: str) -> None:
    assert same_form(first) == same_form(second)


@pytest.mark.parametrize(("name", "part"), [("Thérèse", "therese"), ("Đặng Łukasz", "dang lukasz"), ("أَحمد", "احمد")])
def test_searches_ignore_accents_and_equality_does_not(name: str, part: str) -> None:
    assert search_form(name) == search_form(part)
    assert same_form(name) != same_form(part)


@pytest.mark.parametrize("text", ["٢٦/١١/٢٠٢٦ ١٤:٣٠", "২৬-১১-২০২৬ ১৪:৩০", "２６．１１．２０２６ １４：３０"])
def test_dates_and_times_in_digits_of_all_scripts_are_read(text: str) -> None:
    environment = Environment(date_format="DD-MM-YYYY")

    assert parse_datetime(environment, SystemClock(), text) == datetime(2026, 11, 26, 14, 30, tzinfo=UTC)
    assert parse_time(text[-5:]) is not None


def test_phone_numbers_in_digits_of_all_scripts_are_read() -> None:
    assert parse_phone("٠٧٨٨ ٣٨٣ ٣٨٣", "RW") == "+250788383383"
    assert find_phones("call ＋２５０７８８３８３３８３ now") == ["+250788383383"]


class Person:
    def __init__(self, name: str) -> None:
        self.name = name

    def query_values(self, kind: str, key: str) -> list[str]:
        return [self.name] if key == "name" else []


@pytest.mark.parametrize(
    ("query", "name", "is_found"),
    [
        ("สมชาย", "สมชาย ใจดี", True),
        ("ใจ", "สมชาย ใจดี", True),
        ("山田 太郎", "山田\u3000太郎", True),
        ("name ~ 太郎", "山田太郎", True),
        ("name ~ 郎", "山田太郎", True),
        ("name ~ 次郎", "山田太郎", False),
        ("タロウ", "ヤマダタロウ", True),
        ("សុខា", "លី សុខា", True),
        ("အောင်", "ကိုအောင်မြင့်", True),
        ("ສົມ", "ທ້າວ ສົມສັກ", True),
        ("therese", "Thérèse", True),
        ("name = therese", "Thérèse", False),
        ('name = "José Pérez"', "Jose\u0301 Pe\u0301rez", True),
        ("name = “José Pérez”", "José Pérez", True),
        ("an", "Juan", False),
        ("김민", "김민준", True),
    ],
)
def test_names_are_searched_by_parts_in_every_script(query: str, name: str, is_found: bool) -> None:
    assert evaluate(parse_query(query), Person(name), Environment()) is is_found


@pytest.mark.parametrize(
    ("country", "language", "signs"),
    [
        ("DE", "eng", (",", ".")),
        ("FR", "fra", (",", " ")),
        ("CH", "deu", (".", "'")),
        ("RW", "eng", (".", ",")),
        ("RW", "kin", (",", ".")),
        ("BR", "", (",", ".")),
        ("PY", "spa", (",", ".")),
        ("PK", "bgn", (".", ",")),
        ("", "deu", (".", ",")),
        ("ZZ", "", (".", ",")),
    ],
)
def test_numbers_are_written_as_in_the_country(country: str, language: str, signs: tuple[str, str]) -> None:
    assert NUMBER_FORMATS[find_number_format(country, language)] == NumberFormat(*signs)
