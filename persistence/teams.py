"""Teams: people who share topics. The tickets of a topic are those of its team; agents of a team with topics see the
tickets of these topics and their own in lists.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, delete, insert, select

from persistence.audit import CHANGED, tell_deed
from persistence.database import Transaction
from persistence.errors import NothingFound
from persistence.lists import ListQuery, ListSpec, equals, never
from persistence.pages import Order
from persistence.records import Record, Related
from persistence.sql.columns import is_uuid
from persistence.sql.names import check_new, rename_record, require_id
from persistence.statements import update
from persistence.tables.accounts import membership, user, user_ref
from persistence.tables.contacts import TOPIC_REF, team, team_member, team_topic, ticket, topic
from persistence.tickets.hours import check_holidays, check_hours
from persistence.workspaces.records import hold_workspace

TEAMS_PER_WORKSPACE = 50


MEMBERS = team_member.join(user, user.c.id == team_member.c.user_id).join(
    membership,
    (membership.c.workspace_id == team_member.c.workspace_id) & (membership.c.user_id == team_member.c.user_id),
)

TEAM_RECORD = Record(
    {
        "uuid": team.c.uuid,
        "name": team.c.name,
        "topics": Related(
            team_topic.c.team_id,
            team_topic.join(topic, topic.c.id == team_topic.c.topic_id),
            Record(TOPIC_REF),
            topic.c.name_key,
        ),
        "members": Related(
            team_member.c.team_id,
            MEMBERS,
            Record({"uuid": user.c.uuid, **user_ref(user), "away": membership.c.is_away}),
            user.c.email_key,
            where=user.c.is_active,
        ),
        "assigns_in_turn": team.c.assigns_in_turn,
        "hours": team.c.hours,
        "holidays": team.c.holidays,
        "closed_text": team.c.closed_text,
        "reply_minutes": team.c.reply_minutes,
        "created_on": team.c.created_on,
    }
)

TEAMS = ListSpec(team, TEAM_RECORD, Order(team.c.created_on, team.c.id), filters={"uuid": equals(team.c.uuid)})


def of_team(query: ListQuery, uuid: str) -> ColumnElement[bool]:
    """The tickets of the topics of a team, which are looked up first, so that the database reads only theirs."""
    if not is_uuid(uuid):
        return never(ticket.c.topic_id)
    theirs = select(team_topic.c.topic_id).join(team, team.c.id == team_topic.c.team_id)
    mine = (team.c.workspace_id == query.workspace.id) & (team.c.uuid == uuid.lower())
    return ticket.c.topic_id.in_(sorted(query.tx.execute(theirs.where(mine)).scalars()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamForm:
    """What a team has; what is None stays as it is. Topics and members are UUIDs, `hours` spans of the week, holidays
    ISO dates.
    """

    topics: Sequence[str] | None = None
    members: Sequence[str] | None = None
    assigns_in_turn: bool | None = None
    hours: Sequence[Mapping[str, str]] | None = None
    holidays: Sequence[str] | None = None
    closed_text: str | None = None
    reply_minutes: int | None = None

    def values(self) -> dict[str, Any]:
        """The columns of what is given. Raises InvalidInput."""
        found = {
            "assigns_in_turn": self.assigns_in_turn,
            "hours": None if self.hours is None else check_hours(self.hours),
            "holidays": None if self.holidays is None else check_holidays(self.holidays),
            "closed_text": None if self.closed_text is None else self.closed_text.strip(),
            "reply_minutes": self.reply_minutes,
        }
        return {name: value for name, value in found.items() if value is not None}


EMPTY = TeamForm()


def create_team(tx: Transaction, workspace_id: int, name: str, form: TeamForm = EMPTY) -> int:
    """Create a team with these topics and users; returns its id. Topics and users leave their former team. Raises
    InvalidInput for a bad or taken name and what is not there, LimitReached at the workspace's limit.
    """
    hold_workspace(tx, workspace_id)
    naming = check_new(tx, workspace_id, team, name, limit=TEAMS_PER_WORKSPACE)
    team_id = tx.insert(team, workspace_id=workspace_id, created_on=tx.now, **naming, **form.values())
    _fill(tx, workspace_id, team_id, form)
    return team_id


def change_team(tx: Transaction, workspace_id: int, uuid: str, name: str, form: TeamForm = EMPTY) -> int:
    """Rename a team and change what the form has; returns its id. Raises RecordMissing, or like `create_team`."""
    hold_workspace(tx, workspace_id)
    team_id = require_id(tx, workspace_id, team, uuid)
    rename_record(tx, workspace_id, team, team_id, name, **form.values())
    _fill(tx, workspace_id, team_id, form)
    return team_id


def delete_team(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Delete a team. Its topics, tickets and users stay. Raises RecordMissing."""
    hold_workspace(tx, workspace_id)
    team_id = require_id(tx, workspace_id, team, uuid)
    for table in (team_topic, team_member):
        tx.execute(delete(table).where(table.c.workspace_id == workspace_id, table.c.team_id == team_id))
    tx.execute(delete(team).where(team.c.workspace_id == workspace_id, team.c.id == team_id))


def leave_team(tx: Transaction, workspace_id: int, user_id: int) -> None:
    """Who leaves a workspace leaves the team there."""
    rows = team_member.c
    tx.execute(delete(team_member).where(rows.workspace_id == workspace_id, rows.user_id == user_id))


def narrow_tickets(query: ListQuery) -> list[ColumnElement[bool]]:
    """What agents of a team with topics see in the list of tickets: those of these topics and their own. Who asks for a
    ticket or for those of a contact gets them all.
    """
    if not query.is_agent or query.user_id is None or {"uuid", "contact"} & query.values.keys():
        return []
    mine = (team_member.c.workspace_id == query.workspace.id) & (team_member.c.user_id == query.user_id)
    theirs = select(team_topic.c.topic_id).join(team_member, team_member.c.team_id == team_topic.c.team_id)
    topic_ids = sorted(query.tx.execute(theirs.where(mine)).scalars())
    return [ticket.c.topic_id.in_(topic_ids) | (ticket.c.assignee_id == query.user_id)] if topic_ids else []


def _fill(tx: Transaction, workspace_id: int, team_id: int, form: TeamForm) -> None:
    if form.topics is not None:
        known = select(topic.c.id, topic.c.uuid, topic.c.name).where(topic.c.workspace_id == workspace_id)
        _link(tx, workspace_id, team_id, _Links("topics", team_topic, team_topic.c.topic_id, known, topic), form.topics)
    if form.members is not None:
        joined = user.join(membership, membership.c.user_id == user.c.id)
        known = select(user.c.id, user.c.uuid, user.c.email).select_from(joined)
        here = known.where(membership.c.workspace_id == workspace_id, user.c.is_active)
        _link(
            tx, workspace_id, team_id, _Links("members", team_member, team_member.c.user_id, here, user), form.members
        )


@dataclass(frozen=True, slots=True)
class _Links:
    """What a team has of one kind: the field, the table of links with its column, and the ids, UUIDs and names of what
    can be linked."""

    field: str
    table: Table
    column: ColumnElement[int]
    known: Select[*tuple[Any, ...]]
    target: Table


def _link(tx: Transaction, workspace_id: int, team_id: int, links: _Links, uuids: Sequence[str]) -> None:
    """Makes these the only ones of the team. Who comes from another team keeps the row."""
    wanted = {uuid.lower() for uuid in uuids if is_uuid(uuid)}
    rows = tx.execute(links.known.where(links.target.c.uuid.in_(wanted))).all() if wanted else []
    found = {uuid: (record_id, name) for record_id, uuid, name in rows}
    for uuid in uuids:
        if uuid.lower() not in found:
            raise NothingFound(links.field, uuid)
    ids = {record_id for record_id, _ in found.values()}
    mine = links.table.c.workspace_id == workspace_id
    concerned = links.column.in_(ids) | (links.table.c.team_id == team_id)
    at = tx.execute(select(links.column, links.table.c.team_id).where(mine, concerned))
    teams = {record_id: present for record_id, present in at}
    left = [each for each, present in teams.items() if each not in ids]
    moved = [each for each, present in teams.items() if each in ids and present != team_id]
    former = sorted(tx.execute(_names_of(links, teams, team_id)).scalars())
    if left:
        tx.execute(delete(links.table).where(mine, links.column.in_(left)))
    if moved:
        tx.execute(update(links.table).where(mine, links.column.in_(moved)).values(team_id=team_id))
    if new := sorted(ids - teams.keys()):
        shared = {"workspace_id": workspace_id, "team_id": team_id}
        tx.execute(insert(links.table), [{**shared, str(links.column.key): each} for each in new])
    present = sorted(name for _, name in found.values())
    if former != present:
        uuid, name = tx.execute(select(team.c.uuid, team.c.name).where(team.c.id == team_id)).one()
        tell_deed(tx, workspace_id, "teams", CHANGED, uuid, name, {links.field: [former, present]})


def _names_of(links: _Links, teams: Mapping[int, int], team_id: int) -> Select[Any]:
    """The names of those who were in the team before, also of those who cannot join it any more."""
    name = user.c.email if links.target is user else links.target.c.name
    return select(name).where(links.target.c.id.in_([each for each, present in teams.items() if present == team_id]))
