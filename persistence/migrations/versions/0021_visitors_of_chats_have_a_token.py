"""Visitors of sites with a chat have a token.

Older programs work with it: they do not know the table.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0021"
down_revision = "0020"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "webchat_visitor",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("code", sa.String(length=24), nullable=False),
        sa.Column("path", sa.String(length=255), nullable=False),
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("created_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("webchat_visitor", "id"),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_webchat_visitor_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_webchat_visitor_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_webchat_visitor_channel", "webchat_visitor", ["channel_id"], unique=False)
    op.create_index("ix_webchat_visitor_contact", "webchat_visitor", ["contact_id"], unique=False)
    op.create_index("uq_webchat_visitor", "webchat_visitor", ["code", "workspace_id"], unique=True)


def downgrade() -> None:
    op.drop_index("uq_webchat_visitor", table_name="webchat_visitor")
    op.drop_index("ix_webchat_visitor_contact", table_name="webchat_visitor")
    op.drop_index("ix_webchat_visitor_channel", table_name="webchat_visitor")
    op.drop_table("webchat_visitor")
