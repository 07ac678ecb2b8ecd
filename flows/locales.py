"""Locales of languages, as CLDR has them."""

from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.localedata import exists

from flows.environment import NumberFormat
from flows.languages import make_locale_tag
from flows.typed import plain

FALLBACK_LOCALE = "en"


@lru_cache(maxsize=256)
def find_locale(language: str, country: str = "") -> Locale:
    """The locale of a language in a country, otherwise of the language, otherwise of English."""
    for tag in (make_locale_tag(language, country), make_locale_tag(language)):
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(FALLBACK_LOCALE)


@lru_cache(maxsize=256)
def find_number_format(country: str, language: str = "") -> NumberFormat:
    """How numbers are written in a country: in this language, if it is one of the country's, otherwise in the official
    one that most people there know. Signs are those that phones can send in a short message.
    """
    if not country:
        return NumberFormat()
    tag = make_locale_tag(language, country).replace("-", "_") if language else ""
    if not exists(tag):
        tag = _find_main_language(country)
    try:
        signs = Locale.parse(tag).number_symbols["latn"]
    except (UnknownLocaleError, ValueError, KeyError):
        return NumberFormat()
    return NumberFormat(plain(signs["decimal"]), plain(signs["group"]))


def _find_main_language(country: str) -> str:
    known = get_global("territory_languages").get(country, {})
    official = {name: each for name, each in known.items() if each["official_status"] in _OFFICIAL}
    for name, _ in sorted(official.items(), key=lambda item: item[1]["population_percent"], reverse=True):
        for tag in (f"{name}_{country}", name):
            if exists(tag):
                return str(tag)
    return str(get_global("likely_subtags").get(f"und_{country}", FALLBACK_LOCALE))


_OFFICIAL = ("official", "de_facto_official")
