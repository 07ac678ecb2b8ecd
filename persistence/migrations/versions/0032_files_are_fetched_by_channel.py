"""Files of incoming messages are found by their channel.

Older programs work with it: they look for those of a workspace.
"""

from alembic import op

revision = "0032"
down_revision = "0031"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_incoming_file_channel", "incoming_file", ["workspace_id", "channel_id", "leased_until"], unique=False
    )


def downgrade() -> None:
    op.drop_index("ix_incoming_file_channel", table_name="incoming_file")
