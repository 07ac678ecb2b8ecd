"""Conversations have participants: who of the workspace looks at one now, or was named in a note on it.

Older programs work with it.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0048"
down_revision = "0047"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "participant",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=6), nullable=False),
        sa.Column("seen_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        sa.Column("mentioned_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("modified_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("participant", "id"),
        keys.reference("participant", "contact_id", "contact"),
        sa.ForeignKeyConstraint(["user_id"], ["app_user.id"], name=op.f("fk_participant_user_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_participant_workspace_id")),
        sa.UniqueConstraint(
            "workspace_id", "contact_id", "user_id", name=op.f("uq_participant_workspace_id_contact_id_user_id")
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_participant_contact", "participant", ["contact_id"], unique=False)
    op.create_index("ix_participant_page", "participant", ["workspace_id", "modified_on", "id"], unique=False)
    op.create_index("ix_participant_user", "participant", ["user_id", "workspace_id"], unique=False)


def downgrade() -> None:
    op.drop_index("ix_participant_user", table_name="participant")
    op.drop_index("ix_participant_page", table_name="participant")
    op.drop_index("ix_participant_contact", table_name="participant")
    op.drop_table("participant")
