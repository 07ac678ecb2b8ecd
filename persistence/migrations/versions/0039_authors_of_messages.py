"""Who wrote an outgoing message.

Older programs work with it: they do not keep it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("message", sa.Column("author_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("message", "author_id")
