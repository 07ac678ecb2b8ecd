"""Channels say whether messages to other countries may go through them, and waits of flows from when they count.

Older programs work with it: the columns are new and optional.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    op.add_column("channel", sa.Column("allow_international", sa.Boolean(), nullable=True))
    op.add_column("flow_session", sa.Column("counted_from", TIME, nullable=True))


def downgrade() -> None:
    op.drop_column("flow_session", "counted_from")
    op.drop_column("channel", "allow_international")
