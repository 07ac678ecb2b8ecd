"""What the outcomes of sprints leave in the tables of sessions and runs."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, select

from persistence.tables.flows import flow, flow_run, flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.conftest import Clock
from tests.worker.flows.conftest import Stage

AMINA = "+254722000111"


def start(stage: Stage, name: str, *nodes: dict[str, Any], **fields: Any) -> int:
    amina = stage.add_contact(AMINA)
    stage.start(store_flow(stage.database, stage.workspace, definition(name, nodes, **fields)), amina)
    stage.work()
    return amina


def start_with_inner(stage: Stage) -> int:
    """A contact who is asked something by the outer of two flows; the inner one has ended."""
    inner = definition("Inner", [node("inside", [say("Inside.")])])
    uuid = store_flow(stage.database, stage.workspace, inner)
    enter = {"type": "enter_flow", "uuid": uuid_of("enter"), "flow": {"uuid": uuid, "name": "Inner"}}
    nodes = node("entering", [enter], to="asking"), ask("asking", {"yes": None}, None, actions=[say("Go on?")])
    return start(stage, "Outer", *nodes)


def names_of_runs(stage: Stage) -> list[str]:
    with stage.database.reading() as tx:
        found = select(flow.c.name).join(flow_run, flow_run.c.flow_id == flow.c.id).order_by(flow_run.c.id)
        return list(tx.execute(found).scalars())


def test_a_run_that_ended_and_was_removed_does_not_come_back_with_its_session(stage: Stage) -> None:
    start_with_inner(stage)
    assert sorted(names_of_runs(stage)) == ["Inner", "Outer"]
    with stage.database.writing() as tx:
        tx.execute(delete(flow_run).where(flow_run.c.exited_on.is_not(None)))

    stage.receive(AMINA, "yes")
    stage.work()

    assert names_of_runs(stage) == ["Outer"]
    assert [row.status for row in stage.rows(flow_run)] == ["completed"]


@pytest.mark.parametrize("is_answered", [True, False])
def test_a_session_has_an_end_once_it_waits_no_more(stage: Stage, clock: Clock, is_answered: bool) -> None:
    start(stage, "Asks", ask("first", {"yes": "second"}, None), ask("second", {"yes": None}, None))
    (before,) = stage.rows(flow_session)
    assert (before.status, before.ended_on) == ("waiting", None)

    clock.advance(minutes=9)
    stage.receive(AMINA, "yes")
    stage.work()
    (between,) = stage.rows(flow_session)
    assert (between.status, between.ended_on, between.created_on) == ("waiting", None, before.created_on)

    clock.advance(minutes=9 if is_answered else 61)
    if is_answered:
        stage.receive(AMINA, "yes")
    stage.work()
    (after,) = stage.rows(flow_session)
    assert (after.status, after.state, after.created_on) == ("completed", None, before.created_on)
    assert (after.timeout_on, after.expires_on, after.current_flow_id) == (None, None, None)
    assert timedelta() <= stage.database.clock() - after.ended_on < timedelta(seconds=1)


def test_a_session_waits_thirty_days_at_most_since_it_began(stage: Stage, clock: Clock) -> None:
    questions = [ask(name, {"yes": to}, None) for name, to in (("one", "two"), ("two", "three"), ("three", None))]
    start(stage, "Asks", *questions, expire_after_minutes=14 * 24 * 60)
    waits = []
    for _ in questions:
        (session,) = stage.rows(flow_session)
        waits.append((session.expires_on - session.created_on).days)
        clock.advance(days=13)
        stage.receive(AMINA, "yes")
        stage.work()

    assert waits == [14, 27, 30]
