"""Smart groups: a query finds their members, which cannot be set manually (contract reference, groups). Call
`refresh_contacts` in the transaction that changes contacts, and `renew_groups_about` when fields that queries read
change. Queries do not depend on the current time, so time alone changes no membership.

The query language is loaded by what reads a query: most workspaces have none, and it takes longer to load than most
commands to run.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import ColumnElement, Executable, Select, case, exists, literal, select

from persistence.campaigns.fires import schedule_contacts
from persistence.database import Database, Transaction
from persistence.errors import InvalidInput
from persistence.groups.groups import add_members, create_group, lock_contacts, remove_members, renew_groups
from persistence.leases import GIVEN_UP, Leases, is_free
from persistence.sql.columns import split
from persistence.sql.names import require_editable
from persistence.statements import among, statement, update
from persistence.tables.campaigns import campaign
from persistence.tables.contacts import EVALUATING, INITIALIZING, READY, contact, group, group_membership
from persistence.usages import names_field
from persistence.workspaces.records import Workspace, find_workspace, hold_workspace

if TYPE_CHECKING:
    from persistence.groups.cached_queries import GroupQueries

logger = logging.getLogger("relayboard.worker")

CONTACTS_PER_STATEMENT = 500
LOOKED_AT = 2000
CHANGED_AT_ONCE = 100
"""Contacts that change wait for the rest of a chunk: so many that it takes some hundredths of a second."""
IS_UNREADY: ColumnElement[bool] = group.c.status.in_((INITIALIZING, EVALUATING)) & (
    group.c.status != literal(READY, literal_execute=True)
)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Contacts whose membership is wrong, and the last contact that was checked."""

    wrong_ids: Sequence[int]
    last_id: int


def check_group_query(tx: Transaction, workspace: Workspace, text: str, *, sees_urns: bool = False) -> str:
    """The canonical form of a query for a group. In an anonymous workspace only who `sees_urns`, the operator, can ask
    for them: members would tell whose they are. Raises InvalidInput for a query that is invalid or not allowed for
    groups."""
    from flows.queries import QueryError, inspect, parse_query, render  # noqa: PLC0415  # see above
    from persistence.contacts.queries import open_group_scope, open_scope  # noqa: PLC0415  # see above

    scope = (open_group_scope if sees_urns else open_scope)(tx, workspace)
    try:
        query = parse_query(text or "", scope.environment, scope.resolver, clock=scope.clock)
    except QueryError as error:
        raise InvalidInput.on("query", f"{error.message[:1].upper()}{error.message[1:]}.") from error
    if not inspect(query).allow_as_group:
        raise InvalidInput.on("query", "A group cannot be based on id, ref, status, group, flow, history or waits_at.")
    return render(query)


def create_query_group(tx: Transaction, workspace: Workspace, name: str, query: str, *, sees_urns: bool = False) -> int:
    """Create a smart group, whose members a worker finds soon; returns its id. Raises InvalidInput or LimitReached."""
    query = check_group_query(tx, workspace, query, sees_urns=sees_urns)
    group_id = create_group(tx, workspace.id, name)
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    tx.execute(update(group).where(mine).values(query=query, status=INITIALIZING))
    tx.wake("groups")
    return group_id


def change_query(tx: Transaction, workspace: Workspace, uuid: str, query: str | None) -> int:
    """Gives a smart group another query, whose members a worker finds soon; returns its id. Raises RecordMissing,
    SystemRecord, and InvalidInput for a bad query, and if a group would change its kind.
    """
    hold_workspace(tx, workspace.id)
    group_id = require_editable(tx, workspace.id, group, uuid)
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    former = tx.execute(select(group.c.query).where(mine)).scalar_one()
    if (former is None) != (query is None):
        kind = "Members of this group are added manually" if former is None else "Members of this group follow a query"
        raise InvalidInput.on("query", f"{kind}: make another group.")
    wanted = None if query is None else check_group_query(tx, workspace, query, sees_urns=True)
    if wanted != former:
        wanted = None if query is None else check_group_query(tx, workspace, query)
        # First, because it waits for transactions that use the former query.
        renew_groups(tx, workspace.id, group.c.id == group_id)
        tx.execute(update(group).where(mine).values(query=wanted, modified_on=tx.now))
    return group_id


class Dependents(NamedTuple):
    """Who looks at changes of some contacts: smart groups of users, and campaigns of their groups."""

    has_groups: bool
    has_campaigns: bool


def find_dependents(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> Dependents:
    return Dependents(*_find_dependents.rows(tx, workspace_id, sorted(contact_ids))[0])


def follow_contacts(
    tx: Transaction, workspace_id: int, contact_ids: Sequence[int], dependents: Dependents | None = None
) -> None:
    """Update smart groups and campaigns after changes of contacts that do not concern tickets. One statement if there
    is no smart group of users and no campaign for these contacts, none if the caller has the `dependents`.
    """
    if not contact_ids:
        return
    dependents = dependents or find_dependents(tx, workspace_id, contact_ids)
    workspace = find_workspace(tx, workspace_id) if dependents.has_groups else None
    if workspace is not None:
        refresh_contacts(tx, workspace, contact_ids)
    if dependents.has_groups or dependents.has_campaigns:
        schedule_contacts(tx, workspace_id, contact_ids)


def follow_new(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Finds the smart groups of new contacts. Whoever adds them to a group schedules its campaigns."""
    if contact_ids and _find_smart_group.rows(tx, workspace_id):
        follow_contacts(tx, workspace_id, contact_ids)


@statement
def _find_smart_group(workspace_id: int) -> Executable:
    return _select_smart_groups(workspace_id).limit(1)


def _select_smart_groups(workspace_id: int) -> Select[int]:
    """Those of users."""
    of_users = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None) & ~group.c.is_system
    return select(group.c.id).where(of_users)


@statement
def _find_dependents(workspace_id: int, contact_ids: Sequence[int]) -> Executable:
    """Whether there are smart groups of users, and campaigns of groups in which one of these contacts is."""
    campaigns = (
        select(campaign.c.id)
        .join(group_membership, group_membership.c.group_id == campaign.c.group_id)
        .where(campaign.c.workspace_id == workspace_id, among(group_membership.c.contact_id, contact_ids))
    )
    return select(_select_smart_groups(workspace_id).exists(), campaigns.exists())


def refresh_contacts(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> None:
    """Add contacts to, and remove them from, all smart groups of the workspace according to the queries."""
    rows = tx.execute(
        select(group.c.id, group.c.query)
        .where(group.c.workspace_id == workspace.id, group.c.query.is_not(None))
        .order_by(group.c.id)
        # A shared lock: it waits for changes of fields that queries read, and they wait for it; writers do not wait for
        # each other.
        .with_for_update(read=True, key_share=True)
    ).all()
    if not rows:
        return
    queries = [(group_id, query) for group_id, query in rows]
    for some in split(sorted(set(contact_ids)), CONTACTS_PER_STATEMENT):
        _update_members(tx, workspace, queries, some)


def renew_groups_about(tx: Transaction, workspace_id: int, key: str) -> None:
    """Lets a worker find the members of all smart groups that name a changed field again. Waits for transactions that
    use the old field; later ones see the new one.
    """
    mine = (group.c.workspace_id == workspace_id) & group.c.query.is_not(None)
    rows = tx.execute(select(group.c.id, group.c.query).where(mine))
    group_ids = sorted(group_id for group_id, query in rows if names_field(query, key))
    if not group_ids:
        return
    renew_groups(tx, workspace_id, group.c.id.in_(group_ids))


def find_wrong(tx: Transaction, workspace: Workspace, group_id: int, after_id: int) -> Chunk | None:
    """The next contacts after an id whose membership in a smart group is wrong; None if there are no more. One
    statement checks LOOKED_AT contacts and locks none of them.
    """
    from persistence.contacts.queries import open_group_scope  # noqa: PLC0415  # see above
    from persistence.groups.cached_queries import membership  # noqa: PLC0415  # see above

    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    query = tx.execute(select(group.c.query).where(mine)).scalar_one_or_none()
    fits = membership(workspace.id, query, open_group_scope(tx, workspace))
    rows = group_membership.c
    is_member = exists().where(rows.group_id == group_id, rows.contact_id == contact.c.id)
    window = select(contact.c.id).where(contact.c.workspace_id == workspace.id, contact.c.id > after_id)
    ids = list(tx.execute(window.order_by(contact.c.id).limit(LOOKED_AT)).scalars())
    if not ids:
        return None
    among = (contact.c.workspace_id == workspace.id) & contact.c.id.between(ids[0], ids[-1])
    wrong = select(contact.c.id).where(among, case((fits, 1), else_=0) != case((is_member, 1), else_=0))
    found = list(tx.execute(wrong.order_by(contact.c.id).limit(CHANGED_AT_ONCE)).scalars())
    return Chunk(found, found[-1] if len(found) == CHANGED_AT_ONCE else ids[-1])


def refresh_some(tx: Transaction, workspace: Workspace, group_id: int, contact_ids: Sequence[int]) -> None:
    """Adds these contacts to a smart group or removes them, according to its query; they stay locked."""
    # This may have waited for a transaction that changed one of them or a field of the query, so they are checked
    # again.
    lock_contacts(tx, workspace.id, contact_ids)
    mine = (group.c.workspace_id == workspace.id) & (group.c.id == group_id)
    held = tx.execute(select(group.c.query).where(mine).with_for_update(read=True, key_share=True)).first()
    if held is not None and contact_ids:
        _update_members(tx, workspace, [(group_id, held.query)], contact_ids)


def _update_members(tx: Transaction, workspace: Workspace, queries: "GroupQueries", contact_ids: Sequence[int]) -> None:
    """Updates the memberships of some contacts by the queries of groups."""
    from persistence.groups.cached_queries import find_fitting  # noqa: PLC0415  # see above

    fitting = find_fitting(tx, workspace, queries, contact_ids)
    rows = group_membership.c
    group_ids = {group_id for group_id, _ in queries}
    held = tx.execute(select(rows.group_id, rows.contact_id).where(rows.contact_id.in_(list(fitting))))
    present: dict[int, set[int]] = {}
    for group_id, contact_id in held:
        present.setdefault(group_id, set()).add(contact_id)
    wanted: dict[int, set[int]] = {}
    for contact_id, found in fitting.items():
        for group_id in found:
            wanted.setdefault(group_id, set()).add(contact_id)
    for group_id in sorted(group_ids & {*present, *wanted}):
        should, members = wanted.get(group_id, set()), present.get(group_id, set())
        if should - members:
            add_members(tx, workspace.id, group_id, sorted(should - members))
        if members - should:
            remove_members(tx, workspace.id, group_id, sorted(members - should))


LEASE = timedelta(minutes=2)
_IS_DUE = IS_UNREADY & group.c.query.is_not(None) & group.c.error.is_(None)
LEASES = Leases(
    group,
    _IS_DUE,
    group.c.evaluated_after_id,
    group.c.id,
    lasts=(LEASE,),
    until="evaluated_until",
    news={
        "status": EVALUATING,
        "evaluated_after_id": case((group.c.status == INITIALIZING, 0), else_=group.c.evaluated_after_id),
    },
)
INCOMPLETE = f"Its members are not complete; saving its name again tries anew. {GIVEN_UP}"
INCOMPLETE_SYSTEM = (
    "Its members are not complete; another time zone, order of dates or number format of the workspace, and back, "
    f"tries anew. {GIVEN_UP}"
)
"""Nobody can save a group that every workspace has."""


@dataclass(frozen=True, slots=True)
class LeasedGroup:
    """A smart group whose members this process is finding, with the id of the last contact done."""

    workspace_id: int
    group_id: int
    after_id: int
    until: datetime


def list_evaluated_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a group that waits for its members, or whose worker died; there are few."""
    due = select(group.c.workspace_id).where(_IS_DUE, is_free(group.c.evaluated_until, tx.now)).distinct()
    return list(tx.execute(due).scalars())


def lease_group(tx: Transaction, workspace_id: int) -> LeasedGroup | None:
    """Leases the group of a workspace that waits for its members or whose worker left it, and sets it to `evaluating`.
    A group that was left continues where it stopped; groups that wait longest come first. One that was begun too often
    without getting on is given up with a reason, until it is to be evaluated anew.
    """
    rows = group.c

    def give_up(tx: Transaction, group_id: int) -> None:
        logger.error("the members of group %d of workspace %d are not found: %s", group_id, workspace_id, GIVEN_UP)
        mine = (rows.workspace_id == workspace_id) & (rows.id == group_id)
        error = case((rows.is_system, INCOMPLETE_SYSTEM), else_=INCOMPLETE)
        tx.execute(update(group).where(mine).values(error=error, evaluated_until=None))

    group_id = LEASES.take_next(tx, workspace_id, give_up)
    if group_id is None:
        return None
    mine = (rows.workspace_id == workspace_id) & (rows.id == group_id)
    after_id = tx.execute(select(rows.evaluated_after_id).where(mine)).scalar_one()
    return LeasedGroup(workspace_id, group_id, after_id, tx.now + LEASE)


def evaluate_some(database: Database, leased: LeasedGroup) -> LeasedGroup | None:
    """Finds members of a leased group among the next contacts; returns the group with a renewed lease, None if it was
    lost. The group is `ready` at the end. A group that is deleted or must be evaluated again is dropped. The changes of
    a chunk and the progress are one short transaction.
    """
    with database.reading() as tx:
        workspace = find_workspace(tx, leased.workspace_id)
        if workspace is None:
            return None
        chunk = find_wrong(tx, workspace, leased.group_id, leased.after_id)

    def record(tx: Transaction) -> LeasedGroup | None:
        if chunk is not None and chunk.wrong_ids:
            refresh_some(tx, workspace, leased.group_id, chunk.wrong_ids)
        if chunk is None:
            _keep(tx, leased, None, status=READY, attempts=0)
            return None
        longer = replace(leased, after_id=chunk.last_id, until=tx.now + LEASE)
        return longer if _keep(tx, leased, longer.until, evaluated_after_id=longer.after_id, attempts=0) else None

    return database.write(record)


def leave_group(tx: Transaction, leased: LeasedGroup) -> None:
    """Ends the lease of a group; the next worker continues where it stopped."""
    _keep(tx, leased, None)


def _keep(tx: Transaction, leased: LeasedGroup, until: datetime | None, **values: Any) -> bool:
    return bool(LEASES.keep(tx, [leased.group_id], leased.until, until, [leased.workspace_id], **values))
