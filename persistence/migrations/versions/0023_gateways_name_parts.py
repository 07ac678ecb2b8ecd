"""Providers' ids of parts are kept, and a gateway that takes nothing for a while is left alone.

Older programs work with it: they keep no ids, and leave no gateway alone.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0023"
down_revision = "0022"
works_for = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")


def upgrade() -> None:
    op.add_column("channel", sa.Column("paused_until", TIME, nullable=True))
    op.create_table(
        "gateway_part",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("channel_id", sa.Integer(), nullable=False),
        sa.Column("external_id", sa.String(length=255), nullable=False),
        sa.Column("contact_id", ID, nullable=True),
        sa.Column("message_id", ID, nullable=True),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("state", sa.Integer(), nullable=False),
        sa.Column("state_on", TIME, nullable=True),
        sa.Column("created_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["channel_id"], ["channel.id"], name=op.f("fk_gateway_part_channel_id")),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_gateway_part_workspace_id")),
        keys.primary_key("gateway_part", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("uq_gateway_part", "gateway_part", ["channel_id", "external_id", "workspace_id"], unique=True)
    op.create_index("ix_gateway_part_message", "gateway_part", ["message_id", "workspace_id"])
    op.create_index("ix_gateway_part_contact", "gateway_part", ["contact_id"])
    op.create_index("ix_gateway_part_age", "gateway_part", ["created_on", "id"])


def downgrade() -> None:
    op.drop_table("gateway_part")
    op.drop_column("channel", "paused_until")
