"""What people type into a search: whether a query can be read, how many contacts match, and what it may name."""

from typing import Any

from sqlalchemy import false, func, select, true

from flows.queries import inspect, parse_query
from flows.queries.properties import ATTRIBUTES, COMPARABLE_TYPES, STATUSES
from flows.urns import SCHEMES
from persistence.contacts.query_scope import match_query, open_scope
from persistence.database import Transaction
from persistence.tables.contacts import contact, field, group
from persistence.tables.flows import flow
from persistence.workspaces import Workspace

MOST_COUNTED = 10_000
EQUALITY, CONTAINS, COMPARISON = ["=", "!="], ["~"], [">", ">=", "<", "<="]


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


def _operators(kind: str, *, contains: bool = False) -> list[str]:
    return [*EQUALITY, *(CONTAINS if contains else []), *(COMPARISON if kind in COMPARABLE_TYPES else [])]
