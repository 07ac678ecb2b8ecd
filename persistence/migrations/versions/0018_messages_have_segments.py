"""Messages have the number of SMS that they take.

Older programs work with it: they count none, so their messages have none.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("message", sa.Column("segments", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("message", "segments")
