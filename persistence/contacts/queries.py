"""Contact queries: which contacts of a workspace match, as SQL (flow format, contact queries), what a query may refer
to, and whether what people type into a search can be read. The condition holds for the same contacts as
`flows.queries.evaluate`; both are tested on the same cases.
"""

import dataclasses
import typing
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Select,
    String,
    Table,
    and_,
    case,
    cast,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    true,
)

from flows.environment import Clock, Environment, SystemClock
from flows.numbers import render_decimal
from flows.queries import (
    Combination,
    Condition,
    FieldReference,
    NamedReference,
    Query,
    QueryError,
    Resolver,
    inspect,
    parse_query,
)
from flows.queries.evaluation import name_prefixes, read_day, read_number
from flows.queries.resolver import ATTRIBUTES, COMPARABLE_TYPES, PLACE_TYPES, STATUSES, ValueType
from flows.queries.tree import walk_conditions
from flows.urns import SCHEMES, read_contact_reference
from persistence.contacts.urns import FixedClock, environment_of
from persistence.database import Transaction
from persistence.errors import Refused
from persistence.sql.columns import NamedRecordColumns, is_uuid
from persistence.sql.names import name_key
from persistence.sql.query_functions import (
    NumberOrder,
    PlaceName,
    TextAsMoment,
    contains_folded,
    folds_to,
    is_same,
    make_name_match,
)
from persistence.tables.contacts import ACTIVE, contact, contact_urn, field, group, group_membership
from persistence.tables.flows import GOES_ON, LastNode, flow, flow_run
from persistence.workspaces.records import Workspace

ID_DIGITS_MAX = 10

Clause = ColumnElement[bool]

_COLUMNS = {"tickets": "open_ticket_count", "created_on": "created_on", "last_seen_on": "last_seen_on"}

MOST_COUNTED = 10_000
EQUALITY, CONTAINS, COMPARISON = ["=", "!="], ["~"], [">", ">=", "<", "<="]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The scope of a query's translation: the records that it may name, and the formats of its values."""

    resolver: Resolver
    environment: Environment
    clock: Clock = dataclasses.field(default_factory=SystemClock)
    workspace_id: int = 0


def find_matches(workspace_id: int, query: Query | None, scope: SearchScope) -> Clause:
    """The condition for matching contacts of a workspace: not deleted, and active unless the query contains the status.
    Raises QueryError for a query that cannot be translated because it was parsed without knowing its fields.
    """
    mine = and_(contact.c.workspace_id == workspace_id, ~contact.c.is_deleted)
    if query is None:
        return and_(mine, contact.c.status == ACTIVE)
    asks_status = any(one.kind == "attribute" and one.key == "status" for one in walk_conditions(query))
    condition = translate_query(query, scope)
    return and_(mine, condition) if asks_status else and_(mine, contact.c.status == ACTIVE, condition)


def translate_query(query: Query, scope: SearchScope) -> Clause:
    """The condition of a query on the contact table. Raises QueryError."""
    if isinstance(query, Combination):
        clauses = [translate_query(child, scope) for child in query.children]
        return and_(true(), *clauses) if query.op == "and" else or_(false(), *clauses)
    if query.is_set_check:
        is_set = _has_value(query, scope)
        return is_set if query.operator == "!=" else not_(is_set)
    if query.operator == "!=":
        # A contact without a value is not equal to any value, so unknown counts as different.
        return case((_matches(query, scope), false()), else_=true())
    return _matches(query, scope)


def _matches_uuid(condition: Condition, scope: SearchScope) -> Clause:
    value = condition.value.strip()
    return contact.c.uuid == value if is_uuid(value) else false()


def _matches_id(condition: Condition, scope: SearchScope) -> Clause:
    value = condition.value.strip()
    if not value.isdecimal() or len(value) > ID_DIGITS_MAX:
        return false()
    return cast(contact.c.id, String) == value


def _matches_reference(condition: Condition, scope: SearchScope) -> Clause:
    contact_id = read_contact_reference(condition.value.strip())
    return false() if contact_id is None else contact.c.id == contact_id


def _matches_name(condition: Condition, scope: SearchScope) -> Clause:
    if condition.operator == "~":
        return make_name_match(contact.c.name, name_prefixes(condition.value))
    return _equals(condition, contact.c.name)


def _matches_code(condition: Condition, scope: SearchScope) -> Clause:
    return contact.c[condition.key] == condition.value.strip().lower()


def _matches_group(condition: Condition, scope: SearchScope) -> Clause:
    found = scope.resolver.find_group(condition.value)
    if found is None:
        return false()
    members = select(group_membership.c.contact_id).join(group, group.c.id == group_membership.c.group_id)
    return contact.c.id.in_(members.where(group.c.uuid == found.uuid))


def _matches_flow(condition: Condition, scope: SearchScope) -> Clause:
    found = scope.resolver.find_flow(condition.value)
    return false() if found is None else contact.c.current_flow_id == _flow_id(found.uuid)


def _matches_history(condition: Condition, scope: SearchScope) -> Clause:
    found = scope.resolver.find_flow(condition.value)
    return false() if found is None else _was_in_flow(flow_run.c.flow_id == _flow_id(found.uuid))


def _matches_node(condition: Condition, scope: SearchScope) -> Clause:
    return contact.c.id.in_(_at_nodes(scope).where(LastNode(flow_run.c.path) == condition.value.strip()))


_ATTRIBUTES: dict[str, Callable[[Condition, SearchScope], Clause]] = {
    "uuid": _matches_uuid,
    "id": _matches_id,
    "ref": _matches_reference,
    "name": _matches_name,
    "status": _matches_code,
    "language": _matches_code,
    "group": _matches_group,
    "flow": _matches_flow,
    "history": _matches_history,
    "waits_at": _matches_node,
}


def open_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of a workspace's queries; its resolver is also used to parse them."""
    resolver = WorkspaceResolver(tx, workspace.id)
    return SearchScope(resolver, environment_of(workspace), FixedClock(tx.now), workspace.id)


def open_group_scope(tx: Transaction, workspace: Workspace) -> SearchScope:
    """The scope of queries that define groups: here hidden URNs can be queried, because they may decide about
    membership."""
    scope = open_scope(tx, workspace)
    return replace(scope, environment=replace(scope.environment, redaction_policy="none"))


def match_query(
    tx: Transaction, workspace: Workspace, text: str, parameter: str, *, for_agent: bool = False
) -> ColumnElement[bool]:
    """The condition for the contacts that match a query of a request; agents query only fields that they may see.
    Raises Refused for a query that is not valid.
    """
    scope = open_scope(tx, workspace)
    if for_agent:
        scope = replace(scope, resolver=WorkspaceResolver(tx, workspace.id, for_agent=True))
    try:
        query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
        return find_matches(workspace.id, query, scope)
    except QueryError as error:
        place = "" if error.position is None else f" (character {error.position})"
        raise Refused(f"Parameter {parameter}: {error.message}{place}.") from error


class WorkspaceResolver:
    """The fields, groups and flows of a workspace; each kind is read by one statement when a query first refers to
    one."""

    def __init__(self, tx: Transaction, workspace_id: int, *, for_agent: bool = False) -> None:
        """For an agent there are no fields that agents may not see."""
        self._tx = tx
        self._workspace_id = workspace_id
        self._for_agent = for_agent

    def find_field(self, key: str) -> FieldReference | None:
        """The field with a key in lower case."""
        return self._fields.get(key)

    def find_group(self, name: str) -> NamedReference | None:
        """The group with a name."""
        return self._groups.get(name_key(name))

    def find_flow(self, name: str) -> NamedReference | None:
        """The flow with a name, archived or not."""
        return self._flows.get(name_key(name))

    @cached_property
    def _fields(self) -> dict[str, FieldReference]:
        columns = (field.c.key, field.c.name, field.c.type, field.c.uuid)
        statement = select(*columns).where(field.c.workspace_id == self._workspace_id)
        rows = self._tx.execute(statement.where(field.c.agent_access != "none") if self._for_agent else statement)
        return {key: FieldReference(key, name, typing.cast(ValueType, kind), uuid) for key, name, kind, uuid in rows}

    @cached_property
    def _groups(self) -> dict[str, NamedReference]:
        return self._read_named(group)

    @cached_property
    def _flows(self) -> dict[str, NamedReference]:
        return self._read_named(flow)

    def _read_named(self, table: Table[NamedRecordColumns]) -> dict[str, NamedReference]:
        columns = (table.c.uuid, table.c.name, table.c.name_key)
        rows = self._tx.execute(select(*columns).where(table.c.workspace_id == self._workspace_id))
        return {key: NamedReference(uuid, name) for uuid, name, key in rows}


def check_query(tx: Transaction, workspace: Workspace, text: str, *, for_agent: bool) -> dict[str, Any]:
    """The canonical form of a query and the number of matching contacts. Raises Refused."""
    matches = match_query(tx, workspace, text, "query", for_agent=for_agent)
    scope = open_scope(tx, workspace)
    query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
    found = select(contact.c.id).where(matches).limit(MOST_COUNTED + 1).subquery()
    count = tx.execute(select(func.count()).select_from(found)).scalar_one()
    return {
        "query": str(query),
        "count": min(count, MOST_COUNTED),
        "is_exact": count <= MOST_COUNTED,
        "may_define_group": inspect(query).allow_as_group,
    }


def list_words(tx: Transaction, workspace: Workspace, *, for_agent: bool, with_flows: bool = True) -> dict[str, Any]:
    """The properties, operators and names of a workspace's queries; three statements. Flows are left out unless
    `with_flows`."""
    mine = (field.c.workspace_id == workspace.id) & (field.c.agent_access != "none" if for_agent else True)
    fields = tx.execute(select(field.c.key, field.c.name, field.c.type).where(mine).order_by(field.c.name_key))
    groups = select(group.c.uuid, group.c.name).where(group.c.workspace_id == workspace.id)
    listed = true() if with_flows else false()
    theirs = (flow.c.workspace_id == workspace.id) & ~flow.c.is_archived & listed
    flows = select(flow.c.uuid, flow.c.name).where(theirs)
    return {
        "attributes": [
            {"key": key, "type": kind, "operators": _operators(kind, contains=key in ("name", "urn"))}
            for key, kind in ATTRIBUTES.items()
        ],
        "schemes": sorted(SCHEMES),
        "fields": [
            {"key": row.key, "name": row.name, "type": row.type, "operators": _operators(row.type)} for row in fields
        ],
        "groups": [dict(row) for row in tx.execute(groups.order_by(group.c.name_key)).mappings()],
        "flows": [dict(row) for row in tx.execute(flows.order_by(flow.c.name_key)).mappings()],
        "statuses": list(STATUSES),
    }


def _has_value(condition: Condition, scope: SearchScope) -> Clause:
    if condition.is_address:
        return _has_address(condition)
    if condition.kind == "field":
        return and_(_field_part(condition, scope).is_not(None), _field_part(condition, scope) != "")
    if condition.key == "group":
        return exists().where(group_membership.c.contact_id == contact.c.id)
    if condition.key == "flow":
        return contact.c.current_flow_id.is_not(None)
    if condition.key == "history":
        return _was_in_flow()
    if condition.key == "waits_at":
        return contact.c.id.in_(_at_nodes(scope).where(LastNode(flow_run.c.path).is_not(None)))
    column = contact.c[condition.key]
    if condition.value_type == "datetime":
        return column.is_not(None)
    return and_(column.is_not(None), column != "")


def _matches(condition: Condition, scope: SearchScope) -> Clause:
    if condition.is_address:
        path = contact_urn.c.path
        if condition.operator == "~":
            return _has_address(condition, contains_folded(path, condition.value))
        return _has_address(condition, _equals(condition, path))
    if condition.kind == "attribute" and condition.key in _ATTRIBUTES:
        return _ATTRIBUTES[condition.key](condition, scope)
    if condition.value_type == "number":
        return _matches_number(condition, _typed_column(condition, scope), scope)
    if condition.value_type == "datetime":
        return _matches_day(condition, scope)
    text = _typed_column(condition, scope)
    shown = PlaceName(text) if condition.value_type in PLACE_TYPES else text
    return is_same(shown, condition.value)


def _has_address(condition: Condition, *more: Clause) -> Clause:
    mine = [contact_urn.c.contact_id == contact.c.id, contact_urn.c.workspace_id == contact.c.workspace_id, *more]
    if condition.kind == "scheme":
        mine.append(contact_urn.c.scheme == condition.key)
    return exists().where(*mine)


def _typed_column(condition: Condition, scope: SearchScope) -> ColumnElement[Any]:
    return _field_part(condition, scope) if condition.kind == "field" else contact.c[_COLUMNS[condition.key]]


def _field_part(condition: Condition, scope: SearchScope) -> ColumnElement[Any]:
    """The part of a field's value that has the field's own type, as text."""
    known = scope.resolver.find_field(condition.key)
    if known is None or condition.value_type == "unknown":
        message = f"can't resolve '{condition.key}' to attribute, scheme or field"
        raise QueryError("unknown_property", message, {"property": condition.key})
    part: ColumnElement[Any] = contact.c.fields[(known.uuid, condition.value_type)].as_string()
    return part


def _matches_number(condition: Condition, column: ColumnElement[Any], scope: SearchScope) -> Clause:
    order = NumberOrder(column, render_decimal(read_number(condition.value, scope.environment)))
    if condition.operator in ("=", "!="):
        return order == 0
    return order.op(condition.operator, is_comparison=True)(0)


def _matches_day(condition: Condition, scope: SearchScope) -> Clause:
    begin, end = read_day(condition.value, scope.environment, scope.clock)
    column = _typed_column(condition, scope)
    moment = TextAsMoment(column) if condition.kind == "field" else column
    comparisons = {">": moment >= end, ">=": moment >= begin, "<": moment < begin, "<=": moment < end}
    return comparisons.get(condition.operator, and_(moment >= begin, moment < end))


def _equals(condition: Condition, text: ColumnElement[Any]) -> Clause:
    # Nobody looks by an index for what is different.
    return (is_same if condition.operator == "!=" else folds_to)(text, condition.value)


def _flow_id(uuid: str) -> ColumnElement[Any]:
    return select(flow.c.id).where(flow.c.uuid == uuid).scalar_subquery()


def _at_nodes(scope: SearchScope) -> Select[int]:
    """The contacts of runs that go on. All flows are named, for the index of nodes begins with the flow."""
    of_flows = flow_run.c.flow_id.in_(select(flow.c.id).where(flow.c.workspace_id == scope.workspace_id))
    return select(flow_run.c.contact_id).where(of_flows, GOES_ON)


def _was_in_flow(*conditions: Clause) -> Clause:
    return exists(select(flow_run.c.id).where(flow_run.c.contact_id == contact.c.id, *conditions).correlate(contact))


def _operators(kind: str, *, contains: bool = False) -> list[str]:
    return [*EQUALITY, *(CONTAINS if contains else []), *(COMPARISON if kind in COMPARABLE_TYPES else [])]
