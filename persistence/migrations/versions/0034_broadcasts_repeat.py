"""Broadcasts repeat, and are written before they are sent.

Older programs work with it: a worker of theirs sends what repeats once.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("broadcast", sa.Column("repeat", sa.String(length=8), nullable=True))
    op.add_column("broadcast", sa.Column("days", sa.String(length=7), nullable=True))
    op.add_column("broadcast", sa.Column("time_of_day", sa.Time(), nullable=True))
    op.add_column("broadcast", sa.Column("repeat_until", sa.Date(), nullable=True))
    op.add_column("broadcast", sa.Column("repeat_times", sa.Integer(), nullable=True))
    op.add_column("broadcast", sa.Column("repeated", sa.Integer(), server_default="0", nullable=False))
    op.add_column(
        "broadcast", sa.Column("parent_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True)
    )
    op.create_index(
        "ix_broadcast_draft",
        "broadcast",
        ["workspace_id", "created_on", "id"],
        unique=False,
        sqlite_where=sa.text("status = 'draft'"),
        postgresql_where=sa.text("status = 'draft'"),
    )
    op.create_index(
        "ix_broadcast_parent",
        "broadcast",
        ["parent_id", "created_on", "id"],
        unique=False,
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_broadcast_parent",
        table_name="broadcast",
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
    op.drop_index(
        "ix_broadcast_draft",
        table_name="broadcast",
        sqlite_where=sa.text("status = 'draft'"),
        postgresql_where=sa.text("status = 'draft'"),
    )
    op.drop_column("broadcast", "parent_id")
    op.drop_column("broadcast", "repeated")
    op.drop_column("broadcast", "repeat_times")
    op.drop_column("broadcast", "repeat_until")
    op.drop_column("broadcast", "time_of_day")
    op.drop_column("broadcast", "days")
    op.drop_column("broadcast", "repeat")
