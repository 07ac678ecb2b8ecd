"""Indexes of the few messages that are archived, spoken, failed or not sent yet, which lists look for among all.

Older programs work with them.
"""

from persistence.migrations.large_tables import add_index, remove_index

revision = "0004"
down_revision = "0003"
works_for = "0001"
branch_labels = None
depends_on = None

PAGE = ("workspace_id", "created_on", "id")
INDEXES = {
    "ix_message_archived": (PAGE, "visibility = 'archived'"),
    "ix_message_voice": (PAGE, "type = 'voice'"),
    "ix_message_rare": (("workspace_id", "status", *PAGE[1:]), "status IN ('queued', 'wired', 'errored', 'failed')"),
}


def upgrade() -> None:
    for name, (columns, condition) in INDEXES.items():
        add_index(name, "message", columns, where=condition)


def downgrade() -> None:
    for name in INDEXES:
        remove_index(name, "message")
