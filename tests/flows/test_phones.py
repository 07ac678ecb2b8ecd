import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.phones import (
    PhoneError,
    country_of,
    find_phones,
    is_possible,
    national_format,
    normalize_number,
    parse_number,
    parse_phone,
    typed_forms,
)


@pytest.mark.parametrize(
    ("typed", "country", "path"),
    [
        ("0722 456 789", "KE", "+254722456789"),
        ("254722456789", "KE", "+254722456789"),
        ("254722456789", "", "+254722456789"),
        ("(072) 245-6789", "KE", "+254722456789"),
        ("2.54722456789E+11", "KE", "+254722456789"),
        ("254722456789.0", "KE", "+254722456789"),
        ("722456789.00", "KE", "+254722456789"),
        ("0722456789", "", "0722456789"),
        ("12345", "KE", "12345"),
        ("40404", "KE", "40404"),
        ("0788383383", "RW", "+250788383383"),
        ("250788383383", "RW", "+250788383383"),
        ("(206) 555-1212", "US", "+12065551212"),
        ("0788383383", "", "0788383383"),
        ("5080", "RW", "5080"),
        ("MTN", "RW", "mtn"),
        (" +254 722 456 789 ", "RW", "+254722456789"),
        ("*", "RW", ""),
        ("_@", "", ""),
        ("+", "RW", ""),
        ("5912705", "US", "5912705"),
        ("812111005611", "ID", "+62812111005611"),
        ("62812111005611", "ID", "+62812111005611"),
        ("+812111005611", "ID", "+812111005611"),
        ("250788383383", "US", "+250788383383"),
        ("15112345678", "DE", "+4915112345678"),
        ("250788383383", "ID", "+250788383383"),
    ],
)
def test_typed_numbers_become_paths(typed, country, path):
    assert normalize_number(typed, country) == path


@given(st.text(), st.sampled_from(["", "RW", "US", "KE"]))
def test_a_normalized_number_stays_as_it_is_when_normalized_again(text, country):
    once = normalize_number(text, country)

    assert normalize_number(once, country) == once


@pytest.mark.parametrize(
    ("text", "country", "number"),
    [
        ("+250 788 123-123", "", "+250788123123"),
        ("800-CABBAGE", "US", "+18002222243"),
        ("254791541111", "US", "+254791541111"),
        ("+82011290", "", "+8211290"),
        ("123456", "US", "123456"),
        ("10000", "US", "10000"),
    ],
)
def test_numbers_and_short_codes_are_read_strictly(text, country, number):
    assert parse_number(text, country, allow_short=True) == number


@pytest.mark.parametrize(
    ("text", "country"),
    [("PRIZES", "RW"), ("1", "RW"), ("1" * 79, "RW"), ("0788383383", "ZZ"), ("123456", ""), ("5912705", "US")],
)
def test_what_cannot_be_reached_is_not_a_number(text, country):
    with pytest.raises(PhoneError):
        parse_number(text, country, allow_short=True)


def test_names_of_senders_are_read_only_when_allowed():
    assert parse_number("!MTN!", "RW", allow_sender=True) == "mtn"
    with pytest.raises(PhoneError):
        parse_number("!MTN!", "RW")


def test_possible_means_long_enough_for_the_country():
    assert is_possible("0788383383", "RW")
    assert not is_possible("0788383383")
    assert not is_possible("+25078838338300")


@pytest.mark.parametrize(
    ("text", "country", "numbers"),
    [
        ("call 0788383383 or (0788) 123-123 now", "RW", ["+250788383383", "+250788123123"]),
        ("mine is 250788383383 ok", "", ["+250788383383"]),
        ("nothing here", "RW", []),
        ("1234 5", "RW", []),
    ],
)
def test_numbers_are_found_within_text(text, country, numbers):
    assert find_phones(text, country) == numbers


def test_a_text_with_words_is_not_a_phone_number_as_a_whole():
    assert parse_phone("0788383383", "RW") == "+250788383383"
    assert parse_phone("is 0788383383", "RW") == ""


def test_numbers_are_shown_as_people_of_their_country_write_them():
    assert national_format("+250788383383") == "0788 383 383"
    assert national_format("mtn") == "mtn"


def test_the_country_of_a_number_comes_from_its_prefix():
    assert country_of("+250788383383") == "RW"
    assert country_of("5080") == ""


@pytest.mark.parametrize(
    ("number", "forms"),
    [
        ("+250788314159", ["250788314159", "00250788314159", "2500788314159", "0788314159"]),
        ("+4531415926", ["4531415926", "004531415926", "31415926"]),
        ("+29051234", ["29051234", "0029051234"]),
        ("+1", ["1"]),
    ],
)
def test_people_write_a_number_in_these_digits(number, forms):
    assert typed_forms(number) == forms
