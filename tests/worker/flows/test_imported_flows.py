"""Running the flows of an export file: all its parts work together."""

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import select

from persistence.globals import change_global
from persistence.tables.contacts import contact, group, group_membership, ticket, topic
from persistence.tables.deliveries import resthook_event
from persistence.tables.flows import flow_run
from tests.definition_files import bring_in, read_registration
from tests.worker.flows.conftest import Stage
from tests.worker.receivers import Receiver, Reply, receiving

AMINA = "+254722000111"


@pytest.fixture
def clinics() -> Iterator[Receiver]:
    """What the webhook of the file calls: it knows one clinic."""
    with receiving(lambda request: Reply(body=b'{"name": "Hill Clinic"}')) as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def _imported(stage: Stage, clinics: Receiver) -> None:
    """The workspace has what the file brings."""
    text = json.dumps(read_registration()).replace("http://localhost:9000/clinics", clinics.url)
    bring_in(stage.database, stage.workspace, json.loads(text))
    with stage.database.writing() as tx:
        change_global(tx, stage.workspace.id, "clinic_phone", "112")


def say(stage: Stage, *texts: str) -> None:
    for text in texts:
        stage.receive(AMINA, text)
        stage.work()


def test_a_contact_registers_by_keyword(stage: Stage, clinics: Receiver) -> None:
    say(stage, "Join please", "Amina Wanjiru", "old", "27", "Yes")

    amina = stage.rows(contact)[0]
    assert stage.sent_to(amina.id) == [
        "Welcome to Riverside Clinic! What is your name?",
        "Thanks Amina. How old are you?",
        "Please send your age as a number, like 27.",
        "May we send Amina Wanjiru a reminder before each checkup?",
        "You are registered, Amina Wanjiru. Your clinic is Hill Clinic. Call 112 with any question.",
    ]
    assert amina.name == "Amina Wanjiru"
    assert json.loads(clinics.received[0].body) == {"contact": amina.uuid, "age": "27"}
    assert len(stage.rows(resthook_event)) == 1
    assert [run.status for run in stage.rows(flow_run)] == ["completed", "completed"]
    with stage.database.reading() as tx:
        names = select(group.c.name).join(group_membership).order_by(group.c.id)
        assert tx.execute(names).scalars().all() == ["Registered", "Adults"]


def test_a_clinic_that_is_not_found_opens_a_ticket(stage: Stage, clinics: Receiver) -> None:
    clinics.respond = lambda request: Reply(404)

    say(stage, "register", "Amina", "27", "yes")

    (opened,) = stage.rows(ticket)
    assert opened.topic_id == next(row.id for row in stage.rows(topic) if row.name == "Registrations")
    assert stage.sent_to(opened.contact_id)[-1] == "Thanks, a colleague will look for a clinic near you."
    assert stage.rows(resthook_event) == []
