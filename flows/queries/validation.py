"""Checks that a condition is valid: operator and value must match the property (flow format, operators).

What a query depends on, and whether it may define a smart group.
"""

from dataclasses import dataclass
from typing import Any

from flows.dates import parse_datetime
from flows.environment import Clock, Environment
from flows.languages import is_language
from flows.queries.evaluation import read_number
from flows.queries.implicit import ADDRESS_PART_LENGTH_MIN, NAME_WORD_LENGTH_MIN, has_searchable_word
from flows.queries.resolver import ALWAYS_SET, COMPARABLE_TYPES, NOT_IN_GROUPS, STATUSES, NamedReference, Resolver
from flows.queries.tree import Condition, Query, QueryError, walk_conditions


def validate_condition(condition: Condition, environment: Environment, resolver: Resolver | None, clock: Clock) -> None:
    """Raises QueryError, with one of the codes of the contact query language."""
    if condition.is_address and environment.redacts_urns and condition.value != "":
        raise QueryError("redacted_urns", "cannot query on redacted URNs")
    if condition.operator == "~":
        _validate_contains(condition)
    elif condition.operator not in ("=", "!="):
        _validate_comparison(condition)
    if condition.is_set_check:
        _validate_set_check(condition)
    elif condition.value_type == "number":
        read_number(condition.value, environment)
    elif condition.value_type == "datetime":
        _validate_date(condition.value, environment, clock)
    elif condition.kind == "attribute":
        _validate_attribute(condition, resolver)


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


def _validate_contains(condition: Condition) -> None:
    is_name = condition.kind == "attribute" and condition.key == "name"
    if not is_name and not condition.is_address:
        raise QueryError(
            "unsupported_contains",
            "contains conditions can only be used with name or URN values",
            {"property": condition.key},
        )
    if is_name and not has_searchable_word(condition.value):
        raise QueryError(
            "invalid_partial_name",
            f"contains operator on name requires token of minimum length {NAME_WORD_LENGTH_MIN}",
            {"min_token_length": str(NAME_WORD_LENGTH_MIN)},
        )
    if condition.is_address and len(condition.value) < ADDRESS_PART_LENGTH_MIN:
        raise QueryError(
            "invalid_partial_urn",
            f"contains operator on URN requires value of minimum length {ADDRESS_PART_LENGTH_MIN}",
            {"min_value_length": str(ADDRESS_PART_LENGTH_MIN)},
        )


def _validate_comparison(condition: Condition) -> None:
    if condition.value_type not in COMPARABLE_TYPES:
        raise QueryError(
            "unsupported_comparison",
            f"comparisons with {condition.operator} can only be used with date and number fields",
            {"property": condition.key, "operator": condition.operator},
        )


def _validate_set_check(condition: Condition) -> None:
    if condition.kind == "attribute" and condition.key in ALWAYS_SET:
        raise QueryError(
            "unsupported_setcheck",
            f"can't check whether '{condition.key}' is set or not set",
            {"property": condition.key, "operator": condition.operator},
        )


def _validate_date(value: str, environment: Environment, clock: Clock) -> None:
    if parse_datetime(environment, clock, value) is None:
        raise QueryError("invalid_date", f"can't convert '{value}' to a date", {"value": value})


def _validate_attribute(condition: Condition, resolver: Resolver | None) -> None:
    key, value = condition.key, condition.value
    if key == "status" and value.lower() not in STATUSES:
        raise QueryError("invalid_status", f"'{value}' is not a valid contact status", {"value": value})
    if key == "language" and not is_language(value.lower()):
        raise QueryError("invalid_language", f"'{value}' is not a valid language code", {"value": value})
    if resolver is None:
        return
    if key == "group" and resolver.find_group(value) is None:
        raise QueryError("invalid_group", f"'{value}' is not a valid group name", {"value": value})
    if key in ("flow", "history") and resolver.find_flow(value) is None:
        raise QueryError("invalid_flow", f"'{value}' is not a valid flow name", {"value": value})


def _name_field(key: str, resolver: Resolver | None) -> str:
    field = resolver.find_field(key) if resolver else None
    return field.name if field else ""


def _find_groups(conditions: list[Condition], resolver: Resolver | None) -> tuple[NamedReference, ...]:
    if resolver is None:
        return ()
    names = {condition.value for condition in conditions if condition.kind == "attribute" and condition.key == "group"}
    found = {group for name in names if name and (group := resolver.find_group(name))}
    return tuple(sorted(found, key=lambda group: group.name))
