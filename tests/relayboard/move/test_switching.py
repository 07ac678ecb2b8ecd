"""A phone changes sides in the order of docs/moving.md, and no SMS is lost or doubled."""

from collections import Counter
from typing import Any

import pytest

from persistence.contacts.records import CONTACTS
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.messages.records import MESSAGES
from persistence.relayers.relayers import claim_phone
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport
from testbed.running import RunningService
from tests.api import Api
from tests.phones import AppTransport, phone_clock
from tests.relayboard.move.listing import listed
from tests.thinned import EVERY_CASE

HARDEST = [("postgresql", "app 2.x")]
"""The app that lags behind what it was told, where writers do not wait for one another."""
EVERY = [(database, app) for database in ("sqlite", "postgresql") for app in ("app 1.9", "app 2.x")]
OWN, AMINA, BOSCO = "+250788123123", "+250788000111", "+250788000222"


class Network:
    """The mobile network: it keeps the SMS for a phone that it does not reach."""

    def __init__(self, phone: Phone) -> None:
        self.phone = phone
        self.is_reached = True
        self.sent: list[str] = []
        self._kept: list[tuple[str, str]] = []

    def carry(self, number: str, text: str) -> None:
        self.sent.append(text)
        self._kept.append((number, text))
        self.reach()

    def reach(self) -> None:
        while self.is_reached and self._kept:
            self.phone.receive_sms(*self._kept.pop(0))


def sync_until(phone: Phone, is_done: Any) -> None:
    for _ in range(20):
        if is_done():
            return
        phone.sync()
    raise AssertionError("the phone did not get there")


@pytest.fixture(params=["app 1.9", "app 2.x"])
def phone(request: pytest.FixtureRequest, relayboard: RunningService) -> Phone:
    """A phone that works for the other side."""
    phone = Phone(HttpTransport(relayboard.url), is_lagging=request.param == "app 2.x")
    phone.register()
    with relayboard.database.writing() as tx:
        claim_phone(tx, relayboard.workspace, phone.state.claim_code or "", OWN, "Front desk")
    sync_until(phone, lambda: phone.state.workspace_id == relayboard.workspace.id)
    return phone


@pytest.mark.parametrize(("database_url", "phone"), EVERY if EVERY_CASE else HARDEST, indirect=True)
def test_no_sms_is_lost_or_doubled_when_a_phone_changes_sides(
    phone: Phone, relayboard: RunningService, from_relayboard: Any, api: Api
) -> None:
    """An SMS of a known and one of a new sender arrive before each step."""
    network, held = Network(phone), phone.state.messages

    def claim() -> None:
        with api.database.writing() as tx:
            claim_phone(tx, api.workspace, phone.state.claim_code or "", OWN, "Front desk")

    def reset() -> None:
        phone.reset()
        sync_until(phone, lambda: not phone.state.queue)

    def enter_address() -> None:
        phone.transport, phone.clock = AppTransport(api.client), phone_clock(api)
        phone.restart()
        sync_until(phone, lambda: phone.state.claim_code is not None)

    def answer() -> None:
        """The last answer of the old side leaves through its phone."""
        with relayboard.database.writing() as tx:
            create_outgoing(tx, relayboard.workspace.id, [Draft(1, f"answer to {phone.state.device_uuid}")])
        sync_until(phone, lambda: phone.state.ids_in("new"))
        phone.send_waiting()

    steps = (
        lambda: sync_until(phone, lambda: not phone.state.queue),
        from_relayboard.run,
        answer,
        lambda: setattr(network, "is_reached", False),
        lambda: sync_until(phone, lambda: not phone.state.queue),
        reset,
        enter_address,
        claim,
        lambda: sync_until(phone, lambda: phone.state.workspace_id == api.workspace.id),
        lambda: (setattr(network, "is_reached", True), network.reach()),
        lambda: sync_until(phone, lambda: not phone.state.queue),
        from_relayboard.run,
    )
    for number, step in enumerate(steps):
        if number < len(steps) - 1:
            network.carry(AMINA, f"{phone.state.device_uuid} {number} of Amina")
            network.carry(BOSCO, f"{phone.state.device_uuid} {number} of Bosco")
        step()
        if number == len(steps) - 2:
            sync_until(phone, lambda: not phone.state.queue)

    texts = Counter(each["text"] for each in listed(from_relayboard, MESSAGES).values())
    assert {text: texts[text] for text in network.sent} == dict.fromkeys(network.sent, 1)
    assert texts[f"answer to {phone.state.device_uuid}"] == 1
    assert [each.copies for each in held.values()] == [1]
    senders = [each["urns"] for each in listed(from_relayboard, CONTACTS).values()]
    assert sorted(senders) == [[f"tel:{AMINA}"], [f"tel:{BOSCO}"]]


def test_an_sms_between_reset_and_claim_would_be_lost_so_the_network_keeps_it(phone: Phone) -> None:
    """Why the steps begin with the airplane mode: the app relays nothing while nobody has claimed it."""
    phone.reset()
    sync_until(phone, lambda: not phone.state.queue)

    phone.receive_sms(AMINA, "Is anybody there?")

    assert phone.state.queue == []
