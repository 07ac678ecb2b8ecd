"""Indexes of the few messages that are archived, spoken, failed or not sent yet, which lists look for among all, and of
deliveries by event, receiver and contact, and of what shows a contact or a user by name.

Older programs work with them.
"""

from persistence.migrations.large_tables import add_index, remove_index

revision = "0004"
down_revision = "0003"
works_for = "0001"
branch_labels = None
depends_on = None

PAGE = ("workspace_id", "created_on", "id")
RARE = "status IN ('queued', 'wired', 'errored', 'failed')"
INDEXES = {
    "ix_message_archived": ("message", PAGE, "visibility = 'archived'"),
    "ix_message_voice": ("message", PAGE, "type = 'voice'"),
    "ix_message_rare": ("message", ("workspace_id", "status", *PAGE[1:]), RARE),
    "ix_flow_start_contact_contact": ("flow_start_contact", ("contact_id",), None),
    "ix_broadcast_contact_contact": ("broadcast_contact", ("contact_id",), None),
    "ix_ticket_assignee": ("ticket", ("assignee_id",), "assignee_id IS NOT NULL"),
    "ix_ticket_opener": ("ticket", ("opened_by_id",), "opened_by_id IS NOT NULL"),
}
OF_DELIVERIES: dict[str, tuple[str, str | None]] = {
    "ix_delivery_event": ("event", None),
    "ix_delivery_channel": ("channel_id", "channel_id IS NOT NULL"),
    "ix_delivery_to_subscriber": ("subscriber_id", "subscriber_id IS NOT NULL"),
    "ix_delivery_contact": ("contact_id", "contact_id IS NOT NULL"),
}


def upgrade() -> None:
    for name, (table, columns, condition) in INDEXES.items():
        add_index(name, table, columns, where=condition)
    for name, (column, condition) in OF_DELIVERIES.items():
        add_index(name, "delivery", ("workspace_id", column, *PAGE[1:]), where=condition)


def downgrade() -> None:
    for name in OF_DELIVERIES:
        remove_index(name, "delivery")
    for name, (table, _, _) in INDEXES.items():
        remove_index(name, table)
