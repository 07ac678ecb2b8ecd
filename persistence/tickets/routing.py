"""Who gets a ticket that nobody has: the members of its topic's team who are there, in turn."""

from datetime import datetime, timedelta
from itertools import cycle, islice

from sqlalchemy import Executable, bindparam, select, update

from persistence.database import Transaction
from persistence.statements import statement
from persistence.tables.accounts import membership, sign_in, user
from persistence.tables.teams import team, team_member, team_topic
from persistence.tickets.records import TICKET_ROLES, choose_assignees

THERE_FOR = timedelta(minutes=10)
"""After the last request of a browser in which somebody is signed in; an open page of the console asks every two
minutes, and a sight is noted once a minute."""
STEP = timedelta(microseconds=1)


def choose_in_turn(tx: Transaction, workspace_id: int, topic_id: int, count: int = 1) -> list[int]:
    """Whom so many tickets of a topic are assigned to, one for each: members of its team who are there, who was
    assigned one longest ago first. Empty if nobody is there, or the team does not assign in turn. Until the end of this
    unit of work others wait who ask for the same team.
    """
    found = _hold_team.rows(tx, workspace_id, topic_id) if count else []
    if not found:
        return []
    ((team_id,),) = found
    members = _select_members.rows(tx, workspace_id, team_id, tx.now - THERE_FOR)
    able = choose_assignees(tx, workspace_id, [user_id for user_id, _, is_there in members if is_there])
    there = [user_id for user_id, *_ in members if user_id in able]
    # A clock that stands still, or differs between two machines, must not give anybody two turns.
    newest = [assigned_on for _, assigned_on, _ in members if assigned_on is not None]
    moment = max([tx.now, *(each + STEP for each in newest)])
    chosen = list(islice(cycle(there), count))
    taken = [{"taker": user_id, "moment": moment + place * STEP} for place, user_id in enumerate(chosen)]
    if taken:
        mine = (team_member.c.workspace_id == workspace_id) & (team_member.c.user_id == bindparam("taker"))
        given = update(team_member).where(mine).values(assigned_on=bindparam("moment"))
        tx.execute(given, taken[-len(there) :])
    return chosen


@statement
def _hold_team(workspace_id: int, topic_id: int) -> Executable:
    of_topic = (team_topic.c.workspace_id == workspace_id) & (team_topic.c.topic_id == topic_id)
    held = select(team.c.id).join(team_topic, team_topic.c.team_id == team.c.id).where(of_topic, team.c.assigns_in_turn)
    return held.with_for_update(key_share=True, of=team)


@statement
def _select_members(workspace_id: int, team_id: int, since: datetime) -> Executable:
    """All members, with when each was assigned a ticket, and whether each is there; who was longest ago comes first."""
    rows = team_member.c
    of_role = membership.c.role.in_(TICKET_ROLES) & ~membership.c.is_away
    seen = select(sign_in.c.id).where(sign_in.c.user_id == rows.user_id, sign_in.c.seen_on > since).exists()
    joined = team_member.join(
        membership, (membership.c.workspace_id == rows.workspace_id) & (membership.c.user_id == rows.user_id)
    ).join(user, user.c.id == rows.user_id)
    return (
        select(rows.user_id, rows.assigned_on, of_role & user.c.is_active & seen)
        .select_from(joined)
        .where(rows.workspace_id == workspace_id, rows.team_id == team_id)
        .order_by(rows.assigned_on.asc().nulls_first(), rows.user_id)
    )
