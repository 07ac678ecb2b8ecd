"""Subscribers of events of the workspace, and the clock that knows of them.

Older programs work with it: they write no events.
"""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
works_for = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("workspace_clock", sa.Column("told", sa.Text(), nullable=True))
    with op.batch_alter_table("resthook_subscriber", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.add_column(sa.Column("events", sa.JSON(none_as_null=True), nullable=True))
        table.alter_column("resthook_id", existing_type=sa.BigInteger(), nullable=True)
        table.create_check_constraint("subscribed", "(resthook_id IS NULL) <> (events IS NULL)")


def downgrade() -> None:
    op.execute("DELETE FROM resthook_subscriber WHERE resthook_id IS NULL")
    with op.batch_alter_table("resthook_subscriber", table_kwargs={"sqlite_autoincrement": True}) as table:
        table.drop_constraint("subscribed", type_="check")
        table.alter_column("resthook_id", existing_type=sa.BigInteger(), nullable=False)
        table.drop_column("events")
    op.drop_column("workspace_clock", "told")
