"""Teams with topics and members.

Older programs work with it: they know no teams.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0044"
down_revision = "0043"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "team",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("name_key", sa.Text(), nullable=False),
        sa.Column("created_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("team", "id"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_team_workspace_id")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_team_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_team_page", "team", ["workspace_id", "created_on", "id"], unique=False)
    op.create_index("uq_team_name", "team", ["workspace_id", "name_key"], unique=True)
    op.create_table(
        "team_member",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        keys.primary_key("team_member", "workspace_id", "user_id"),
        keys.reference("team_member", "team_id", "team", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_team_member_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_team_member_workspace_id")),
    )
    op.create_index("ix_team_member_team", "team_member", ["team_id", "user_id"], unique=False)
    op.create_table(
        "team_topic",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("topic_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("team_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        keys.primary_key("team_topic", "topic_id"),
        keys.reference("team_topic", "team_id", "team", ondelete="CASCADE"),
        keys.reference("team_topic", "topic_id", "topic", ondelete="CASCADE"),
    )
    op.create_index("ix_team_topic_team", "team_topic", ["team_id", "topic_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_team_topic_team", table_name="team_topic")
    op.drop_table("team_topic")
    op.drop_index("ix_team_member_team", table_name="team_member")
    op.drop_table("team_member")
    op.drop_index("uq_team_name", table_name="team")
    op.drop_index("ix_team_page", table_name="team")
    op.drop_table("team")
