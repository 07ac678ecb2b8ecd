"""Imports keep what they changed of contacts, so that they can be taken back.

Older programs work with it: their imports keep nothing. One that gets a job that takes an import back cannot do it, and
leaves it to the newer ones; on the way back such a job ends.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0015"
down_revision = "0014"
works_for = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
COUNTS = ("removed", "restored", "kept")


def upgrade() -> None:
    op.create_table(
        "imported_contact",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("import_id", ID, nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("is_new", sa.Boolean(), nullable=False),
        sa.Column("changes", sa.JSON(none_as_null=True), nullable=False),
        keys.reference("imported_contact", "contact_id", "contact"),
        keys.reference("imported_contact", "import_id", "contact_import", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_imported_contact_workspace_id")),
        keys.primary_key("imported_contact", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_imported_contact_contact", "imported_contact", ["contact_id"])
    op.create_index("ix_imported_contact_import", "imported_contact", ["import_id", "contact_id", "id"])
    op.add_column("contact_import", sa.Column("taken_back_on", TIME, nullable=True))
    for name in COUNTS:
        op.add_column("contact_import", sa.Column(name, sa.Integer(), server_default="0", nullable=False))


ENDING = """UPDATE contact_import SET status = 'failed', error = 'An older version cannot take imports back.',
finished_on = taken_back_on, leased_until = NULL WHERE taken_back_on IS NOT NULL AND status IN ('pending', 'running')"""


def downgrade() -> None:
    op.execute(ENDING)
    for name in (*reversed(COUNTS), "taken_back_on"):
        op.drop_column("contact_import", name)
    op.drop_table("imported_contact")
