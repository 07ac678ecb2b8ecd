"""Work counts how often it was begun without getting on, and says why it was given up.

Older programs work with it: they count nothing, so what ends them is tried again.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
COUNTED = ("contact_import", "export", "data_request", "broadcast", "flow_start", "campaign_event", "campaign_fire")
LEASED = ("broadcast", "flow_start", "campaign_event")


def upgrade() -> None:
    for table in COUNTED:
        op.add_column(table, sa.Column("attempts", sa.Integer(), server_default="0", nullable=False))
    for table in LEASED:
        op.add_column(table, sa.Column("leased_until", TIME, nullable=True))
        op.add_column(table, sa.Column("error", sa.Text(), nullable=True))
    op.add_column("workspace", sa.Column("archiving", sa.JSON(none_as_null=True), nullable=True))
    op.add_column("delivery", sa.Column("begun", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("delivery", "begun")
    op.drop_column("workspace", "archiving")
    for table in LEASED:
        op.drop_column(table, "leased_until")
        op.drop_column(table, "error")
    for table in COUNTED:
        op.drop_column(table, "attempts")
