"""Receivers say whether channel events come as a form or as JSON.

Older programs work with it: they send forms.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("webhook_receiver", sa.Column("format", sa.String(4), server_default="form", nullable=False))


def downgrade() -> None:
    op.drop_column("webhook_receiver", "format")
