"""Whom a start takes: contacts it names, members of its groups and matches of its query, each once, by their ids."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, false, select, union

from flows.queries import parse_query
from persistence.contact_queries import find_matches
from persistence.contacts import ACTIVE, contact
from persistence.database import Transaction
from persistence.flow_runs import flow_run
from persistence.flow_sessions import IS_WAITING, flow_session
from persistence.flow_starts import flow_start_contact, flow_start_group
from persistence.flows import flow
from persistence.groups import group_membership
from persistence.query_scope import open_scope
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Candidates:
    """Contacts to take, the last id looked at (None: nobody was left), and whether that was the end."""

    contact_ids: Sequence[int]
    last_contact_id: int | None
    is_end: bool


def next_candidates(tx: Transaction, workspace: Workspace, start: Any, size: int) -> Candidates:
    """Looks at up to `size` contacts after `start.last_contact_id`; those who get runs at once are held meanwhile.

    Reads `size` rows of each group, however many members it has. Raises QueryError for a query that is broken.
    """
    mine = flow_start_group.c.start_id == start.id
    group_ids = tx.execute(select(flow_start_group.c.group_id).where(mine).order_by(flow_start_group.c.group_id))
    sources = [_named(start.id), *(_members(group_id) for group_id in group_ids.scalars())]
    if start.query:
        sources.append(_matches(tx, workspace, start.query))
    parts = [_cut(source, start.last_contact_id, size) for source in sources]
    ids = tx.execute(union(*parts).order_by("contact_id").limit(size)).scalars().all()
    return Candidates(_take(tx, workspace.id, start, ids), ids[-1] if ids else None, len(ids) < size)


def was_in_flow(workspace_id: int, flow_id: int | None) -> ColumnElement[bool]:
    """Whether a contact has a run in a flow, or with None in any flow."""
    theirs = (flow_run.c.workspace_id == workspace_id) & (flow_run.c.contact_id == contact.c.id)
    of_flow = theirs if flow_id is None else theirs & (flow_run.c.flow_id == flow_id)
    return exists(select(flow_run.c.id).where(of_flow).correlate(contact))


def _named(start_id: int) -> Select[Any]:
    return select(flow_start_contact.c.contact_id).where(flow_start_contact.c.start_id == start_id)


def _members(group_id: int) -> Select[Any]:
    return select(group_membership.c.contact_id).where(group_membership.c.group_id == group_id)


def _matches(tx: Transaction, workspace: Workspace, text: str) -> Select[Any]:
    rows = tx.execute(select(flow.c.name, flow.c.id, flow.c.uuid).where(flow.c.workspace_id == workspace.id))
    scope = open_scope(
        tx,
        workspace,
        flows={row.name: (row.id, row.uuid) for row in rows},
        find_history=lambda flow_id: was_in_flow(workspace.id, flow_id),
    )
    query = parse_query(text, scope.environment, scope.resolver, clock=scope.clock)
    return select(contact.c.id.label("contact_id")).where(find_matches(workspace.id, query, scope))


def _cut(source: Select[Any], last_contact_id: int, size: int) -> Select[Any]:
    """The first rows after a contact; only in subqueries may the parts of a union have limits on every database."""
    column = source.selected_columns[0]
    first = source.where(column > last_contact_id).order_by(column).limit(size).subquery()
    return select(first.c.contact_id)


def _take(tx: Transaction, workspace_id: int, start: Any, ids: Sequence[int]) -> Sequence[int]:
    """Those of these contacts that are active and not left out by the start's own wishes."""
    conditions = [
        contact.c.workspace_id == workspace_id,
        contact.c.id.in_(ids) if ids else false(),
        contact.c.status == ACTIVE,
        ~contact.c.is_deleted,
        *_wishes(workspace_id, start),
    ]
    statement = select(contact.c.id).where(*conditions).order_by(contact.c.id)
    if start.makes_runs:
        statement = statement.with_for_update(read=True)
    return tx.execute(statement).scalars().all()


def find_wanted(tx: Transaction, workspace_id: int, start: Any, contact_ids: Sequence[int]) -> set[int]:
    """Those of these contacts that a start, whose row is given, does not leave out by now, its own runs aside."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(contact_ids)
    return set(tx.execute(select(contact.c.id).where(mine, *_wishes(workspace_id, start))).scalars())


def _wishes(workspace_id: int, start: Any) -> list[ColumnElement[bool]]:
    """What a start asks of contacts: to be in no flow, never to have been in this one."""
    wishes: list[ColumnElement[bool]] = []
    if not start.restart_participants:
        theirs = (flow_run.c.workspace_id == workspace_id) & (flow_run.c.contact_id == contact.c.id)
        others = theirs & (flow_run.c.flow_id == start.flow_id) & flow_run.c.start_id.is_distinct_from(start.id)
        wishes.append(~exists(select(flow_run.c.id).where(others).correlate(contact)))
    if start.exclude_active:
        waits = select(flow_session.c.id).where(flow_session.c.contact_id == contact.c.id, IS_WAITING)
        wishes.append(~exists(waits.correlate(contact)))
    return wishes
