"""What a segment costs, transliteration, sending hours and the budget of automatic messages, by channel; and when a
message that had to wait is due.

Older programs work with it: they know no terms, and give phones at once what is to wait.
"""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    op.add_column("message", sa.Column("due_on", TIME, nullable=True))
    op.add_column("message", sa.Column("due_reason", sa.String(length=6), nullable=True))
    op.add_column("channel", sa.Column("transliterates", sa.Boolean(), nullable=True))
    op.add_column("channel", sa.Column("segment_cost", sa.BigInteger(), nullable=True))
    op.add_column("channel", sa.Column("sending_hours", sa.String(length=64), nullable=True))
    op.add_column("channel", sa.Column("automatic_per_day", sa.Integer(), nullable=True))


def downgrade() -> None:
    for name in ("automatic_per_day", "sending_hours", "segment_cost", "transliterates"):
        op.drop_column("channel", name)
    for name in ("due_reason", "due_on"):
        op.drop_column("message", name)
