"""Flows wait for callbacks of other systems.

Older programs work with it: they take none.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0045"
down_revision = "0044"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "flow_callback",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column(
            "session_uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=False
        ),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("received_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("flow_callback", "id"),
        keys.reference("flow_callback", "contact_id", "contact"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_flow_callback_workspace_id")),
        sa.UniqueConstraint(
            "session_uuid", "number", "workspace_id", name=op.f("uq_flow_callback_session_uuid_number_workspace_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_flow_callback_contact", "flow_callback", ["contact_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_flow_callback_contact", table_name="flow_callback")
    op.drop_table("flow_callback")
