"""Channels say whether messages to other countries may go through them.

Older programs work with it: the column is new and optional.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("channel", sa.Column("allow_international", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("channel", "allow_international")
