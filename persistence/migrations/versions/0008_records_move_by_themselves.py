"""Names that change move no other records: what was noted for them goes. Flows note themselves that their counts changed.
What is deleted is kept for mirrors.

Released programs know none of it: 0002 and this revision come with the same release. What they delete is not told.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from persistence.migrations import keys
from persistence.migrations.large_tables import add_index, remove_index

revision = "0008"
down_revision = "0007"
works_for = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True).with_variant(sa.String(27), "sqlite")
UUID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
WAITING = """UPDATE flow SET counted_on = (SELECT changed_on FROM pending_touch
WHERE pending_touch.workspace_id = flow.workspace_id AND subject = 'counts' AND record = flow.id)"""


def upgrade() -> None:
    op.create_table(
        "deletion",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("uuid", UUID, nullable=True),
        sa.Column("key", sa.String(length=36), nullable=True),
        sa.Column("merged_into", UUID, nullable=True),
        sa.Column("modified_on", TIME, nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_deletion_workspace_id")),
        keys.primary_key("deletion", "id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_deletion_page", "deletion", ["workspace_id", "modified_on", "id"])
    op.create_index("ix_deletion_kind", "deletion", ["workspace_id", "kind", "modified_on", "id"])
    op.create_index("ix_deletion_age", "deletion", ["modified_on"])
    op.add_column("flow", sa.Column("counted_on", TIME, nullable=True))
    op.execute(WAITING)
    op.drop_table("pending_touch")
    add_index("ix_flow_counted", "flow", ("counted_on", "workspace_id", "id"), where="counted_on IS NOT NULL")


def downgrade() -> None:
    op.drop_table("deletion")
    remove_index("ix_flow_counted", "flow")
    op.drop_column("flow", "counted_on")
    op.create_table(
        "pending_touch",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("workspace_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.String(length=7), nullable=False),
        sa.Column("record", ID, nullable=False),
        sa.Column("changed_on", TIME, nullable=False),
        sa.Column("portions", sa.Integer(), nullable=False),
        sa.Column("pass_on", TIME, nullable=True),
        sa.Column("reached_on", TIME, nullable=True),
        sa.Column("reached_id", ID, nullable=True),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspace.id"], name=op.f("fk_pending_touch_workspace_id")),
        keys.primary_key("pending_touch", "id"),
        sa.UniqueConstraint(
            "workspace_id", "subject", "record", name=op.f("uq_pending_touch_workspace_id_subject_record")
        ),
        sqlite_autoincrement=True,
    )
