"""Teams have hours of work, and tickets a time until which a first reply is due.

Older programs work with it: they answer nobody outside of the hours.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("team", sa.Column("hours", sa.JSON(), server_default="[]", nullable=False))
    op.add_column("team", sa.Column("holidays", sa.JSON(), server_default="[]", nullable=False))
    op.add_column("team", sa.Column("closed_text", sa.Text(), server_default="", nullable=False))
    op.add_column("team", sa.Column("reply_minutes", sa.Integer(), server_default="0", nullable=False))
    op.add_column(
        "ticket",
        sa.Column("reply_due", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
    )
    op.create_index(
        "ix_ticket_due",
        "ticket",
        ["workspace_id", "reply_due", "id"],
        unique=False,
        sqlite_where=sa.text("status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL"),
        postgresql_where=sa.text("status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(
        "ix_ticket_due",
        table_name="ticket",
        sqlite_where=sa.text("status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL"),
        postgresql_where=sa.text("status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL"),
    )
    op.drop_column("ticket", "reply_due")
    op.drop_column("team", "reply_minutes")
    op.drop_column("team", "closed_text")
    op.drop_column("team", "holidays")
    op.drop_column("team", "hours")
