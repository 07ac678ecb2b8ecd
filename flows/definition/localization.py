"""Finding the translation of a localizable property (flow format, localization of flows)."""

from collections.abc import Mapping, Sequence
from typing import Any

from flows.definition.model import Flow


def localize(
    flow: Flow, languages: Sequence[str], item_uuid: str, name: str, base: Sequence[Any]
) -> tuple[list[Any], str]:
    """The values of a property in the first language that has them, and that language.

    The flow's own language, and every language without a translation, gives `base`. A translation that is empty, or one
    single empty text, does not count; neither does one that is no list.
    """
    for language in languages:
        if language == flow.language:
            break
        translated = _look_up(flow.localization, language, item_uuid, name)
        if translated and translated != [""]:
            return translated, language
    return list(base), flow.language


def _look_up(localization: Any, *keys: str) -> list[Any]:
    found = localization
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return list(found) if isinstance(found, list) else []
