"""Phones are asked to come by push messages: who delivers to each, and when each is pushed.

Older programs work with it: they push nobody, and phones come by themselves.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0022"
down_revision = "0021"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "phone_push",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("via", sa.String(length=255), nullable=False),
        sa.Column("reason", sa.String(length=8), nullable=False),
        sa.Column("due_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("pushes", sa.Integer(), nullable=False),
        sa.Column("pushed_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("seen_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("token", sa.Text(), nullable=True),
        sa.Column("refused_token", sa.Text(), nullable=True),
        sa.Column("refused_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("failed_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        keys.primary_key("phone_push", "id"),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_phone_push_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_phone_push_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_phone_push_due",
        "phone_push",
        ["workspace_id", "via", "due_on", "id"],
        unique=False,
        sqlite_where=sa.text("due_on IS NOT NULL"),
        postgresql_where=sa.text("due_on IS NOT NULL"),
    )
    op.create_index("uq_phone_push", "phone_push", ["channel_id", "workspace_id"], unique=True)
    op.add_column("channel", sa.Column("push_via", sa.String(length=255), nullable=True))


def downgrade() -> None:
    op.drop_column("channel", "push_via")
    op.drop_index("uq_phone_push", table_name="phone_push")
    op.drop_index(
        "ix_phone_push_due",
        table_name="phone_push",
        sqlite_where=sa.text("due_on IS NOT NULL"),
        postgresql_where=sa.text("due_on IS NOT NULL"),
    )
    op.drop_table("phone_push")
