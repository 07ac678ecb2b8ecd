"""A workspace that floods has its turns like every other, in each job that takes due work."""

from dataclasses import replace

from sqlalchemy import func, select

from persistence.database import Database
from persistence.leases import MUCH, Share
from persistence.sql.columns import new_uuid
from persistence.tables.messages import HANDLED, broadcast, message
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from tests.channel_rows import receive_messages
from worker.flows.incoming import PLAIN_BATCH, begin_incoming
from worker.jobs import begin_broadcasts
from worker.runtime import Runtime


def begin_other(database: Database) -> Workspace:
    with database.writing() as tx:
        return create_workspace(tx, "Mountain School", country="RW", timezone="Africa/Kigali")


def count_handled(database: Database, workspace: Workspace) -> int:
    mine = (message.c.workspace_id == workspace.id) & (message.c.status == HANDLED)
    with database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(message).where(mine)).scalar_one())


def test_a_message_is_handled_after_one_turn_of_a_workspace_with_thousands(
    database: Database, workspace: Workspace, runtime: Runtime
) -> None:
    other = begin_other(database)
    receive_messages(database, workspace, 3 * PLAIN_BATCH)
    receive_messages(database, other, 1)

    step = begin_incoming(runtime)
    step()
    step()

    assert count_handled(database, other) == 1
    assert count_handled(database, workspace) < 3 * PLAIN_BATCH, "the flood goes on after that"


def test_messages_that_no_flow_needs_are_handled_only_in_bulk(
    database: Database, workspace: Workspace, runtime: Runtime
) -> None:
    receive_messages(database, workspace, PLAIN_BATCH + 1)

    step = begin_incoming(runtime)

    for handled in (PLAIN_BATCH, PLAIN_BATCH + 1):
        assert step(), "more may have come meanwhile"
        assert count_handled(database, workspace) == handled
    assert not step()


def test_a_process_for_little_work_leaves_a_flood_to_the_one_for_much(
    database: Database, workspace: Workspace, runtime: Runtime, woken: list[str]
) -> None:
    other = begin_other(database)
    receive_messages(database, workspace, PLAIN_BATCH + MUCH - 1)
    receive_messages(database, other, 1)

    step = begin_incoming(replace(runtime, share=Share.LITTLE))
    while step():
        pass

    assert (count_handled(database, other), count_handled(database, workspace)) == (1, 0)

    woken.clear()
    step = begin_incoming(replace(runtime, share=Share.MUCH))
    while step():
        pass

    assert count_handled(database, workspace) == PLAIN_BATCH
    assert woken == ["incoming"], "the rest is no flood any more"


def test_a_broadcast_does_not_wait_for_all_those_of_another_workspace(
    database: Database, workspace: Workspace, runtime: Runtime
) -> None:
    other = begin_other(database)
    for owner in (workspace, workspace, workspace, other):
        with database.writing() as tx:
            tx.insert(
                broadcast,
                uuid=new_uuid(),
                workspace_id=owner.id,
                status="pending",
                urns=[],
                text={"eng": "Hello"},
                attachments={},
                files={},
                quick_replies={},
                base_language="eng",
                created_on=tx.now,
                modified_on=tx.now,
            )

    step = begin_broadcasts(runtime)
    step()
    step()

    with database.reading() as tx:
        done = select(broadcast.c.workspace_id).where(broadcast.c.status == "completed")
        assert sorted(tx.execute(done).scalars()) == sorted([workspace.id, other.id])
