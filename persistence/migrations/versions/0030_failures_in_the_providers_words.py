"""What a provider said of a message that failed.

Older programs work with it: they do not keep it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("message", sa.Column("failed_detail", sa.String(length=500), nullable=True))
    op.add_column("gateway_part", sa.Column("reason", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("gateway_part", "reason")
    op.drop_column("message", "failed_detail")
