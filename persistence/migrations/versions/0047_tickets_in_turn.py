"""Tickets are assigned in turn.

Older programs work with it: they assign none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0047"
down_revision = "0046"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("membership", sa.Column("is_away", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("team", sa.Column("assigns_in_turn", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column(
        "team_member",
        sa.Column("assigned_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
    )


def downgrade() -> None:
    op.drop_column("team_member", "assigned_on")
    op.drop_column("team", "assigns_in_turn")
    op.drop_column("membership", "is_away")
