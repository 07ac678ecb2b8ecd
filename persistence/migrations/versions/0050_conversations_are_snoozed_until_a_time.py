"""Conversations are snoozed until a time.

Older programs work with it: what they write brings a snoozed conversation back.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from persistence.migrations.large_tables import add_index, remove_index

revision = "0050"
down_revision = "0049"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
COLUMNS: tuple[tuple[str, sa.types.TypeEngine[Any]], ...] = (
    ("snoozed_until", TIME),
    ("snoozed_by_id", sa.Integer()),
    ("modified_on", TIME),
)
INDEXES = {
    "ix_conversation_marked": ("modified_on", "modified_on IS NOT NULL"),
    "ix_conversation_snoozed": ("snoozed_until", "folder = 'snoozed'"),
}


def upgrade() -> None:
    # An attempt that was interrupted before its indexes were there has left the columns.
    is_repeated = op.get_context().dialect.name == "postgresql"
    for name, kind in COLUMNS:
        op.add_column("conversation", sa.Column(name, kind, nullable=True), if_not_exists=is_repeated)
    for name, (column, where) in INDEXES.items():
        add_index(name, "conversation", ("workspace_id", column), where=where)


def downgrade() -> None:
    of_last = "(SELECT folder FROM message WHERE message.id = conversation.message_id)"
    put_away = "folder = 'snoozed' OR snoozed_until IS NOT NULL"
    op.execute(f"UPDATE conversation SET folder = {of_last} WHERE {put_away}")
    for name in INDEXES:
        remove_index(name, "conversation")
    for name, _ in reversed(COLUMNS):
        op.drop_column("conversation", name)
