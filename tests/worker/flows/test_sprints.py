"""What a sprint may draw from and see, and what becomes of one that fails."""

from dataclasses import replace
from decimal import Decimal
from typing import Any
from uuid import uuid5

import pytest
from sqlalchemy import update

from flows import start
from flows.environment import SYSTEM_CLOCK
from persistence.groups.smart_groups import create_query_group
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.flows import flow_session
from testbed.flow_rows import ask, definition, node, say, store_flow
from tests.worker.flows.conftest import Stage
from worker.flows import sprints
from worker.flows.sprints import SESSIONS, RepeatableChance, derive_uuid
from worker.jobs import begin_groups


def draw(sprint: str, count: int = 200) -> list[Decimal]:
    chance = RepeatableChance(SYSTEM_CLOCK, b"a key", sprint)
    return [chance.random() for _ in range(count)]


def test_random_numbers_are_below_one_all_over_and_the_same_when_a_sprint_runs_again() -> None:
    numbers = draw("one")

    assert numbers == draw("one") != draw("two")
    assert len(set(numbers)) == 200
    assert 0 <= min(numbers) < Decimal("0.1") and Decimal("0.9") < max(numbers) < 1
    assert all(number.as_tuple().exponent == -16 for number in numbers)


def test_an_error_that_nobody_expects_fails_the_sprint_of_its_contact_alone(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail_for_ben(assets: Any, contact: Any, *rest: Any, **named: Any) -> Any:
        if contact.name == "Ben":
            raise LookupError("nobody expects this")
        return start(assets, contact, *rest, **named)

    monkeypatch.setattr(sprints, "start", fail_for_ben)
    ben, amina = stage.add_contact("+254722000222", "Ben"), stage.add_contact("+254722000111", "Amina")

    stage.start(store_flow(stage.database, stage.workspace, definition("Hello", [node("hi", [say("Hi")])])), ben, amina)
    stage.work()

    assert (stage.sent_to(ben), stage.sent_to(amina)) == ([], ["Hi"])
    assert "nobody expects this" in caplog.text


def test_a_session_that_cannot_be_read_ends_and_the_log_says_why(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    amina = stage.add_contact("+254722000111", "Amina")
    asking = definition("Ask", [ask("color", {"red": None}, None, actions=[say("Red?")])])
    stage.start(store_flow(stage.database, stage.workspace, asking), amina)
    stage.work()
    with stage.database.writing() as tx:
        tx.execute(flow_session.update().values(state={"uuid": "none"}))

    stage.receive("+254722000111", "red")
    stage.work()

    assert "cannot be read: session cannot be read" in caplog.text
    assert [row.status for row in stage.rows(flow_session)] == ["failed"]


def test_smart_groups_go_by_addresses_that_people_may_not_see(stage: Stage) -> None:
    with stage.database.writing() as tx:
        tx.execute(update(workspaces).values(is_anonymous=True))
        create_query_group(tx, stage.workspace, "Kenyans", "tel ~ 254722", sees_urns=True)
    stage.workspace = replace(stage.workspace, is_anonymous=True)
    amina = stage.add_contact("+254722000111", "Amina")
    while begin_groups(stage.runtime)():
        pass

    text = "@(count(contact.groups)): @contact.urn"
    stage.start(store_flow(stage.database, stage.workspace, definition("Hello", [node("hi", [say(text)])])), amina)
    stage.work()

    assert stage.sent_to(amina) == ["1: tel:********"]


def test_the_uuid_of_a_session_is_derived_from_its_name() -> None:
    names = [f"{number} \N{SMILING FACE WITH SMILING EYES}" for number in range(100)]

    assert [derive_uuid(name) for name in names] == [str(uuid5(SESSIONS, name)) for name in names]
