from datetime import datetime

from sqlalchemy import Boolean, Column, ForeignKey, Index, Integer, Named, false

from persistence.sql.columns import BigId, LinkColumns, NamedRecordColumns, UtcDateTime, numbered_table, table_of
from persistence.tables.policies import SET_UP, Audited, policy


class TeamColumns(NamedRecordColumns):
    assigns_in_turn: Named[bool] = Column(Boolean, default=False, server_default=false())
    created_on: Named[datetime] = Column(UtcDateTime)


team = numbered_table(
    "team",
    TeamColumns,
    Index("uq_team_name", "workspace_id", "name_key", unique=True),
    Index("ix_team_page", "workspace_id", "created_on", "id"),
    info=policy(SET_UP, audited=Audited("teams", "name", ("name", "assigns_in_turn"))),
)

TEAM_REF = {"uuid": team.c.uuid, "name": team.c.name}


class TeamTopicColumns(LinkColumns):
    topic_id: Named[int] = Column(BigId, ForeignKey("topic.id", ondelete="CASCADE"), primary_key=True)
    team_id: Named[int] = Column(BigId, ForeignKey("team.id", ondelete="CASCADE"))


team_topic = table_of(
    "team_topic",
    TeamTopicColumns,
    Index("ix_team_topic_team", "team_id", "topic_id"),
    info=policy("goes with its team or topic"),
)
"""A topic is of one team at most, so that everybody knows whose its tickets are."""


class TeamMemberColumns(LinkColumns):
    workspace_id: Named[int] = Column(Integer, ForeignKey("workspace.id"), primary_key=True)
    user_id: Named[int] = Column(Integer, ForeignKey("app_user.id"), primary_key=True)
    team_id: Named[int] = Column(BigId, ForeignKey("team.id", ondelete="CASCADE"))
    assigned_on: Named[datetime | None] = Column(UtcDateTime)


team_member = table_of(
    "team_member",
    TeamMemberColumns,
    Index("ix_team_member_team", "team_id", "user_id"),
    info=policy("goes with its team, or with its user's role in the workspace"),
)
"""A user has one team of a workspace at most. `assigned_on` is when the last ticket was assigned in
turn, later for each than for the one before."""
