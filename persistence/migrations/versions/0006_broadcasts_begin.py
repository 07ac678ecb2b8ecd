"""Broadcasts that wait for their time are in a list of their own, and are created when they begin for the other one:
indexes of both lists, of those whose time comes and of those that go on, in place of the indexes of all.

Older programs work with them.
"""

from persistence.migrations.large_tables import add_index, change_in_batches, remove_index

revision = "0006"
down_revision = "0005"
works_for = "0001"
branch_labels = None
depends_on = None

BEGUN = """UPDATE broadcast SET created_on = scheduled_on
WHERE id > :after AND id <= :upto AND scheduled_on > created_on
AND (status IN ('queued', 'started', 'completed', 'failed') OR total >= 0)"""
"""Those that began before this revision."""

PAGE = ("workspace_id", "created_on", "id")
GOING = ("workspace_id", "modified_on", "id")
UNFINISHED = "status IN ('pending', 'queued', 'started')"
HAS_BEGUN = "(scheduled_on IS NULL OR scheduled_on <= created_on)"
WAITS = "status = 'pending' AND scheduled_on > created_on"
NEW: dict[str, tuple[tuple[str, ...], str | None]] = {
    "ix_broadcast_begun": (PAGE, HAS_BEGUN),
    "ix_broadcast_scheduled": (PAGE, "scheduled_on > created_on"),
    "ix_broadcast_due": (("workspace_id", "scheduled_on", "id"), WAITS),
    "ix_broadcast_going": (GOING, f"{UNFINISHED} AND {HAS_BEGUN}"),
}
FORMER: dict[str, tuple[tuple[str, ...], str | None]] = {
    "ix_broadcast_page": (PAGE, None),
    "ix_broadcast_unfinished": (GOING, UNFINISHED),
}


def upgrade() -> None:
    change_in_batches("0006_begun", "broadcast", BEGUN)
    _replace(FORMER, NEW)


def downgrade() -> None:
    _replace(NEW, FORMER)


def _replace(
    former: dict[str, tuple[tuple[str, ...], str | None]], new: dict[str, tuple[tuple[str, ...], str | None]]
) -> None:
    for name, (columns, condition) in new.items():
        add_index(name, "broadcast", columns, where=condition)
    for name in former:
        remove_index(name, "broadcast")
