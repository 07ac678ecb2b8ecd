"""Whole definitions before version 13: action sets and rule sets (flow format, versions and migrations), and where
editors show their nodes and notes.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.definition.errors import DefinitionError
from flows.definition.legacy.actions import list_items, migrate_action
from flows.definition.legacy.conversion import Conversion, write_text
from flows.definition.legacy.rule_sets import migrate_rule_set
from flows.definition.raw_parts import JsonObject, NewUuid, is_uuid, list_objects
from flows.words import told

LEGACY_KEYS = ("action_sets", "rule_sets", "flow_type")
# Flows that campaigns made have no type.
FLOW_TYPES = {
    **dict.fromkeys(("", "F", "M", "U"), "messaging"),
    "B": "messaging_background",
    "S": "messaging_offline",
    "V": "voice",
}
MIGRATED_VERSION = "13.0.0"


def is_legacy(definition: Mapping[str, Any]) -> bool:
    """Whether a definition has the form before version 13."""
    parts = _unwrap(definition)
    return "nodes" not in parts and any(key in parts for key in LEGACY_KEYS)


def migrate_legacy(definition: Mapping[str, Any], new_uuid: NewUuid, media_url: str) -> JsonObject:
    """An old definition in version 13.0; relative URLs of files are resolved against `media_url`. Raises
    DefinitionError."""
    parts = _unwrap(definition)
    metadata = parts.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    # Values next to the metadata come from hosts that rename imported flows.
    flow_uuid = next((uuid for uuid in (parts.get("uuid"), metadata.get("uuid")) if is_uuid(uuid)), None) or new_uuid()
    flow_type = write_text(parts.get("flow_type"))
    if flow_type not in FLOW_TYPES:
        raise DefinitionError(
            f"{told(parts.get('flow_type'))} is not a type of flow", flow=flow_uuid, field="flow_type"
        )
    conversion = Conversion(flow_uuid, write_text(parts.get("base_language")), media_url, new_uuid)
    nodes, layouts = _migrate_nodes(conversion, parts)
    return {
        "uuid": flow_uuid,
        "name": write_text(parts.get("name")) or write_text(metadata.get("name")),
        "spec_version": MIGRATED_VERSION,
        "language": conversion.language,
        "type": FLOW_TYPES[flow_type],
        "revision": _read_integer(metadata.get("revision")),
        "expire_after_minutes": _read_integer(metadata.get("expires")),
        "localization": conversion.localization,
        "nodes": nodes,
        "_ui": {"nodes": layouts, "stickies": write_notes(metadata, new_uuid)},
    }


def _unwrap(definition: Mapping[str, Any]) -> Mapping[str, Any]:
    # The oldest export files had the definition within a record of the flow.
    inner = definition.get("definition")
    return {**definition, **inner} if isinstance(inner, Mapping) else definition


def _read_integer(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _migrate_nodes(conversion: Conversion, parts: Mapping[str, Any]) -> tuple[list[JsonObject], JsonObject]:
    """The nodes, the entry first and the others from top to bottom, and their layout."""
    action_sets, rule_sets = (_list_sets(conversion, parts, key) for key in ("action_sets", "rule_sets"))
    conversion.destinations = frozenset(given["uuid"] for given in (*action_sets, *rule_sets))
    conversion.taken |= conversion.destinations
    nodes: list[JsonObject] = []
    layouts: JsonObject = {}
    for given in action_sets:
        conversion.node_uuid = given["uuid"]
        nodes.append(_migrate_action_set(conversion, given))
        layouts[given["uuid"]] = write_node_layout(given, "execute_actions", {})
    for given in rule_sets:
        conversion.node_uuid = given["uuid"]
        node, shown_type, shown = migrate_rule_set(conversion, given)
        nodes.append(node)
        layouts[given["uuid"]] = write_node_layout(given, shown_type, shown)
    entry = parts.get("entry")
    nodes.sort(key=lambda node: (node["uuid"] != entry, layouts[node["uuid"]]["position"]["top"]))
    return nodes, layouts


def _list_sets(conversion: Conversion, parts: Mapping[str, Any], key: str) -> list[JsonObject]:
    given = parts.get(key)
    sets = list_objects(given)
    if len(sets) != len(list_items(given)) or not (given is None or isinstance(given, list)):
        raise conversion.fail("is not a list of objects", key)
    if not all(is_uuid(each.get("uuid")) for each in sets):
        wrong = next(each.get("uuid") for each in sets if not is_uuid(each.get("uuid")))
        raise conversion.fail(f"{told(wrong)} is not a UUID", f"{key}.uuid")
    return sets


def _migrate_action_set(conversion: Conversion, given: JsonObject) -> JsonObject:
    actions = [migrate_action(conversion, action) for action in list_items(given.get("actions"))]
    way_out = {
        "uuid": conversion.keep_uuid(given.get("exit_uuid")),
        **conversion.find_destination(given.get("destination")),
    }
    return {"uuid": given["uuid"], **({"actions": actions} if actions else {}), "exits": [way_out]}


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
