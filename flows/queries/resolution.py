"""Finds out which property a query means by a name."""

from flows.queries.errors import QueryError
from flows.queries.properties import ATTRIBUTES, PropertyKind, ValueType
from flows.queries.resolver import Resolver
from flows.urns import SCHEMES


def resolve_property(name: str, resolver: Resolver | None) -> tuple[PropertyKind, str, ValueType]:
    """The kind, key and type of a property: an attribute, else a scheme, else a field, unless a prefix says which.

    Raises QueryError for names that mean nothing in the workspace.
    """
    prefix, _, key = name.lower().rpartition(".")
    if prefix not in ("", "fields", "urns"):
        raise QueryError("unknown_property_type", f"unknown property type '{prefix}'", {"type": prefix})
    if prefix == "" and key in ATTRIBUTES:
        return "attribute", key, ATTRIBUTES[key]
    if prefix in ("", "urns") and key in SCHEMES:
        return "scheme", key, "text"
    if prefix != "urns":
        if resolver is None:
            return "field", key, "unknown"
        field = resolver.find_field(key)
        if field:
            return "field", key, field.type
    raise QueryError("unknown_property", f"can't resolve '{key}' to attribute, scheme or field", {"property": key})
