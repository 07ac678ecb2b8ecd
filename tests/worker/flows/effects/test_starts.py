"""The starts that sprints recorded together ask for."""

from typing import Any

from persistence.sql.columns import new_uuid
from persistence.tables.flows import flow_start
from testbed.flow_rows import definition, node, say, store_flow
from tests.flows.engine import playing
from tests.worker.flows.conftest import Stage
from worker.flows.effects import Recording, create_starts
from worker.flows.sprints import SprintEvent


def test_a_start_of_a_flow_that_is_not_here_keeps_no_other_from_starting(stage: Stage) -> None:
    amina = stage.add_contact("+254722000111", "Amina")
    uuid = store_flow(stage.database, stage.workspace, definition("Told", [node("told", [say("Hi")])]))
    session = playing.play(playing.node(1)).session
    asked: dict[str, Any] = {"type": "session_triggered", "create_contact": True, "run_summary": {}, "history": {}}
    events = [
        SprintEvent(
            {**asked, "flow": {"uuid": each, "name": "Told"}},
            amina,
            session,
            {"uuid": uuid},
            is_bulk=False,
            automatic=0,
        )
        for each in (new_uuid(), uuid)
    ]
    with stage.database.writing() as tx:
        create_starts(Recording(tx, stage.workspace, {uuid: 1}, []), events)

    assert [row.flow_id for row in stage.rows(flow_start)] == [1]
