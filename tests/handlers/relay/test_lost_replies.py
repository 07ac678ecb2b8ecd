"""Phones on a network that loses replies: every SMS arrives once and is sent once (relayer protocol, 12)."""

import contextlib
import random

import pytest
from sqlalchemy import select

from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.messages import DELIVERED, INCOMING, OUTGOING, message
from relayboard.phone.phone import Phone
from relayboard.phone.wire import NoReply
from tests.api import Api
from tests.conftest import Clock
from tests.factories import id_of, make_contact
from tests.phones import AppTransport, claimed_phone

ROUNDS = 15
LOST = 0.4
SENDER = "+250788000111"


@pytest.fixture(params=[(False, 1), (False, 2), (True, 1), (True, 2)], ids=str)
def phone(request: pytest.FixtureRequest, api: Api) -> Phone:
    """A claimed phone of either app generation, of whose replies many are lost, in an order of chance."""
    is_lagging, seed = request.param
    made = claimed_phone(api, is_lagging=is_lagging)
    assert isinstance(made.transport, AppTransport)
    chance = random.Random(seed)
    made.transport.lose = lambda: chance.random() < LOST
    return made


def sync(phone: Phone) -> None:
    with contextlib.suppress(NoReply):
        phone.sync()


def settle(phone: Phone) -> None:
    """The network is good again; until the phone has nothing more to say or to send."""
    assert isinstance(phone.transport, AppTransport)
    phone.transport.lose = lambda: False
    quiet = 0
    for _ in range(60):
        phone.sync()
        quiet = 0 if phone.send_waiting() or phone.state.queue else quiet + 1
        if quiet == 4:
            return
    pytest.fail(f"the phone still has to say: {phone.state.queue}")


def texts_of(api: Api, direction: str) -> list[str]:
    statement = select(message.c.text).where(message.c.direction == direction).order_by(message.c.id)
    with api.database.reading() as tx:
        return list(tx.execute(statement).scalars())


def test_every_sms_and_call_is_stored_once_and_every_answer_is_sent_once(api: Api, phone: Phone, clock: Clock) -> None:
    contact_id = id_of(api.database, make_contact(api.database, api.workspace, SENDER))
    for number in range(ROUNDS):
        phone.receive_sms(SENDER, f"hello {number}")
        phone.log_call("mo_miss", SENDER)
        with api.database.writing() as tx:
            create_outgoing(tx, api.workspace.id, [Draft(contact_id, f"answer {number}")])
        sync(phone)
        phone.send_waiting()
        clock.advance(seconds=20)

    settle(phone)

    assert sorted(texts_of(api, INCOMING)) == sorted(f"hello {number}" for number in range(ROUNDS))
    assert api.get("/api/v1/calls.json").json()["count"] == ROUNDS
    with api.database.reading() as tx:
        rows = tx.execute(select(message.c.id, message.c.status).where(message.c.direction == OUTGOING)).all()
    copies = {held.id: held.copies for held in phone.state.messages.values()}
    assert [status for _, status in rows] == [DELIVERED] * ROUNDS
    assert copies == {message_id: 1 for message_id, _ in rows}
