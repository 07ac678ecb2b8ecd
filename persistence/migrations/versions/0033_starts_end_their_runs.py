"""Somebody may interrupt the runs of a start; fires say whether the contact was left out, and all of a contact are found.

Older programs work with it: they leave the new columns as they are, and find what is scheduled by the new index too.
"""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("campaign_fire", sa.Column("is_skipped", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.drop_index("ix_campaign_fire_contact", table_name="campaign_fire")
    op.create_index("ix_campaign_fire_contact", "campaign_fire", ["contact_id", "due_on", "id"], unique=False)
    op.add_column(
        "flow_start",
        sa.Column("ends_runs_until", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
    )
    op.drop_index("ix_flow_run_open", table_name="flow_run")
    op.create_index(
        "ix_flow_run_open",
        "flow_run",
        ["flow_id", "start_id"],
        unique=False,
        sqlite_where=sa.text("status IN ('active', 'waiting')"),
        postgresql_where=sa.text("status IN ('active', 'waiting')"),
    )
    op.create_index(
        "ix_flow_start_ending",
        "flow_start",
        ["workspace_id", "id"],
        unique=False,
        sqlite_where=sa.text("ends_runs_until IS NOT NULL"),
        postgresql_where=sa.text("ends_runs_until IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_flow_run_open", table_name="flow_run")
    op.create_index(
        "ix_flow_run_open",
        "flow_run",
        ["flow_id"],
        unique=False,
        sqlite_where=sa.text("status IN ('active', 'waiting')"),
        postgresql_where=sa.text("status IN ('active', 'waiting')"),
    )
    op.drop_index("ix_flow_start_ending", table_name="flow_start")
    op.drop_column("flow_start", "ends_runs_until")
    op.drop_index("ix_campaign_fire_contact", table_name="campaign_fire")
    op.create_index(
        "ix_campaign_fire_contact",
        "campaign_fire",
        ["contact_id"],
        unique=False,
        sqlite_where=sa.text("fired_on IS NULL"),
        postgresql_where=sa.text("fired_on IS NULL"),
    )
    op.drop_column("campaign_fire", "is_skipped")
