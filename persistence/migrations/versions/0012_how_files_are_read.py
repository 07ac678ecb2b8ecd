"""Imports know how their file is read: its encoding, the order of days and months, the decimal sign.

Older programs work with it: the column is new and optional.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("contact_import", sa.Column("reading", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    op.drop_column("contact_import", "reading")
