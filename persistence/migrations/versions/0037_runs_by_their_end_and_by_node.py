"""The runs of a flow are found by how they ended, and by the node where they wait.

Older programs work with it.
"""

from alembic import op
from sqlalchemy import text

from persistence.migrations.large_tables import add_index, remove_index

revision = "0037"
down_revision = "0036"
works_for = "0001"
branch_labels = None
depends_on = None

BY_END, BY_NODE = "ix_flow_run_end", "ix_flow_run_node"
END = text("(CASE status WHEN 'waiting' THEN 'active' WHEN 'failed' THEN 'interrupted' ELSE status END)")
NODE = {"sqlite": text("json_extract(path, '$[#-1].node')"), "postgresql": text("(path -> -1 ->> 'node')")}


def upgrade() -> None:
    node = NODE[op.get_context().dialect.name]
    add_index(BY_END, "flow_run", ("flow_id", END, "modified_on", "id"))
    add_index(BY_NODE, "flow_run", ("flow_id", node, "modified_on", "id"), where="status IN ('active', 'waiting')")


def downgrade() -> None:
    remove_index(BY_NODE, "flow_run")
    remove_index(BY_END, "flow_run")
