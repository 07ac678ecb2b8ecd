"""Calls of gateways are kept beside those to them.

Older programs work with it: they keep only those to gateways.
"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("gateway_call", sa.Column("direction", sa.String(length=3), server_default="out", nullable=False))
    op.add_column("gateway_call", sa.Column("result", sa.Text(), nullable=True))
    op.create_index(
        "ix_gateway_call_direction", "gateway_call", ["workspace_id", "direction", "created_on", "id"], unique=False
    )


def downgrade() -> None:
    op.drop_index("ix_gateway_call_direction", table_name="gateway_call")
    op.drop_column("gateway_call", "result")
    op.drop_column("gateway_call", "direction")
