"""Events of tickets are found by their topic, so that a topic can be deleted.

Older programs work with it: they delete no topics.
"""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_ticket_event_topic",
        "ticket_event",
        ["topic_id"],
        unique=False,
        sqlite_where=sa.text("topic_id IS NOT NULL"),
        postgresql_where=sa.text("topic_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_ticket_event_topic", table_name="ticket_event")
