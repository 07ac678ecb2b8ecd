"""Flows have drafts: definitions that people saved and no contact gets.

Older programs work with it: they see no drafts.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0041"
down_revision = "0040"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "flow_draft",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("flow_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("based_on", sa.Integer(), nullable=False),
        sa.Column("spec_version", sa.String(length=16), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("dependencies", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_by_id", sa.Integer(), nullable=True),
        sa.Column("created_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        sa.Column("saved_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("flow_draft", "id"),
        keys.reference("flow_draft", "flow_id", "flow"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_flow_draft_workspace_id")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_flow_draft_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_flow_draft_flow", "flow_draft", ["workspace_id", "flow_id", "id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_flow_draft_flow", table_name="flow_draft")
    op.drop_table("flow_draft")
