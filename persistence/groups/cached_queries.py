"""Cached statements that find the members of smart groups. Translating the queries of fifty groups takes twenty times
as long as running them for one contact. A statement is cached with all look-ups of its translation, and translated
again if the result of one of these changes.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import ColumnElement, Engine, Select, and_, false, select

from flows.queries import FieldReference, NamedReference, QueryError, Resolver, parse_query
from persistence.contacts.queries import SearchScope, find_matches, open_group_scope
from persistence.database import Transaction
from persistence.leases import beside_index
from persistence.sql.columns import split
from persistence.statements import Compiled, ListOf, among, param
from persistence.tables.contacts import contact, field
from persistence.workspaces.records import Workspace

CONTACTS_AT_ONCE = 500
GROUPS_PER_STATEMENT = 100
STATEMENTS_KEPT = 256

GroupQueries = Sequence[tuple[int, str | None]]
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CachedStatement:
    """A compiled statement; `asked` are the look-ups of its queries with their results."""

    compiled: Compiled
    asked: Mapping[tuple[str, str], Any]


_kept: WeakKeyDictionary[Engine, OrderedDict[Key, CachedStatement]] = WeakKeyDictionary()
_lock = threading.Lock()


def find_fitting(
    tx: Transaction, workspace: Workspace, queries: GroupQueries, contact_ids: Sequence[int]
) -> dict[int, set[int]]:
    """For each existing contact of these, the groups to which it belongs according to their queries."""
    fitting: dict[int, set[int]] = {}
    scope = open_group_scope(tx, workspace)
    for some in split(sorted(set(contact_ids)), CONTACTS_AT_ONCE):
        for part in split(queries, GROUPS_PER_STATEMENT):
            statement = _find_statement(tx, workspace.id, scope, part)
            rows, _ = statement.compiled.send(tx, {"ids": some}, may_prepare=False)
            for contact_id, *fits in rows:
                found = {group_id for (group_id, _), is_fitting in zip(part, fits, strict=True) if is_fitting}
                fitting.setdefault(contact_id, set()).update(found)
    return fitting


def membership(workspace_id: int, text: str | None, scope: SearchScope) -> ColumnElement[bool]:
    """The condition for members; an invalid query, for example with a deleted field, has no members."""
    try:
        query = parse_query(text or "", scope.environment, scope.resolver, clock=scope.clock)
        return and_(find_matches(workspace_id, query, scope))
    except QueryError:
        return false()


def _find_statement(tx: Transaction, workspace_id: int, scope: SearchScope, queries: GroupQueries) -> CachedStatement:
    key = (workspace_id, repr(scope.environment), tuple(queries))
    engine = tx.connection.engine
    with _lock:
        kept = _kept.setdefault(engine, OrderedDict()).get(key)
    if kept is not None and _is_true(tx, workspace_id, scope.resolver, kept.asked):
        return kept
    asking = _AskedFor(scope.resolver)
    compiled = Compiled(_select(workspace_id, replace(scope, resolver=asking), queries), tx.dialect)
    made = CachedStatement(compiled, asking.answers)
    with _lock:
        statements = _kept.setdefault(engine, OrderedDict())
        statements.pop(key, None)
        statements[key] = made
        if len(statements) > STATEMENTS_KEPT:
            statements.popitem(last=False)
    return made


def _select(workspace_id: int, scope: SearchScope, queries: GroupQueries) -> Select[Any]:
    columns: list[Any] = [membership(workspace_id, text, scope).label(f"in_{group_id}") for group_id, text in queries]
    mine = (beside_index(contact.c.workspace_id) == workspace_id) & among(contact.c.id, param("ids", ListOf()))
    return select(contact.c.id, *columns).where(mine)


def _is_true(tx: Transaction, workspace_id: int, resolver: Resolver, asked: Mapping[tuple[str, str], Any]) -> bool:
    """Whether the same look-ups have the same results now. Only the fields concerned are read, because there may be
    many."""
    keys = sorted(name for kind, name in asked if kind == "field")
    known = _read_fields(tx, workspace_id, keys) if keys else {}
    return all(
        answer == (known.get(name) if kind == "field" else _ask(resolver, kind, name))
        for (kind, name), answer in asked.items()
    )


def _read_fields(tx: Transaction, workspace_id: int, keys: Sequence[str]) -> dict[str, FieldReference]:
    mine = (field.c.workspace_id == workspace_id) & field.c.key.in_(keys)
    rows = tx.execute(select(field.c.key, field.c.name, field.c.type, field.c.uuid).where(mine))
    return {row.key: FieldReference(*row) for row in rows}  # type: ignore[arg-type]  # its type is one of the words


def _ask(resolver: Resolver, kind: str, name: str) -> NamedReference | None:
    return resolver.find_group(name) if kind == "group" else resolver.find_flow(name)


class _AskedFor:
    """A resolver that records its look-ups and their results."""

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self.answers: dict[tuple[str, str], Any] = {}

    def find_field(self, key: str) -> FieldReference | None:
        answer = self._resolver.find_field(key)
        self.answers["field", key] = answer
        return answer

    def find_group(self, name: str) -> NamedReference | None:
        answer = self._resolver.find_group(name)
        self.answers["group", name] = answer
        return answer

    def find_flow(self, name: str) -> NamedReference | None:
        answer = self._resolver.find_flow(name)
        self.answers["flow", name] = answer
        return answer
