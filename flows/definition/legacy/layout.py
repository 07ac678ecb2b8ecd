"""Where editors show the nodes and notes of an old definition (flow format, versions and migrations)."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.definition.legacy.conversion import write_text
from flows.definition.raw_parts import JsonObject, NewUuid, list_objects

NOTE_COLOR = "yellow"
FURTHEST = 10**9


def write_position(given: Mapping[str, Any]) -> JsonObject:
    """The position of a node or note on the canvas, in whole pixels from the left and the top."""
    return {"left": _read_pixels(given.get("x")), "top": _read_pixels(given.get("y"))}


def _read_pixels(value: Any) -> int:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return int(value) if is_number and -FURTHEST < value < FURTHEST else 0


def write_node_layout(given: Mapping[str, Any], shown_type: str, shown: JsonObject) -> JsonObject:
    """How a node is shown."""
    layout: JsonObject = {"type": shown_type, "position": write_position(given)}
    return layout | ({"config": shown} if shown else {})


def write_notes(metadata: Mapping[str, Any], new_uuid: NewUuid) -> JsonObject:
    """The notes that people stuck next to the nodes."""
    return {
        new_uuid(): {
            "position": write_position(note),
            "title": write_text(note.get("title")),
            "body": write_text(note.get("body")),
            "color": NOTE_COLOR,
        }
        for note in list_objects(metadata.get("notes"))
    }
