"""What ends workers is counted for smart groups, schedules, passes of campaign events, letters and parts of messages;
those that are given up say why.

Older programs work with it: they count nothing, so what ends them is tried again. Letters that were given up they delete
when these expire.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
COUNTS = {
    "contact_group": "attempts",
    "trigger": "attempts",
    "account_mail": "begun",
    "gateway_send": "attempts",
}
TIMES = {"trigger": "leased_until", "campaign_event": "pass_until", "account_mail": "failed_on"}
REASONS = ("contact_group", "trigger", "account_mail", "invitation")


def upgrade() -> None:
    for table, name in COUNTS.items():
        op.add_column(table, sa.Column(name, sa.Integer(), server_default="0", nullable=False))
    for table, name in TIMES.items():
        op.add_column(table, sa.Column(name, TIME, nullable=True))
    for table in REASONS:
        op.add_column(table, sa.Column("error", sa.Text(), nullable=True))
    op.add_column("account_mail", sa.Column("invitation_id", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("account_mail", "invitation_id")
    for table in REASONS:
        op.drop_column(table, "error")
    for table, name in (*TIMES.items(), *COUNTS.items()):
        op.drop_column(table, name)
