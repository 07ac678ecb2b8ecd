"""Languages by their three-letter ISO 639-3 codes, as used in contacts and translations."""

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pycountry


def is_language(code: str) -> bool:
    """Whether a three-letter lower-case code names a language."""
    return len(code) == 3 and code.islower() and _find(code) is not None


def is_language_of_translations(code: str) -> bool:
    """Whether a code names a language, including codes that libraries use and that old flows have."""
    import pycountry  # noqa: PLC0415  # it loads much, and few commands check a language

    is_code = len(code) == 3 and code.islower()
    return is_code and (_find(code) is not None or pycountry.languages.get(bibliographic=code) is not None)


def make_locale_tag(language: str, country: str = "") -> str:
    """The web's tag for a language and a country: `eng` and `US` give `en-US`."""
    found = _find(language)
    short = (getattr(found, "alpha_2", "") or language) if found else language
    return f"{short}-{country}" if short and country else short


@lru_cache(maxsize=1024)
def read_locale_tag(tag: str) -> str:
    """A language of the web or of a gateway, with its country if it names one: `en_US` gives `eng-US`; empty for one
    that is not known."""
    import pycountry  # noqa: PLC0415  # see above

    short, *rest = tag.replace("_", "-").split("-")
    short = short.lower()
    found = pycountry.languages.get(alpha_2=short) if len(short) == 2 else _find(short) if len(short) == 3 else None
    country = next((each for each in rest if len(each) == 2 and each.isascii() and each.isupper()), "")
    language = getattr(found, "alpha_3", "") if found is not None else ""
    return f"{language}-{country}" if language and country else language


@lru_cache(maxsize=1024)
def _find(code: str) -> "pycountry.db.Data | None":
    import pycountry  # noqa: PLC0415  # see above

    return pycountry.languages.get(alpha_3=code)
