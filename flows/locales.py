"""Locales of languages, as CLDR has them."""

from functools import lru_cache

from babel import Locale, UnknownLocaleError

from flows.languages import make_locale_tag

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
