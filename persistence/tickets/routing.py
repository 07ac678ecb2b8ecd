"""What the team of a topic says of its tickets: who gets one that nobody has, which are the members who are there, in
turn; and until when it wants to reply."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import cycle, islice

from sqlalchemy import Executable, bindparam, select

from persistence.database import Transaction
from persistence.statements import statement, update
from persistence.tables.accounts import membership, sign_in, user
from persistence.tables.contacts import team, team_member, team_topic
from persistence.tickets.hours import WorkHours, load_hours
from persistence.tickets.records import TICKET_ROLES, choose_assignees
from persistence.workspaces.records import Workspace

THERE_FOR = timedelta(minutes=10)
"""After the last request of a browser in which somebody is signed in; an open page of the console asks every two
minutes, and a sight is noted once a minute."""
STEP = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Desk:
    """The team of a topic, or none: when it works, what who comes at another time is told, and within how many minutes
    of work it wants to reply first."""

    hours: WorkHours
    closed_text: str = ""
    reply_minutes: int = 0

    def due_after(self, opened_on: datetime) -> datetime | None:
        """Until when the first reply to a ticket that was opened then is wanted."""
        return self.hours.add_minutes(opened_on, self.reply_minutes) if self.reply_minutes else None


def find_desk(tx: Transaction, workspace: Workspace, topic_id: int) -> Desk:
    """The desk of a topic."""
    for hours, holidays, closed_text, minutes in _select_desk.rows(tx, workspace.id, topic_id):
        return Desk(load_hours(hours, holidays, workspace.zone), closed_text, minutes)
    return Desk(load_hours((), (), workspace.zone))


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
def _select_desk(workspace_id: int, topic_id: int) -> Executable:
    of_topic = (team_topic.c.workspace_id == workspace_id) & (team_topic.c.topic_id == topic_id)
    found = select(team.c.hours, team.c.holidays, team.c.closed_text, team.c.reply_minutes)
    return found.join_from(team_topic, team, team.c.id == team_topic.c.team_id).where(of_topic)


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
