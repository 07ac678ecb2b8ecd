"""With a saved reply go a label and the end of a ticket.

Older programs work with it: they send the text alone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "saved_reply", sa.Column("label_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True)
    )
    op.add_column("saved_reply", sa.Column("closes_ticket", sa.Boolean(), nullable=False, server_default=sa.false()))


def downgrade() -> None:
    op.drop_column("saved_reply", "closes_ticket")
    op.drop_column("saved_reply", "label_id")
