"""Indexes of the few messages that are archived, spoken, failed or not sent yet, which lists look for among all, and of
deliveries by event, receiver and contact.

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
OF_DELIVERIES: dict[str, tuple[str, str | None]] = {
    "ix_delivery_event": ("event", None),
    "ix_delivery_channel": ("channel_id", "channel_id IS NOT NULL"),
    "ix_delivery_to_subscriber": ("subscriber_id", "subscriber_id IS NOT NULL"),
    "ix_delivery_contact": ("contact_id", "contact_id IS NOT NULL"),
}


def upgrade() -> None:
    for name, (columns, condition) in INDEXES.items():
        add_index(name, "message", columns, where=condition)
    for name, (column, condition) in OF_DELIVERIES.items():
        add_index(name, "delivery", ("workspace_id", column, *PAGE[1:]), where=condition)


def downgrade() -> None:
    for name in OF_DELIVERIES:
        remove_index(name, "delivery")
    for name in INDEXES:
        remove_index(name, "message")
