"""Translations of an unchecked definition: language, then item UUID, then property, then its texts."""

from collections.abc import Iterator
from typing import Any

from flows.definition.raw_parts import JsonObject, read_text


def list_translations(flow: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Every language with the translations in it."""
    localization = flow.get("localization")
    if isinstance(localization, dict):
        yield from ((language, items) for language, items in localization.items() if isinstance(items, dict))


def find_translation(items: JsonObject, part: JsonObject, name: str) -> list[Any] | None:
    """The texts of a property of a part, in the language whose translations are given; None if there are none."""
    properties = items.get(read_text(part, "uuid"))
    texts = properties.get(name) if isinstance(properties, dict) else None
    return texts if isinstance(texts, list) else None


def set_translation(items: JsonObject, part: JsonObject, name: str, texts: list[Any]) -> None:
    """Sets the texts of a property of a part that has a UUID."""
    uuid = read_text(part, "uuid")
    if not uuid:
        return
    if not isinstance(items.get(uuid), dict):
        items[uuid] = {}
    items[uuid][name] = texts


def drop_translation(items: JsonObject, part: JsonObject, name: str) -> None:
    """Removes a property of a part, and the part itself if nothing of it is left."""
    uuid = read_text(part, "uuid")
    properties = items.get(uuid)
    if isinstance(properties, dict):
        properties.pop(name, None)
        if not properties:
            del items[uuid]
