"""Whom a start takes of its audience: who is active, and not left out by what the start itself asks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, exists, false, select

from persistence.audience import Audience, pick_ids
from persistence.database import Transaction
from persistence.sessions.sessions import IS_WAITING
from persistence.tables.contacts import ACTIVE, contact
from persistence.tables.flow_starts import flow_start_contact, flow_start_group
from persistence.tables.runs import flow_run, flow_session
from persistence.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Candidates:
    """Contacts to take, the last id looked at (None: nobody was left), and whether that was the end."""

    contact_ids: Sequence[int]
    last_contact_id: int | None
    is_end: bool


def next_candidates(tx: Transaction, workspace: Workspace, start: Any, size: int) -> Candidates:
    """Looks at up to `size` contacts after `start.last_contact_id`; those who get runs at once are held meanwhile.

    Raises QueryError for a query that is broken.
    """
    named, groups = flow_start_contact.c, flow_start_group.c
    of_groups = select(groups.group_id).where(groups.start_id == start.id).order_by(groups.group_id)
    audience = Audience(
        select(named.contact_id).where(named.start_id == start.id),
        of_groups.where(~groups.is_excluded),
        start.query,
        of_groups.where(groups.is_excluded),
    )
    ids = pick_ids(tx, workspace, audience, start.last_contact_id, size)
    return Candidates(_take(tx, workspace.id, start, ids), ids[-1] if ids else None, len(ids) < size)


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
