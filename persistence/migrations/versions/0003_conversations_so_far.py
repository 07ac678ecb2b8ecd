"""Fills the tables of 0002 with what follows from the messages so far, in batches that can be interrupted.

Older programs work meanwhile, as with 0002.
"""

from persistence.migrations.large_tables import change_in_batches

revision = "0003"
down_revision = "0002"
works_for = "0001"
branch_labels = None
depends_on = None

STAMPS = """INSERT INTO record_stamp (kind, record, workspace_id, stamped_on)
SELECT 'message', id, workspace_id, modified_on FROM message WHERE id > :after AND id <= :upto
ON CONFLICT DO NOTHING"""

CONVERSATIONS = """INSERT INTO conversation
(workspace_id, contact_id, message_id, last_on, folder, unread_count, is_unread, read_id)
SELECT last.workspace_id, last.contact_id, last.id, last.created_on, last.folder, 0, false, last.id
FROM contact JOIN message AS last ON last.workspace_id = contact.workspace_id AND last.id = (
  SELECT m.id FROM message AS m
  WHERE m.workspace_id = contact.workspace_id AND m.contact_id = contact.id AND m.visibility <> 'deleted'
  ORDER BY m.created_on DESC, m.id DESC LIMIT 1)
WHERE contact.id > :after AND contact.id <= :upto AND NOT contact.is_deleted
ON CONFLICT DO NOTHING"""
"""What was there before counts as read."""


def upgrade() -> None:
    change_in_batches("0003_stamps", "message", STAMPS)
    change_in_batches("0003_conversations", "contact", CONVERSATIONS)


def downgrade() -> None:
    """The tables stay until 0002 is taken back."""
