"""Old runs move into archives, each into exactly one, ninety days after they ended."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from persistence.media.store import MediaStore, open_store
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.flows import flow_run, flow_session
from tests.channel_rows import add_channel, add_contact, add_outgoing
from tests.run_rows import NODE, add_flow, add_people, add_run, add_start, add_waiting, status_counts
from worker.jobs import begin_archiving

PATH = "/api/v2/archives.json"
RUNS = "/api/v2/runs.json"
OLD = datetime(2025, 11, 29, 10, tzinfo=UTC)
"""The clock of tests begins on 2 March 2026, so that November 2025 is over for 90 days and December is not."""


@pytest.fixture
def registration(database, workspace):
    return add_flow(database, workspace)


@pytest.fixture
def amina(database, workspace):
    return add_contact(database, workspace)


@pytest.fixture
def add(database, workspace, registration, amina):
    """Adds a run that ended at a moment; returns its id."""

    def add_ended(exited_on, contact_id=amina, **values):
        times = {"created_on": exited_on, "modified_on": exited_on, "exited_on": exited_on}
        return add_run(database, workspace, registration, contact_id, **times | values)

    return add_ended


@pytest.fixture
def archive_all(runtime):
    def work():
        step = begin_archiving(runtime)
        while step():
            pass

    return work


@pytest.fixture
def store(settings):
    return open_store(settings)


def lines_in(store: MediaStore) -> list[dict]:
    """The records in all files, file after file."""
    files = [store.open(name) for name in sorted(store.list_names())]
    return [json.loads(line) for file in files for line in gzip.decompress(file.stream.read()).splitlines()]


def living(database, table=flow_run) -> list[int]:
    with database.reading() as tx:
        return list(tx.execute(select(table.c.id).order_by(table.c.id)).scalars())


def test_archived_runs_are_what_the_list_showed(api, add, archive_all, database, store, workspace, registration, amina):
    start_id = add_start(database, workspace, registration, [amina])
    value = {"name": "A", "value": "7", "category": None, "node": NODE, "time": "2025-11-29T09:00:00.000000Z"}
    values = {"start_id": start_id, "responded": True, "results": {"a": value}}
    ids = [add(OLD, **values), add(OLD + timedelta(hours=20), status="failed")]
    shown = api.results(RUNS)[::-1]

    archive_all()

    (record,) = api.results(PATH)
    assert (record["archive_type"], record["period"], record["start_date"]) == ("run", "monthly", "2025-11-01")
    assert record["record_count"] == 2
    assert lines_in(store) == shown
    assert [line["id"] for line in shown] == ids
    assert (living(database), api.results(RUNS)) == ([], [])


def test_flows_go_on_counting_archived_runs(add, archive_all, database, registration):
    add(OLD)

    archive_all()

    assert status_counts(database, registration) == {"completed": 1}


def test_only_runs_that_ended_on_whole_days_before_are_archived(api, add, archive_all, database):
    add(datetime(2025, 12, 1, 23, 59, 59, tzinfo=UTC))
    young = add(datetime(2025, 12, 2, tzinfo=UTC), created_on=OLD)

    archive_all()

    (record,) = api.results(PATH)
    assert (record["start_date"], record["period"], record["record_count"]) == ("2025-12-01", "daily", 1)
    assert living(database) == [young]


def test_an_open_run_stays_however_old_and_holds_nothing_up(api, add, archive_all, database, workspace, registration):
    (bosco,) = add_people(database, workspace, 1)
    _, waiting = add_waiting(database, workspace, registration, bosco)
    with database.writing() as tx:
        tx.execute(update(flow_run).where(flow_run.c.id == waiting).values(created_on=OLD, modified_on=OLD))
    add(OLD)

    archive_all()

    (record,) = api.results(PATH)
    assert (record["period"], record["record_count"]) == ("monthly", 1)
    assert living(database) == [waiting]


def test_a_session_goes_with_the_last_of_its_runs(add, archive_all, database, workspace, registration, amina):
    session_id, run_id = add_waiting(database, workspace, registration, amina)
    with database.writing() as tx:
        tx.execute(update(flow_session).values(status="completed"))
        ended = {"status": "completed", "modified_on": OLD, "exited_on": OLD}
        tx.execute(update(flow_run).where(flow_run.c.id == run_id).values(**ended))
    child = add(OLD + timedelta(days=60), session_id=session_id)

    archive_all()
    assert (living(database), living(database, flow_session)) == ([child], [session_id])

    with database.writing() as tx:
        tx.execute(update(flow_run).where(flow_run.c.id == child).values(exited_on=OLD))
    archive_all()
    assert (living(database), living(database, flow_session)) == ([], [])


def test_messages_and_runs_of_one_day_have_an_archive_each(api, add, archive_all, database, workspace, amina, store):
    add(OLD)
    add_outgoing(database, workspace, add_channel(database, workspace), amina, OLD, "sent")

    archive_all()

    assert sorted(record["archive_type"] for record in api.results(PATH)) == ["message", "run"]
    assert [record["record_count"] for record in api.results(PATH, archive_type="run")] == [1]
    assert len(lines_in(store)) == 2
    assert living(database) == []


def test_runs_of_an_anonymous_workspace_are_archived_without_address(add, archive_all, database, workspace, store):
    add(OLD)
    with database.writing() as tx:
        tx.execute(update(workspaces).where(workspaces.c.id == workspace.id).values(is_anonymous=True))

    archive_all()

    (line,) = lines_in(store)
    assert (line["contact"]["urn"], line["contact"]["urn_display"]) == ("tel:********", "********")


@pytest.mark.parametrize("stage", range(7))
def test_work_that_ends_after_any_step_is_taken_up_again(add, runtime, archive_all, database, store, stage):
    ids = [add(OLD), add(OLD + timedelta(days=1))]
    step = begin_archiving(runtime)
    for _ in range(stage):
        step()

    archive_all()

    assert ([line["id"] for line in lines_in(store)], living(database)) == (ids, [])
