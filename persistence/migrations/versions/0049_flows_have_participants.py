"""Flows have participants: who has one open in the editor.

Older programs work with it: they tell of conversations alone.
"""

import sqlalchemy as sa
from alembic import op

from persistence.migrations import keys

revision = "0049"
down_revision = "0048"
works_for = "0001"
branch_labels = None
depends_on = None

ALONE = {"resolve_fks": False}
"""Contacts have an index on an expression, of which SQLAlchemy warns whoever reads how they are made."""
UNIQUE, REFERENCE = "uq_participant_workspace_id_flow_id_user_id", "fk_participant_flow_id"


def upgrade() -> None:
    flow_id = sa.Column("flow_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True)
    reference = keys.reference("participant", "flow_id", "flow")
    targets = [each.target_fullname.partition(".")[2] for each in reference.elements]
    with op.batch_alter_table(
        "participant", reflect_kwargs=ALONE, table_kwargs={"sqlite_autoincrement": True}
    ) as table:
        table.add_column(flow_id)
        table.alter_column("contact_id", existing_type=sa.BigInteger(), nullable=True)
        table.create_unique_constraint(op.f(UNIQUE), ["workspace_id", "flow_id", "user_id"])
        table.create_foreign_key(op.f(REFERENCE), "flow", reference.column_keys, targets)
        table.create_check_constraint("about", "(contact_id IS NULL) <> (flow_id IS NULL)")


def downgrade() -> None:
    op.execute("DELETE FROM participant WHERE contact_id IS NULL")
    with op.batch_alter_table(
        "participant", reflect_kwargs=ALONE, table_kwargs={"sqlite_autoincrement": True}
    ) as table:
        table.drop_constraint("about", type_="check")
        table.drop_constraint(op.f(REFERENCE), type_="foreignkey")
        table.drop_constraint(op.f(UNIQUE), type_="unique")
        table.alter_column("contact_id", existing_type=sa.BigInteger(), nullable=False)
        table.drop_column("flow_id")
