"""Filters of lists by contacts: by their URNs or groups."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, select

from persistence.contacts.addresses import find_urns
from persistence.contacts.urns import is_one_of
from persistence.errors import Refused
from persistence.lists import Condition, ListQuery, Rule
from persistence.sql.columns import is_uuid
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
        members = select(group_membership.c.contact_id).join(group, group.c.id == group_membership.c.group_id)
        return column.in_(members.where(group.c.workspace_id == query.workspace.id, theirs))

    return rule
