"""Who saved a revision of a flow.

Older programs work with it: they do not say who saves.
"""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("flow_revision", sa.Column("created_by_id", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("flow_revision", "created_by_id")
