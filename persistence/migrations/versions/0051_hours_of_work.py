"""Teams have hours of work, and tickets a time until which a first reply is due.

Older programs work with it: they answer nobody outside of the hours.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations.large_tables import add_index, remove_index

revision = "0051"
down_revision = "0050"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
DUE = "status = 'open' AND replied_on IS NULL AND reply_due IS NOT NULL"


def upgrade() -> None:
    # An attempt that was interrupted before the index was there has left the columns.
    is_repeated = op.get_context().dialect.name == "postgresql"
    for column in (
        sa.Column("hours", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("holidays", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("closed_text", sa.Text(), server_default="", nullable=False),
        sa.Column("reply_minutes", sa.Integer(), server_default="0", nullable=False),
    ):
        op.add_column("team", column, if_not_exists=is_repeated)
    op.add_column("ticket", sa.Column("reply_due", TIME, nullable=True), if_not_exists=is_repeated)
    add_index("ix_ticket_due", "ticket", ("workspace_id", "reply_due", "id"), where=DUE)


def downgrade() -> None:
    remove_index("ix_ticket_due", "ticket")
    op.drop_column("ticket", "reply_due")
    for name in ("reply_minutes", "closed_text", "holidays", "hours"):
        op.drop_column("team", name)
