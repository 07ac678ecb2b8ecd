"""Contact queries as SQL: which contacts of a workspace match (flow format, contact queries). The condition holds for
the same contacts as `flows.queries.evaluate`; both are tested on the same cases.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, String, and_, case, cast, exists, false, not_, or_, select, true

from flows.clock import Clock, SystemClock
from flows.contact_reference import read_contact_reference
from flows.environment import Environment
from flows.numbers import render_decimal
from flows.queries import Combination, Condition, Query, QueryError, Resolver
from flows.queries.evaluation import name_prefixes, read_day, read_number
from flows.queries.properties import PLACE_TYPES
from flows.queries.tree import walk_conditions
from persistence.sql.columns import is_uuid
from persistence.sql.query_functions import (
    NumberOrder,
    PlaceName,
    TextAsMoment,
    contains_folded,
    folds_to,
    is_same,
    make_name_match,
)
from persistence.tables.contacts import ACTIVE, contact, contact_urn, group, group_membership
from persistence.tables.flows import flow
from persistence.tables.runs import flow_run

ID_DIGITS_MAX = 10

Clause = ColumnElement[bool]


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The scope of a query's translation: the records that it may name, and the formats of its values."""

    resolver: Resolver
    environment: Environment
    clock: Clock = dataclasses.field(default_factory=SystemClock)


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


def _equals(condition: Condition, text: ColumnElement[Any]) -> Clause:
    # Nobody looks by an index for what is different.
    return (is_same if condition.operator == "!=" else folds_to)(text, condition.value)


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


def _flow_id(uuid: str) -> ColumnElement[Any]:
    return select(flow.c.id).where(flow.c.uuid == uuid).scalar_subquery()


def _was_in_flow(*conditions: Clause) -> Clause:
    return exists(select(flow_run.c.id).where(flow_run.c.contact_id == contact.c.id, *conditions).correlate(contact))


_COLUMNS = {"tickets": "open_ticket_count", "created_on": "created_on", "last_seen_on": "last_seen_on"}
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
}
