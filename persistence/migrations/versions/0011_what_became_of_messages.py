"""What became of messages whose worker died, automatic messages in a circle, phones that were refused: columns and an
index.

Older programs work with it: each column is new and optional. They do not count automatic messages.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from persistence.migrations.large_tables import add_index, remove_index

revision = "0011"
down_revision = "0010"
works_for = "0001"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
NEW: tuple[tuple[str, str, sa.types.TypeEngine[Any]], ...] = (
    ("message", "automatic", sa.Integer()),
    ("contact", "answers_stopped_on", TIME),
    ("workspace", "answer_limit", sa.Integer()),
    ("channel", "refused_on", TIME),
    ("channel", "refused_reason", sa.String(16)),
)
WATCHED = "failed_reason IN ('uncertain', 'circle')"


def upgrade() -> None:
    add_index("ix_message_watched", "message", ("channel_id", "failed_reason", "created_on"), where=WATCHED)
    for table, name, kind in NEW:
        op.add_column(table, sa.Column(name, kind, nullable=True))


def downgrade() -> None:
    remove_index("ix_message_watched", "message")
    for table, name, _ in reversed(NEW):
        op.drop_column(table, name)
