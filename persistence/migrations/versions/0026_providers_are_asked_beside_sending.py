"""Providers are asked to connect channels, and whether their settings work.

Older programs work with it: they ask nobody.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0026"
down_revision = "0025"
works_for = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    op.create_table(
        "channel_check",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("asks", sa.Integer(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("due_on", TIME, nullable=True),
        sa.Column("asked_on", TIME, nullable=False),
        sa.Column("checked_on", TIME, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        keys.primary_key("channel_check", "id"),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_channel_check_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_channel_check_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_channel_check_due",
        "channel_check",
        ["due_on", "id"],
        unique=False,
        sqlite_where=sa.text("due_on IS NOT NULL"),
        postgresql_where=sa.text("due_on IS NOT NULL"),
    )
    op.create_index("ix_channel_check_page", "channel_check", ["workspace_id", "asked_on", "id"], unique=False)
    op.create_index("uq_channel_check", "channel_check", ["channel_id", "kind", "workspace_id"], unique=True)


def downgrade() -> None:
    op.drop_table("channel_check")
