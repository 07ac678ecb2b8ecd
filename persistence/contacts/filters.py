"""Filters of lists by contacts: by their URNs or groups."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, literal_column, select

from persistence.contacts.addresses import find_urns
from persistence.contacts.owners import is_one_of
from persistence.errors import Refused
from persistence.lists import Condition, ListQuery, Rule, never
from persistence.sql.columns import BigId, is_uuid
from persistence.tables.contacts import contact_urn, group, group_membership


def select_owners(query: ListQuery, texts: Sequence[str], parameter: str) -> Select[int | None]:
    """The contacts who have one of these URNs; strings that are not URNs are left out. Raises Refused in an anonymous
    workspace.
    """
    refuse_addresses(query, parameter)
    # An unescaped `+` in a query string arrives as a space.
    wanted = [text.strip().replace(": ", ":+") for text in texts]
    urns = list(find_urns(query.tx, query.workspace, wanted).values())
    mine = (contact_urn.c.workspace_id == query.workspace.id) & contact_urn.c.contact_id.is_not(None)
    return select(contact_urn.c.contact_id).where(mine, is_one_of(urns))


def refuse_addresses(query: ListQuery, parameter: str) -> None:
    """Raises Refused in an anonymous workspace: even an empty list would tell who exists."""
    if query.workspace.is_anonymous:
        raise Refused(f"Parameter {parameter} cannot be used in an anonymous workspace.")


def in_groups(column: ColumnElement[Any]) -> Rule:
    """Records of the members of groups, given by UUID; the column contains a contact's id."""

    def rule(query: ListQuery, uuids: Sequence[str]) -> Condition:
        theirs = group.c.uuid.in_([uuid for uuid in uuids if is_uuid(uuid)])
        return of_members(query, column, theirs)

    return rule


def of_members(query: ListQuery, column: ColumnElement[Any], is_meant: ColumnElement[bool]) -> Condition:
    """Records of the members of the groups that meet a condition. The groups are looked up first, because the database
    then knows how many members they have and finds those of a small group by the group, those of a large one by the
    order of the list.
    """
    wanted = select(group.c.id).where(group.c.workspace_id == query.workspace.id, is_meant)
    group_ids = query.tx.execute(wanted).scalars().all()
    if not group_ids:
        return never(column)
    members = group_membership.c
    # A single one is part of the text: a prepared statement then has the plan for its size.
    is_theirs = members.group_id.in_(group_ids) if len(group_ids) > 1 else members.group_id == _literal(group_ids[0])
    mine = members.workspace_id == query.workspace.id
    return column.in_(select(members.contact_id).where(mine, is_theirs))


def _literal(group_id: int) -> ColumnElement[int]:
    return literal_column(str(group_id), BigId)
