"""How queries find the fields, groups and flows of a workspace.

The properties in queries: attributes of contacts, schemes of their URNs, and custom fields.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol, Self

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
    "waits_at": "text",
    "tickets": "number",
    "created_on": "datetime",
    "last_seen_on": "datetime",
}
STATUSES = ("active", "blocked", "stopped", "archived")
ALWAYS_SET = frozenset(("uuid", "id", "ref", "status", "created_on", "tickets"))

# A smart group with these would depend on itself, or change although the contact has not changed.
NOT_IN_GROUPS = frozenset(("id", "ref", "status", "group", "flow", "history", "waits_at"))
PLACE_TYPES = frozenset(("state", "district", "ward"))
COMPARABLE_TYPES = frozenset(("number", "datetime", "unknown"))
PREFIXES: dict[PropertyKind, str] = {"attribute": "", "scheme": "urns.", "field": "fields."}


@dataclass(frozen=True, slots=True)
class FieldReference:
    """A custom field and the type of its values."""

    key: str
    name: str
    type: ValueType
    uuid: str = ""


@dataclass(frozen=True, slots=True)
class NamedReference:
    """A group or a flow."""

    uuid: str
    name: str


class Resolver(Protocol):
    """Finds records of a workspace by their names in queries; names ignore case."""

    def find_field(self, key: str) -> FieldReference | None:
        """The field with a key in lower case."""

    def find_group(self, name: str) -> NamedReference | None:
        """The group with a name."""

    def find_flow(self, name: str) -> NamedReference | None:
        """The flow with a name."""


@dataclass(frozen=True, slots=True)
class ListResolver:
    """A resolver for records in memory."""

    fields: dict[str, FieldReference] = field(default_factory=dict)
    groups: dict[str, NamedReference] = field(default_factory=dict)
    flows: dict[str, NamedReference] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        fields: Iterable[FieldReference] = (),
        groups: Iterable[NamedReference] = (),
        flows: Iterable[NamedReference] = (),
    ) -> Self:
        """A resolver for lists of records."""
        return cls(
            {item.key: item for item in fields},
            {item.name.lower(): item for item in groups},
            {item.name.lower(): item for item in flows},
        )

    def find_field(self, key: str) -> FieldReference | None:
        """The field with a key."""
        return self.fields.get(key)

    def find_group(self, name: str) -> NamedReference | None:
        """The group with a name, in any case."""
        return self.groups.get(name.lower())

    def find_flow(self, name: str) -> NamedReference | None:
        """The flow with a name, in any case."""
        return self.flows.get(name.lower())
