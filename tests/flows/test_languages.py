import pytest

from flows.languages import is_language, is_language_of_translations, make_locale_tag
from flows.locales import find_locale


@pytest.mark.parametrize("code", ["eng", "fra", "kin", "tir", "mul"])
def test_codes_of_languages_have_three_letters(code):
    assert is_language(code)


@pytest.mark.parametrize("code", ["", "en", "ENG", "xxxx", "qqq", "12a"])
def test_other_codes_are_no_languages(code):
    assert not is_language(code)


@pytest.mark.parametrize(
    ("language", "country", "tag"), [("eng", "US", "en-US"), ("kin", "", "rw"), ("", "RW", ""), ("guc", "CO", "guc-CO")]
)
def test_tags_use_the_short_code_where_there_is_one(language, country, tag):
    assert make_locale_tag(language, country) == tag


@pytest.mark.parametrize(
    ("language", "country", "found"), [("spa", "EC", "es_EC"), ("fra", "XX", "fr"), ("zzz", "RW", "en"), ("", "", "en")]
)
def test_conventions_fall_back_from_country_to_language_to_english(language, country, found):
    assert str(find_locale(language, country)) == found


def test_translations_may_also_go_by_the_codes_of_libraries() -> None:
    assert is_language_of_translations("fra")
    assert is_language_of_translations("fre")
    assert not any(is_language_of_translations(code) for code in ("", "fr", "vvv", "FRE", "base"))
