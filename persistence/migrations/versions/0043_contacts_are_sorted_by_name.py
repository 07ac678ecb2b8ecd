"""Contacts are sorted by name.

Older programs work with it.
"""

from alembic import op
from sqlalchemy import text

from persistence.migrations.large_tables import add_index, remove_index

revision = "0043"
down_revision = "0042"
works_for = "0001"
branch_labels = None
depends_on = None

BY_NAME = "ix_contact_name"


def upgrade() -> None:
    order = ' COLLATE "C"' if op.get_context().dialect.name == "postgresql" else ""
    sorted_by = text(f"coalesce('0' || lower(substr(name, 1, 64){order}), '1')")
    add_index(BY_NAME, "contact", ("workspace_id", "is_deleted", sorted_by, "id"))


def downgrade() -> None:
    remove_index(BY_NAME, "contact")
