"""Filters of lists by contacts: by their URNs or groups."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, literal_column, select

from persistence.contacts.addresses import find_urns
from persistence.contacts.owners import is_one_of
from persistence.errors import Refused
from persistence.lists import Condition, ListQuery, Rule, never
from persistence.sql.columns import BigId, is_uuid
from persistence.sql.names import find_ids
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
        theirs = find_ids(query.tx, query.workspace.id, group, [uuid for uuid in uuids if is_uuid(uuid)])
        return of_members(query.workspace.id, column, sorted(theirs.values()))

    return rule


def of_members(workspace_id: int, column: ColumnElement[Any], group_ids: Sequence[int]) -> Condition:
    """Records of the members of these groups. The database is told which: it then knows how many members they have, and
    finds those of a small group by the group, those of a large one by the order of the list.
    """
    if not group_ids:
        return never(column)
    if len(group_ids) == 1:
        return _of_one(column, workspace_id, group_ids[0])
    return column.in_(_select_members(workspace_id, group_membership.c.group_id.in_(group_ids)))


@lru_cache(maxsize=1000)
def _of_one(column: ColumnElement[Any], workspace_id: int, group_id: int) -> Condition:
    """The group is part of the text: a prepared statement then has the plan for its size. A condition that is built
    anew would be compared with known ones anew, too."""
    is_theirs = group_membership.c.group_id == literal_column(str(group_id), BigId)
    return column.in_(_select_members(workspace_id, is_theirs))


def _select_members(workspace_id: int, is_theirs: ColumnElement[bool]) -> Select[int]:
    return select(group_membership.c.contact_id).where(group_membership.c.workspace_id == workspace_id, is_theirs)
