"""Files of incoming messages are fetched, and templates of gateways read and sent.

Older programs work with it: they fetch and read none, and a newer one does it later.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys

revision = "0020"
down_revision = "0019"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "incoming_file",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("uuid", sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql"), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("contact_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("message_id", sa.Integer(), nullable=False),
        sa.Column("content_type", sa.String(length=255), nullable=False),
        sa.Column("reference", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("is_stored", sa.Boolean(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("leased_until", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
        sa.Column("created_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=False),
        keys.primary_key("incoming_file", "id"),
        keys.reference("incoming_file", "contact_id", "contact"),
        keys.reference("incoming_file", "message_id", "message", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_incoming_file_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_incoming_file_workspace_id")),
        sa.UniqueConstraint("uuid", "workspace_id", name=op.f("uq_incoming_file_uuid_workspace_id")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_incoming_file_contact", "incoming_file", ["contact_id"], unique=False)
    op.create_index("ix_incoming_file_due", "incoming_file", ["workspace_id", "leased_until"], unique=False)
    op.create_index("ix_incoming_file_message", "incoming_file", ["message_id"], unique=False)
    op.add_column("broadcast", sa.Column("template", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(
        "channel",
        sa.Column("templates_due_on", sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite"), nullable=True),
    )
    op.add_column("channel", sa.Column("templates_error", sa.Text(), nullable=True))
    op.create_index(
        "ix_channel_templates",
        "channel",
        ["templates_due_on", "id"],
        unique=False,
        sqlite_where=sa.text("templates_due_on IS NOT NULL"),
        postgresql_where=sa.text("templates_due_on IS NOT NULL"),
    )
    op.add_column("message", sa.Column("template", sa.JSON(none_as_null=True), nullable=True))
    op.add_column(
        "template_translation", sa.Column("gateway_language", sa.String(length=16), server_default="", nullable=False)
    )


def downgrade() -> None:
    op.drop_column("template_translation", "gateway_language")
    op.drop_column("message", "template")
    op.drop_index(
        "ix_channel_templates",
        table_name="channel",
        sqlite_where=sa.text("templates_due_on IS NOT NULL"),
        postgresql_where=sa.text("templates_due_on IS NOT NULL"),
    )
    op.drop_column("channel", "templates_error")
    op.drop_column("channel", "templates_due_on")
    op.drop_column("broadcast", "template")
    op.drop_index("ix_incoming_file_message", table_name="incoming_file")
    op.drop_index("ix_incoming_file_due", table_name="incoming_file")
    op.drop_index("ix_incoming_file_contact", table_name="incoming_file")
    op.drop_table("incoming_file")
