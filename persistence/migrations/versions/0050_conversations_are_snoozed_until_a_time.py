"""Conversations are snoozed until a time.

Older programs work with it: what they write brings a snoozed conversation back.
"""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
INDEXES = {
    "ix_conversation_marked": ("modified_on", sa.text("modified_on IS NOT NULL")),
    "ix_conversation_snoozed": ("snoozed_until", sa.text("folder = 'snoozed'")),
}


def upgrade() -> None:
    op.add_column("conversation", sa.Column("snoozed_until", TIME, nullable=True))
    op.add_column("conversation", sa.Column("snoozed_by_id", sa.Integer(), nullable=True))
    op.add_column("conversation", sa.Column("modified_on", TIME, nullable=True))
    for name, (column, where) in INDEXES.items():
        op.create_index(
            name, "conversation", ["workspace_id", column], sqlite_where=where, postgresql_where=where, unique=False
        )


def downgrade() -> None:
    of_last = "(SELECT folder FROM message WHERE message.id = conversation.message_id)"
    op.execute(f"UPDATE conversation SET folder = {of_last} WHERE snoozed_until IS NOT NULL")
    for name in INDEXES:
        op.drop_index(name, table_name="conversation")
    for name in ("modified_on", "snoozed_by_id", "snoozed_until"):
        op.drop_column("conversation", name)
