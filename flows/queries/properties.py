"""The properties in queries: attributes of contacts, schemes of their URNs, and custom fields."""

from typing import Literal

PropertyKind = Literal["attribute", "scheme", "field"]
ValueType = Literal["text", "number", "datetime", "state", "district", "ward", "unknown"]

ATTRIBUTES: dict[str, ValueType] = {
    "uuid": "text",
    "id": "text",
    "ref": "text",
    "name": "text",
    "status": "text",
    "language": "text",
    "urn": "text",
    "group": "text",
    "flow": "text",
    "history": "text",
    "tickets": "number",
    "created_on": "datetime",
    "last_seen_on": "datetime",
}
STATUSES = ("active", "blocked", "stopped", "archived")
ALWAYS_SET = frozenset(("uuid", "id", "ref", "status", "created_on", "tickets"))
# A smart group with these would depend on itself, or change although the contact has not changed.
NOT_IN_GROUPS = frozenset(("id", "ref", "status", "group", "flow", "history"))
PLACE_TYPES = frozenset(("state", "district", "ward"))
COMPARABLE_TYPES = frozenset(("number", "datetime", "unknown"))
PREFIXES: dict[PropertyKind, str] = {"attribute": "", "scheme": "urns.", "field": "fields."}
