"""Groups whose members are found by a query (flow format, smart groups)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from flows.engine.assets import AssetResolver, Assets, Group
from flows.engine.contact import Contact
from flows.environment import Environment
from flows.queries import PropertyKind, Query, QueryError, QueryValue, evaluate, parse_query
from flows.urns import write_contact_reference

CACHED_ASSETS = 64


@dataclass(frozen=True, slots=True)
class ContactView:
    """A contact as queries read it. Past flows and the nodes of runs are not known here, so queries for
    them match no contact."""

    contact: Contact
    assets: Assets

    def query_values(self, kind: PropertyKind, key: str) -> Sequence[QueryValue]:
        """The values of an attribute, a URN scheme or a field."""
        if kind == "field":
            return self._field_values(key)
        if kind == "scheme":
            return [urn.path for urn in self.contact.urns if urn.scheme == key]
        return self._attribute_values(key)

    def _field_values(self, key: str) -> list[QueryValue]:
        field, stored = self.assets.fields.get(key), self.contact.fields.get(key)
        value = stored.typed(field.type) if field and stored else None
        return [] if value is None else [value]

    def _attribute_values(self, key: str) -> list[QueryValue]:
        contact = self.contact
        if key == "urn":
            return [urn.path for urn in contact.urns]
        if key == "group":
            return [self._group_name(uuid) for uuid in contact.groups]
        if key == "tickets":
            return [len(contact.open_tickets)]
        if key in ("created_on", "last_seen_on"):
            moment = contact.created_at if key == "created_on" else contact.last_seen_at
            return [moment] if moment else []
        if key == "ref":
            return [write_contact_reference(contact.id)]
        if key in ("uuid", "id", "name", "status", "language"):
            return [str(getattr(contact, key))]
        return []

    def _group_name(self, uuid: str) -> str:
        group = self.assets.groups.get(uuid)
        return group.name if group else self.contact.group_names.get(uuid, "")


class Membership:
    """Whether a contact belongs to groups with queries; a query that cannot be read has no members.

    If URNs are redacted, queries that read more of them than whether there are any have no members either.
    """

    __slots__ = ("_assets", "_environment", "_queries", "_view")

    def __init__(self, contact: Contact, assets: Assets, environment: Environment) -> None:
        self._assets = assets
        self._environment = environment
        self._view = ContactView(contact, assets)
        self._queries = _parsed_queries(assets, environment)

    def includes(self, group: Group) -> bool:
        """Whether the contact, as it is now, belongs to a group."""
        queries = self._queries
        query = queries[group.query] if group.query in queries else self._parse(group.query)
        try:
            return query is not None and evaluate(query, self._view, self._environment)
        except QueryError:
            return False

    def _parse(self, text: str) -> Query | None:
        try:
            query = parse_query(text, self._environment, AssetResolver(self._assets))
        except QueryError:
            query = None
        self._queries[text] = query
        return query


@lru_cache(maxsize=CACHED_ASSETS)
def _parsed_queries(assets: Assets, environment: Environment) -> dict[str, Query | None]:
    """The queries of these assets that have been parsed so far; None for one that cannot be read."""
    return {}
