"""An index of sent messages whose times of creation and sending are more than a day apart, and what PostgreSQL should
know about messages.

Older programs work with both.
"""

from alembic import op

from persistence.migrations.large_tables import add_index, add_statistics, remove_index, remove_statistics

revision = "0005"
down_revision = "0004"
works_for = "0001"
branch_labels = None
depends_on = None

SENT_APART = "ix_message_sent_apart"
KINDS = "message_kinds"
ARE_APART = {
    "sqlite": "(sent_on < created_on OR julianday(sent_on) - julianday(created_on) > 1)",
    "postgresql": "(sent_on < created_on OR sent_on - created_on > interval '1 day')",
}


def upgrade() -> None:
    where = f"folder = 'sent' AND {ARE_APART[op.get_context().dialect.name]}"
    add_index(SENT_APART, "message", ("workspace_id", "created_on", "sent_on"), where=where)
    add_statistics(KINDS, "message", ("direction", "status", "channel_id"))


def downgrade() -> None:
    remove_statistics(KINDS)
    remove_index(SENT_APART, "message")
