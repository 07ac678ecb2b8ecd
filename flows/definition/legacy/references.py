"""References of old definitions to groups, labels, flows and contacts (flow format, versions and migrations)."""

from collections.abc import Mapping
from typing import Any

from flows.definition.legacy.conversion import Conversion, write_text
from flows.definition.raw_parts import JsonObject, list_objects


def list_items(value: object) -> list[Any]:
    """The items of a list; empty for anything else."""
    return value if isinstance(value, list) else []


def write_reference(value: object) -> JsonObject:
    """The reference to a flow, channel or contact by UUID and name."""
    given = value if isinstance(value, Mapping) else {}
    return {"uuid": write_text(given.get("uuid")), "name": write_text(given.get("name"))}


def write_matches(conversion: Conversion, value: object) -> list[JsonObject]:
    """Groups or labels: by UUID if it is known, otherwise by a name, which may be a template."""
    references: list[JsonObject] = []
    for item in list_items(value):
        reference = write_reference(item)
        if reference["uuid"]:
            references.append(reference)
            continue
        name = reference["name"] or write_text(item)
        references.append({"name_match": conversion.migrate(name) if name.startswith("@") else name})
    return references


def write_recipients(conversion: Conversion, action: JsonObject) -> JsonObject:
    """The groups, contacts and variables of messages and flow starts; only those that are present."""
    contacts = [write_reference(item) for item in list_objects(action.get("contacts"))]
    recipients: JsonObject = {
        "contacts": [contact for contact in contacts if contact["uuid"]],
        "groups": write_matches(conversion, action.get("groups")),
        "legacy_vars": [conversion.migrate(name) for name in list_variables(action) if name != NEW_CONTACT],
    }
    return {key: items for key, items in recipients.items() if items}


def list_variables(action: JsonObject) -> list[str]:
    """The recipients by expression, as written."""
    items = list_items(action.get("variables"))
    return [write_text(item.get("id") if isinstance(item, Mapping) else item) for item in items]


NEW_CONTACT = "@new_contact"
