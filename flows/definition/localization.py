"""Translations of the localizable properties: finding and checking them (flow format, localization of flows)."""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.definition.fields import CheckFailed
from flows.definition.migrating import Version
from flows.definition.model import Flow
from flows.definition.raw_parts import JsonObject, is_uuid, list_translations
from flows.languages import is_language_of_translations
from flows.words import told

PROPERTY_NAME_LENGTH, MOST_PROPERTIES, MOST_VALUES, VALUE_LENGTH = 20, 10, 10, 10_000
# From these versions on, translations are limited, and their languages have to exist.
FIRST_WITH_LIMITS, FIRST_WITH_LANGUAGES = (14, 0, 0), (14, 2, 0)


def localize(
    flow: Flow, languages: Sequence[str], item_uuid: str, name: str, base: Sequence[Any]
) -> tuple[list[Any], str]:
    """The values of a property in the first language that has them, and that language. The flow's own language, and
    every language without a translation, gives `base`. A translation that is empty, has only one empty string, or is
    not a list does not count.
    """
    for language in languages:
        if language == flow.language:
            break
        translated = _look_up(flow.localization, language, item_uuid, name)
        if translated and translated != [""]:
            return translated, language
    return list(base), flow.language


def _look_up(localization: object, *keys: str) -> list[Any]:
    found = localization
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return list(found) if isinstance(found, list) else []


def check_localization(localization: Mapping[str, Any], version: Version) -> None:
    """Raises CheckFailed, with the path to the part, if the translations of a definition of a version are invalid.
    Anything other than an object or a list of strings is skipped, because it is never read.
    """
    for language, items in localization.items():
        if version >= FIRST_WITH_LANGUAGES and not is_language_of_translations(language):
            raise CheckFailed(f"{told(language)} is not a language: three small letters, such as eng", f".{language}")
        for uuid, properties in items.items() if isinstance(items, Mapping) else ():
            place = f".{language}.{uuid}"
            if not is_uuid(uuid):
                raise CheckFailed(f"{told(uuid)} is not a UUID", place)
            if isinstance(properties, Mapping):
                _check_names(properties, place)
                if version >= FIRST_WITH_LIMITS:
                    _check_properties(properties, place)


def cut_translations(definition: JsonObject) -> None:
    """Cuts translations, in place, to the limits of their number and length."""
    for _, items in list_translations(definition):
        for uuid, properties in items.items():
            if isinstance(properties, dict):
                kept = list(properties.items())[:MOST_PROPERTIES]
                items[uuid] = {name: _cut(values) for name, values in kept}


def _cut(values: object) -> Any:
    if not isinstance(values, list):
        return values
    return [value[:VALUE_LENGTH] if isinstance(value, str) else value for value in values[:MOST_VALUES]]


def _check_names(properties: Mapping[str, Any], place: str) -> None:
    # No property ever had a longer name, so this is right for the oldest definitions too.
    for name in properties:
        if len(name) > PROPERTY_NAME_LENGTH:
            raise CheckFailed(
                f"its name has {len(name)} characters; at most {PROPERTY_NAME_LENGTH} are possible", f"{place}.{name}"
            )


def _check_properties(properties: Mapping[str, Any], place: str) -> None:
    if len(properties) > MOST_PROPERTIES:
        raise CheckFailed(f"has {len(properties)} properties; at most {MOST_PROPERTIES} are possible", place)
    for name, values in properties.items():
        if not isinstance(values, list):
            continue
        if len(values) > MOST_VALUES:
            raise CheckFailed(f"has {len(values)} values; at most {MOST_VALUES} are possible", f"{place}.{name}")
        for at, value in enumerate(values):
            if isinstance(value, str) and len(value) > VALUE_LENGTH:
                many = f"has {len(value)} characters; at most {VALUE_LENGTH} are possible"
                raise CheckFailed(many, f"{place}.{name}[{at}]")
