"""Conversations of flows survive kills of two competing workers: no contact is asked twice, skipped, or left without
an answer."""

import os
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import func, select

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.groups.groups import add_members, create_group
from persistence.relayers.relayers import claim_phone
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, group
from persistence.tables.flows import flow_run, flow_session, flow_start
from persistence.tables.messages import INCOMING, OUTGOING, message
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from testbed.flow_rows import ask, definition, node, say, store_flow
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service, wait_until
from tests.answering import AnsweringPhone, answer_questions

CONTACTS = int(os.environ.get("RELAYBOARD_CONVERSATIONS", "10"))
EXCHANGES, PHONES = 5, 2
QUESTIONS = [f"Question {number}?" for number in range(1, EXCHANGES + 1)]


def interview() -> dict[str, object]:
    """A flow of questions, each of which has to be answered in its turn."""
    nodes = [node("hello", [say("Hello!")], to="ask 1")]
    for number, question in enumerate(QUESTIONS, start=1):
        after = f"ask {number + 1}" if number < EXCHANGES else "bye"
        nodes.append(
            ask(f"ask {number}", {str(number): after}, "confused", result=f"Answer {number}", actions=[say(question)])
        )
    nodes += [node("bye", [say("Thank you: @results.answer_5.value")]), node("confused", [say("What?")])]
    return definition("Interview", nodes)


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path) as running:
        running.start("worker two")
        yield running


class People:
    """Answer what they are asked; to the last question only after the kills, so that nobody is done before."""

    def __init__(self) -> None:
        self.are_near_the_end, self.may_end = threading.Event(), threading.Event()

    def __call__(self, number: str, text: str) -> str | None:
        if text == QUESTIONS[-1]:
            self.are_near_the_end.set()
            assert self.may_end.wait(PATIENCE_SECONDS)
        return answer_questions(number, text)


def connect_phones(service: RunningService, people: People) -> list[AnsweringPhone]:
    phones = []
    for number in range(PHONES):
        phone = Phone(HttpTransport(service.url), is_lagging=number % 2 == 1)
        phone.register()
        with service.database.writing() as tx:
            claim_phone(tx, service.workspace, phone.state.claim_code or "", f"+25078800{number:04}", None)
        phones.append(AnsweringPhone(phone, people))
    return phones


def make_people(service: RunningService) -> str:
    """A group of contacts with numbers; returns its UUID."""
    urns = [Urn("tel", f"+250799{number:06}") for number in range(CONTACTS)]
    with service.database.writing() as tx:
        owners = ensure_owners(tx, service.workspace.id, urns)
        group_id = create_group(tx, service.workspace.id, "People")
        add_members(tx, service.workspace.id, group_id, [owner.contact_id for owner in owners.values()])
        uuid: str = tx.execute(select(group.c.uuid).where(group.c.id == group_id)).scalar_one()
        return uuid


def count(service: RunningService, table: object, *conditions: object) -> int:
    with service.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(table).where(*conditions)).scalar_one())


def test_conversations_go_on_in_order_through_kills_of_two_workers(service: RunningService) -> None:
    flow_uuid = store_flow(service.database, service.workspace, interview())
    group_uuid = make_people(service)
    people = People()
    phones = connect_phones(service, people)
    for phone in phones:
        phone.start()
    wait_until(lambda: count(service, channel, channel.c.last_seen.is_not(None)) == PHONES, "the phones")

    service.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "groups": [group_uuid]})

    def has_come(answers: int) -> bool:
        return people.are_near_the_end.is_set() or count(service, message, message.c.direction == INCOMING) >= answers

    for name, answers in (("worker", CONTACTS // 2), ("worker two", CONTACTS * 2)):
        wait_until(partial(has_come, answers), f"{answers} answers")
        service.kill(name)
        assert count(service, flow_run, flow_run.c.status == "completed") == 0
        service.start(name)
    people.may_end.set()
    wait_until(lambda: count(service, flow_run, flow_run.c.status == "completed") == CONTACTS, "every run's end", 240)
    # The batch of a worker that was killed before it could say that all its contacts are started comes again.
    wait_until(lambda: count(service, flow_start, flow_start.c.status == "completed") == 1, "the start's end", 240)
    for phone in phones:
        phone.stopped.set()
        phone.join(PATIENCE_SECONDS)

    assert [phone.error for phone in phones] == [None] * PHONES
    with service.database.reading() as tx:
        ids = tx.execute(select(contact.c.id).order_by(contact.c.id)).scalars().all()
        said = {each: conversation(tx, each) for each in ids}
        starts = tx.execute(select(flow_start.c.status, flow_start.c.started)).all()
    for lines in said.values():
        assert lines[OUTGOING] == ["Hello!", *QUESTIONS, LAST]
        assert lines[INCOMING] == [f"answer {each}" for each in range(1, EXCHANGES + 1)]
    assert [tuple(row) for row in starts] == [("completed", CONTACTS)]
    assert count(service, flow_run) == CONTACTS
    assert count(service, flow_session, flow_session.c.status == "waiting") == 0
    assert count(service, contact, contact.c.handling_until.is_not(None)) == 0


LAST = "Thank you: 5"


def conversation(tx: Transaction, contact_id: int) -> dict[str, list[str]]:
    """What was said to a contact and by it, each in its order."""
    lines: dict[str, list[str]] = {OUTGOING: [], INCOMING: []}
    statement = select(message.c.direction, message.c.text).where(message.c.contact_id == contact_id)
    for direction, text in tx.execute(statement.order_by(message.c.id)):
        lines[direction].append(text)
    return lines
