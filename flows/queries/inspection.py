"""What a query depends on, and whether it may define a smart group."""

from dataclasses import dataclass
from typing import Any

from flows.queries.properties import NOT_IN_GROUPS
from flows.queries.resolver import NamedReference, Resolver
from flows.queries.tree import Condition, Query, walk_conditions


@dataclass(frozen=True, slots=True)
class Inspection:
    """Names of attributes and schemes, keys and names of fields, and groups; each list sorted."""

    attributes: tuple[str, ...]
    schemes: tuple[str, ...]
    fields: tuple[tuple[str, str], ...]
    groups: tuple[NamedReference, ...]
    allow_as_group: bool

    def to_json(self) -> dict[str, Any]:
        """The form in which services exchange it."""
        return {
            "attributes": list(self.attributes),
            "schemes": list(self.schemes),
            "fields": [{"key": key, "name": name} for key, name in self.fields],
            "groups": [{"uuid": group.uuid, "name": group.name} for group in self.groups],
            "allow_as_group": self.allow_as_group,
        }


def inspect(query: Query, resolver: Resolver | None = None) -> Inspection:
    """Lists what a query depends on; a resolver adds the names of fields and finds groups."""
    conditions = list(walk_conditions(query))
    attributes = {condition.key for condition in conditions if condition.kind == "attribute"}
    schemes = {condition.key for condition in conditions if condition.kind == "scheme"}
    fields = {condition.key for condition in conditions if condition.kind == "field"}
    return Inspection(
        attributes=tuple(sorted(attributes)),
        schemes=tuple(sorted(schemes)),
        fields=tuple((key, _name_field(key, resolver)) for key in sorted(fields)),
        groups=_find_groups(conditions, resolver),
        allow_as_group=attributes.isdisjoint(NOT_IN_GROUPS),
    )


def _name_field(key: str, resolver: Resolver | None) -> str:
    field = resolver.find_field(key) if resolver else None
    return field.name if field else ""


def _find_groups(conditions: list[Condition], resolver: Resolver | None) -> tuple[NamedReference, ...]:
    if resolver is None:
        return ()
    names = {condition.value for condition in conditions if condition.kind == "attribute" and condition.key == "group"}
    found = {group for name in names if name and (group := resolver.find_group(name))}
    return tuple(sorted(found, key=lambda group: group.name))
