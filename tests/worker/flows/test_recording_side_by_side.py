"""Workers that record runs, beside others who write the same contacts and flows."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from persistence.database import Database
from persistence.flows.assets import find_archived
from persistence.flows.records import archive_flow
from persistence.runs.runs import WAITING, RunState, save_runs
from persistence.sessions.parking import acquire_leases, lock_leased
from persistence.sql.columns import new_uuid
from persistence.tables.flows import flow, flow_run
from persistence.workspaces.records import Workspace
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from tests.definition_files import bring_in, make_definition, make_file, say
from tests.run_rows import add_flow, add_people, add_run
from tests.waits_for_locks import backend_of, is_awaited

# On SQLite one unit of work writes at a time.
pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def test_rows_of_a_contact_are_stored_while_a_worker_holds_the_contact(
    database: Database, workspace: Workspace
) -> None:
    flow_id = add_flow(database, workspace)
    [contact_id] = add_people(database, workspace, 1)
    leases = database.write(lambda tx: acquire_leases(tx, [contact_id]))

    with database.writing() as holding:
        assert [each.id for each in lock_leased(holding, leases)] == [contact_id]
        add_run(database, workspace, flow_id, contact_id)

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(flow_run)).scalar_one() == 1


def test_whoever_archives_a_flow_waits_for_workers_that_found_it_living_and_interrupts_its_runs(
    database: Database, workspace: Workspace
) -> None:
    flow_id = add_flow(database, workspace)
    [contact_id] = add_people(database, workspace, 1)

    with ThreadPoolExecutor(1) as threads:
        with database.writing() as recording:
            assert find_archived(recording, workspace.id, [flow_id]) == set()
            holder = backend_of(recording)
            archiving = threads.submit(archive_flow, database, workspace.id, flow_id)
            wait_until(lambda: is_awaited(database, holder), "the archiving to wait")
            run = RunState(new_uuid(), flow_id, contact_id, WAITING, created_on=recording.now)
            save_runs(recording, workspace.id, [run], at_end=True)
        archiving.result(PATIENCE_SECONDS)

    with database.reading() as tx:
        assert tx.execute(select(flow_run.c.status)).scalars().all() == ["interrupted"]
        assert find_archived(tx, workspace.id, [flow_id]) == {flow_id}


def test_a_flow_is_renamed_beside_workers_that_store_and_count_its_runs(
    database: Database, workspace: Workspace
) -> None:
    welcome = make_definition(say("hi"), name="Welcome")
    bring_in(database, workspace, make_file(welcome))
    [contact_id] = add_people(database, workspace, 1)
    with database.reading() as tx:
        flow_id = tx.execute(select(flow.c.id)).scalar_one()

    with ThreadPoolExecutor(1) as threads:
        with database.writing() as recording:
            run = RunState(new_uuid(), flow_id, contact_id, WAITING, created_on=recording.now)
            save_runs(recording, workspace.id, [run])
            holder = backend_of(recording)
            renaming = threads.submit(bring_in, database, workspace, make_file({**welcome, "name": "Hello"}))
            wait_until(lambda: is_awaited(database, holder), "the import to wait")
            # Its end counts the run: with an import that holds the flow already, one of the two would have to give up.
        renaming.result(PATIENCE_SECONDS)

    with database.reading() as tx:
        assert tx.execute(select(flow.c.name, flow.c.active_run_count)).one() == ("Hello", 1)
