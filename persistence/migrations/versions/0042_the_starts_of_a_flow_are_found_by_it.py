"""The starts of a flow are found by it.

Older programs work with it.
"""

from persistence.migrations.large_tables import add_index, remove_index

revision = "0042"
down_revision = "0041"
works_for = "0001"
branch_labels = None
depends_on = None

OF_FLOW = "ix_flow_start_of_flow"


def upgrade() -> None:
    add_index(
        OF_FLOW, "flow_start", ("flow_id", "modified_on", "id"), where="start_type IN ('manual', 'api', 'api_v1')"
    )


def downgrade() -> None:
    remove_index(OF_FLOW, "flow_start")
