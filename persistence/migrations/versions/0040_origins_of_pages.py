"""Workspaces name the origins whose pages may call the API.

Older programs work with it: they allow none.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0040"
down_revision = "0039"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "workspace_origin",
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("origin", sa.String(length=267), nullable=False),
        keys.primary_key("workspace_origin", "workspace_id", "origin"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_workspace_origin_workspace_id")),
    )
    op.create_index("ix_workspace_origin_origin", "workspace_origin", ["origin"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_workspace_origin_origin", table_name="workspace_origin")
    op.drop_table("workspace_origin")
