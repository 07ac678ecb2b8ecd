"""Channels that have failed for long are passed over, and messages tell it.

Older programs work with it: they go on using channels that fail.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    op.add_column("message", sa.Column("is_fallback", sa.Boolean(), nullable=True))
    op.add_column("channel", sa.Column("down_since", TIME, nullable=True))
    op.add_column("channel", sa.Column("failing_since", TIME, nullable=True))
    op.add_column("channel", sa.Column("failures", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    for name in ("failures", "failing_since", "down_since"):
        op.drop_column("channel", name)
    op.drop_column("message", "is_fallback")
