"""Makes flows/number_formats.json of CLDR: `python -m tools.number_formats > flows/number_formats.json`.

The table has how numbers are written in each country, in its official language that most people there know, and in the
languages that write them in another way. It is in the tree because babel takes longer to load than what most commands
do."""

import json
import pickle
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pycountry
from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.localedata import locale_identifiers, resolve_locale_filename

from flows.environment import NumberFormat
from flows.languages import make_locale_tag
from flows.numbers import NUMBER_FORMATS, USUAL_FORMAT
from flows.typed import plain

OFFICIAL = ("official", "de_facto_official")
NAMES = {signs: name for name, signs in NUMBER_FORMATS.items()}
TAGS = frozenset(locale_identifiers())
COMPLETE = 150
"""So many languages have names in a locale that is complete."""


def render_table() -> str:
    """A JSON object: the name of a format by country, and by country and language where it is another."""
    languages = sorted({code for tag in TAGS for code in _languages_of(tag.partition("_")[0])})
    countries = sorted(set(get_global("territory_languages")) | {each.alpha_2 for each in pycountry.countries})
    return json.dumps(dict(_rows(countries, languages)), indent=0, ensure_ascii=False) + "\n"


def _rows(countries: list[str], languages: list[str]) -> Iterator[tuple[str, str]]:
    for country in countries:
        usual = next(filter(None, map(_name_of, _tags_of(country))), USUAL_FORMAT)
        yield country, usual
        for language in languages:
            own = _name_of(make_locale_tag(language, country).replace("-", "_"))
            if own is not None and own != usual:
                yield f"{country}-{language}", own


def _languages_of(code: str) -> list[str]:
    found = pycountry.languages.get(**{"alpha_2" if len(code) == 2 else "alpha_3": code})
    return [found.alpha_3] if found else []


def _tags_of(country: str) -> Iterator[str]:
    known = get_global("territory_languages").get(country, {})
    official = {name: each for name, each in known.items() if each["official_status"] in OFFICIAL}
    for name, _ in sorted(official.items(), key=lambda item: item[1]["population_percent"], reverse=True):
        yield from (f"{name}_{country}", name)
    yield str(get_global("likely_subtags").get(f"und_{country}", "en"))


def _name_of(tag: str) -> str | None:
    """The format of a locale; None if CLDR knows little of the language, or has signs that no phone writes."""
    if tag not in TAGS or not _is_known(tag):
        return None
    try:
        signs = Locale.parse(tag).number_symbols["latn"]
    except (UnknownLocaleError, ValueError, KeyError):
        return None
    return NAMES.get(NumberFormat(plain(signs["decimal"]), plain(signs["group"])))


def _is_known(tag: str) -> bool:
    """Whether the locale or what it inherits from, other than the root of all, has signs of its own or is so complete
    that it would have them if they were not those of the root.
    """
    while tag and tag != "root":
        if tag in TAGS and _has_own_signs(tag):
            return True
        tag = get_global("parent_exceptions").get(tag, tag.rpartition("_")[0])
    return False


@cache
def _has_own_signs(tag: str) -> bool:
    # babel would keep what it loads without its parents, and use it as the whole.
    own = pickle.loads(Path(resolve_locale_filename(tag)).read_bytes())
    signs = own.get("number_symbols", {}).get("latn", {})
    return "decimal" in signs or "group" in signs or len(own.get("languages", {})) >= COMPLETE


if __name__ == "__main__":
    sys.stdout.write(render_table())
