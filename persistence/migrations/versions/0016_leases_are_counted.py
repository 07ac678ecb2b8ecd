"""Leases of contacts count how often they were not given back.

Older programs work with it: they count nothing, so what ends them is tried again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("contact", sa.Column("handling_attempts", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("contact", "handling_attempts")
