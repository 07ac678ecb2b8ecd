"""Saving runs as the engine left them, and the flows' counts of them."""

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from flows.engine.state import Result, Run, Step
from persistence.database import Database
from persistence.runs.runs import RunState, save_runs
from persistence.sql.columns import new_uuid
from persistence.tables.flows import flow_run, flow_start
from persistence.tables.service import workspace_clock
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.run_rows import NODE, add_flow, add_run, add_start, status_counts
from worker.flows.recording import describe_run, read_moment

NEXT_NODE = "c8f1a2b3-9f39-4d53-8f39-77a0f4a1a111"


@pytest.fixture
def registration(database: Database, workspace: Workspace) -> int:
    return add_flow(database, workspace)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return add_contact(database, workspace)


def save(database: Database, workspace: Workspace, *runs: RunState) -> dict[str, int]:
    with database.writing() as tx:
        return save_runs(tx, workspace.id, runs)


def state(database: Database, flow_id: int, contact_id: int, status: str, uuid: str | None = None) -> RunState:
    now = database.clock()
    exited_on = None if status in ("active", "waiting") else now
    return RunState(uuid or new_uuid(), flow_id, contact_id, status, now, exited_on=exited_on)


def test_runs_are_made_once_and_then_changed(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    first, second = (state(database, registration, amina, "waiting") for _ in range(2))
    ids = save(database, workspace, first, second)

    over = state(database, registration, amina, "completed", first.uuid)
    third = state(database, registration, amina, "failed")
    saved = save(database, workspace, over, third)

    assert saved[first.uuid] == ids[first.uuid]
    assert third.uuid in saved
    with database.reading() as tx:
        rows = tx.execute(select(flow_run).order_by(flow_run.c.id)).all()
    assert {row.uuid: row.status for row in rows} == {
        first.uuid: "completed",
        second.uuid: "waiting",
        third.uuid: "failed",
    }
    made = next(row for row in rows if row.uuid == first.uuid)
    assert (made.created_on, made.exited_on) == (first.created_on, over.exited_on)
    assert status_counts(database, registration) == {"active": 1, "completed": 1, "interrupted": 1}


def test_results_may_contain_any_character(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    said = "'\\\" % \x00 \u2028 \N{SMILING FACE WITH SMILING EYES}"
    result = {"name": "Said", "value": said, "category": None, "node": NODE, "time": "", "input": said}
    run = state(database, registration, amina, "waiting")._replace(results={"said": result}, path=[{"node": NODE}])

    save(database, workspace, run)

    with database.reading() as tx:
        stored = tx.execute(select(flow_run)).one()
    assert (stored.results, stored.path, stored.visits) == ({"said": result}, run.path, [])


def test_runs_that_are_stored_at_the_end_are_the_same_with_the_time_of_the_clock(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    start_id = add_start(database, workspace, registration, [amina])
    visits, expires_on = [{"type": "A", "left_on": None, "results": [], "said": "\x00 '\\"}], database.clock()
    now, later = (
        state(database, registration, amina, "waiting")._replace(
            path=[{"node": NODE}],
            visits=visits,
            parent_uuid=NODE,
            expires_on=expires_on,
            responded=True,
        )
        for _ in range(2)
    )
    known = state(database, registration, amina, "waiting")
    ids = save(database, workspace, now, known)

    over = state(database, registration, amina, "completed", known.uuid)
    with database.writing() as tx:
        stored = save_runs(tx, workspace.id, [later._replace(start_id=start_id), over], at_end=True)

    assert stored == {known.uuid: ids[known.uuid]}
    with database.reading() as tx:
        rows = {row.uuid: row for row in tx.execute(select(flow_run))}
        clock = tx.execute(select(workspace_clock.c.stamped_on)).scalar_one()
    assert rows[later.uuid].modified_on == rows[over.uuid].modified_on == clock > rows[now.uuid].modified_on
    assert (rows[later.uuid].start_id, rows[over.uuid].status) == (start_id, "completed")
    same = [each.key for each in flow_run.c if each.key not in ("id", "uuid", "modified_on", "start_id", "created_on")]
    assert [rows[later.uuid]._mapping[name] for name in same] == [rows[now.uuid]._mapping[name] for name in same]
    assert rows[later.uuid].created_on == later.created_on
    assert status_counts(database, registration) == {"active": 2, "completed": 1}


def test_runs_that_are_stored_at_the_end_hold_their_start_before(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    if database.sqlite:  # where one writes at a time
        return
    start_id = add_start(database, workspace, registration, [amina])
    mine = select(flow_start.c.id).where(flow_start.c.id == start_id)

    with database.writing() as tx:
        run = state(database, registration, amina, "waiting")._replace(start_id=start_id)
        save_runs(tx, workspace.id, [run], at_end=True)
        with database.writing() as other:
            assert other.execute(mine.with_for_update(skip_locked=True)).first() is None


def test_the_same_state_twice_counts_once(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    run = state(database, registration, amina, "waiting")

    for _ in range(2):
        save(database, workspace, run)

    assert status_counts(database, registration) == {"active": 1}


@pytest.mark.parametrize("ended", ["completed", "interrupted", "expired", "failed"])
def test_a_run_that_is_over_never_changes(
    database: Database, workspace: Workspace, registration: int, amina: int, ended: str
) -> None:
    over = state(database, registration, amina, ended)
    save(database, workspace, over)
    counts = status_counts(database, registration)

    assert save(database, workspace, state(database, registration, amina, "waiting", over.uuid)) == {}
    assert status_counts(database, registration) == counts


def test_a_start_makes_no_second_run_of_a_contact(
    database: Database, workspace: Workspace, registration: int, amina: int
) -> None:
    start_id = add_start(database, workspace, registration, [amina])
    add_run(database, workspace, registration, amina, start_id=start_id)

    with pytest.raises(IntegrityError):
        add_run(database, workspace, registration, amina, start_id=start_id)


class TestDescribeRun:
    def test_a_run_of_the_engine_becomes_what_the_api_shows(self) -> None:
        result = Result("Has Phone", "yes", "Yes", "Oui", NODE, "Yes I do", {"a": 1}, "2026-03-02T08:10:00.500000Z")
        run = Run(
            new_uuid(),
            {"uuid": new_uuid()},
            "2026-03-02T10:09:00.000000+02:00",
            "2026-03-02T08:11:00.000000Z",
            status="completed",
            exited_on="2026-03-02T08:11:00.000000Z",
            had_input=True,
            path=[
                Step(NODE, "2026-03-02T10:09:00.000000+02:00", "exit"),
                Step(NEXT_NODE, "2026-03-02T08:10:01.000000Z"),
            ],
            results={"has_phone": result},
            saved=[(0, result)],
        )

        described = describe_run(run, flow_id=1, contact_id=2, session_id=3, routing_nodes={NODE}, start_id=4)

        assert described.created_on == read_moment("2026-03-02T08:09:00+00:00")
        assert (described.status, described.responded, described.start_id) == ("completed", True, 4)
        assert described.path == [
            {"node": NODE, "time": "2026-03-02T08:09:00.000000Z"},
            {"node": NEXT_NODE, "time": "2026-03-02T08:10:01.000000Z"},
        ]
        shown = {
            "name": "Has Phone",
            "value": "yes",
            "category": "Yes",
            "node": NODE,
            "time": "2026-03-02T08:10:00.500000Z",
            "input": "Yes I do",
        }
        assert described.results == {"has_phone": shown}
        assert described.visits == [
            {"type": "R", "left_on": "2026-03-02T08:10:01.000000Z", "results": [shown]},
            {"type": "A", "left_on": "2026-03-02T08:11:00.000000Z", "results": []},
        ]

    def test_an_open_run_has_not_left_its_last_step_and_will_expire(self) -> None:
        begun = "2026-03-02T08:09:00.000000Z"
        run = Run(new_uuid(), {}, begun, begun, status="waiting", path=[Step(NODE, begun)])
        later = read_moment("2026-03-02T09:00:00+00:00")

        described = describe_run(run, flow_id=1, contact_id=2, session_id=3, routing_nodes=(), expires_on=later)

        assert (described.exited_on, described.expires_on, described.visits[0]["left_on"]) == (None, later, None)

    def test_a_result_belongs_to_the_visit_that_saved_it(self) -> None:
        begun = "2026-03-02T08:09:00.000000Z"
        result = Result("Age", "7", "", "", NODE, "7", None, begun)
        steps = [Step(node, begun) for node in (NODE, NEXT_NODE, NODE)]
        run = Run(new_uuid(), {}, begun, begun, path=steps, results={"age": result}, saved=[(0, result)])

        described = describe_run(run, flow_id=1, contact_id=2, session_id=3, routing_nodes=())

        assert [len(visit["results"]) for visit in described.visits] == [1, 0, 0]
        assert described.results["age"]["category"] is None
