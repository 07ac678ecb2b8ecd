"""Nothing accepted is lost and nothing is doubled while the API and the worker are killed again and again."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
import requests
from sqlalchemy import select

from persistence.channels.channels import set_channel_webhook
from persistence.deliveries.outbox import count_deliveries
from persistence.deliveries.subscriptions import create_subscription
from persistence.relayers.relayers import claim_phone
from persistence.stamps import MESSAGE_FAILED, MESSAGE_RECEIVED, MESSAGE_SENT
from persistence.tables.channels import channel
from persistence.tables.messages import INCOMING, OUTGOING, message
from relayboard.phone.phone import Phone
from relayboard.phone.wire import HttpTransport, NoReply
from testbed.patience import PATIENCE_SECONDS
from testbed.running import Receiver, RunningService, forked_service, wait_until
from tests.thinned import EVERY_CASE

PHONES, SMS_PER_PHONE, ANSWERS_PER_PHONE = (10, 30, 8) if EVERY_CASE else (4, 8, 4)
"""`python -m bench.faults` kills more often, amid more."""
TEXTS, ANSWERS = PHONES * SMS_PER_PHONE, PHONES * ANSWERS_PER_PHONE
EVENTS = TEXTS + 2 * ANSWERS
BURST = 4
SHORT_LEASES = "5"
"""What a killed worker had under way is free again after twice the time limit of a call."""


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path, WEBHOOK_TIMEOUT_SECONDS=SHORT_LEASES) as running:
        yield running


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def subscriber(service: RunningService) -> Iterator[Receiver]:
    """A receiver that is told of the same messages by a subscription."""
    made = Receiver()
    with service.database.writing() as tx:
        create_subscription(tx, service.workspace, made.url, [MESSAGE_RECEIVED, MESSAGE_SENT, MESSAGE_FAILED])
    yield made
    made.close()


def connect_phones(service: RunningService, receiver: Receiver) -> list[Phone]:
    """Claimed phones, every second one in lagging mode, whose events go to the receiver."""
    phones = []
    for number in range(PHONES):
        phone = Phone(HttpTransport(service.url), is_lagging=number % 2 == 1)
        phone.register()
        with service.database.writing() as tx:
            claim_phone(tx, service.workspace, phone.state.claim_code or "", f"+25078800{number:04}", None)
        phones.append(phone)
    with service.database.writing() as tx:
        for uuid in tx.execute(select(channel.c.uuid)).scalars().all():
            set_channel_webhook(tx, service.workspace.id, uuid, receiver.url)
    return phones


@dataclass(frozen=True)
class Kills:
    """Whether both kills amid SMS that come in, and both amid answers that go out, have happened; and whether the test
    is over, so that a phone that waits for the service gives up.
    """

    amid_texts: threading.Event = field(default_factory=threading.Event)
    amid_answers: threading.Event = field(default_factory=threading.Event)
    are_over: threading.Event = field(default_factory=threading.Event)


class Relayer(threading.Thread):
    """A phone at work: SMS come in, answers are posted and sent, and syncs are repeated until nothing is left. A
    quarter of each waits for the kills, so that work is left whenever they come.
    """

    def __init__(self, service: RunningService, phone: Phone, number: int, kills: Kills) -> None:
        super().__init__(name=f"phone {number}")
        self.service = service
        self.phone = phone
        self.number = number
        self.kills = kills
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error

    def _work(self) -> None:
        while self.phone.state.workspace_id == -1:
            self._sync()
        for index in range(SMS_PER_PHONE):
            if index == SMS_PER_PHONE * 3 // 4:
                self._sync_until(self.kills.amid_texts)
            self.phone.receive_sms(f"+2507990{self.number:02}{index % 50:02}0", f"sms {self.number}-{index}")
            if index % BURST == BURST - 1:
                self._sync()
        while self.phone.state.queue:
            self._sync()
        for index in range(ANSWERS_PER_PHONE):
            if index == ANSWERS_PER_PHONE * 3 // 4:
                self._sync_until(self.kills.amid_answers)
            self._answer(index)
        while self._unsent() or self.phone.state.queue:
            self._sync()

    def _sync_until(self, happened: threading.Event) -> None:
        while not happened.wait(0.02):
            self._sync()

    def _wait_for_service(self) -> None:
        assert not self.kills.are_over.wait(0.05), "the service did not come back"

    def _sync(self) -> None:
        try:
            self.phone.sync()
        except NoReply:
            self._wait_for_service()
        self.phone.send_waiting()

    def _answer(self, index: int) -> None:
        """Post a message, again under the same key until an answer arrives."""
        body = {"contact": f"tel:+2507990{self.number:02}{index % 50:02}0", "text": f"answer {self.number}-{index}"}
        headers = {"Authorization": f"Token {self.service.token}", "Idempotency-Key": f"{self.number}-{index}"}
        while True:
            try:
                url = f"{self.service.url}/api/v2/messages.json"
                response = requests.post(url, json=body, headers=headers, timeout=PATIENCE_SECONDS)
            except requests.RequestException:
                self._wait_for_service()
                continue
            assert response.status_code in (201, 503), response.text
            if response.status_code == 201:
                return

    def _unsent(self) -> bool:
        return sum(1 for held in self.phone.state.messages.values() if held.copies) < ANSWERS_PER_PHONE


def kill_amid_each_kind_of_work(
    service: RunningService, relayers: list[Relayer], receiver: Receiver, kills: Kills
) -> None:
    """SIGKILL to the API and to the worker, each while SMS come in and while answers go out; what was killed is started
    again at once.
    """
    events = partial(len, receiver.ids)
    incoming = partial(count_texts, service, INCOMING)
    outgoing = partial(count_texts, service, OUTGOING)
    kill_amid(service, "api", incoming, TEXTS // 4, TEXTS)
    kill_amid(service, "worker", events, TEXTS // 4, TEXTS)
    kills.amid_texts.set()
    kill_amid(service, "api", outgoing, ANSWERS // 4, ANSWERS)
    kill_amid(service, "worker", events, TEXTS + ANSWERS // 4, EVENTS)
    kills.amid_answers.set()
    for relayer in relayers:
        relayer.join(300)
        assert relayer.error is None, relayer.error
        assert not relayer.is_alive(), f"{relayer.name} did not finish"


def kill_amid(service: RunningService, name: str, count: Callable[[], int], enough: int, everything: int) -> None:
    wait_until(lambda: count() >= enough, f"{enough} of {everything}")
    service.kill(name)
    assert count() < everything, f"the {name} had no work left"
    service.start(name)


def test_sms_survive_kills_each_exactly_once(service: RunningService, receiver: Receiver, subscriber: Receiver) -> None:
    phones = connect_phones(service, receiver)
    kills = Kills()
    relayers = [Relayer(service, phone, number, kills) for number, phone in enumerate(phones)]
    for relayer in relayers:
        relayer.start()

    try:
        kill_amid_each_kind_of_work(service, relayers, receiver, kills)
    finally:
        kills.are_over.set()

    texts = stored_texts(service, INCOMING)
    assert texts == Counter(f"sms {phone}-{index}" for phone in range(PHONES) for index in range(SMS_PER_PHONE))
    answers = Counter(f"answer {phone}-{index}" for phone in range(PHONES) for index in range(ANSWERS_PER_PHONE))
    assert stored_texts(service, OUTGOING) == answers
    assert [held.copies for phone in phones for held in phone.state.messages.values()] == [1] * ANSWERS
    wait_until(lambda: len(receiver.ids) == EVENTS, f"{EVENTS} events at the receiver", 300)
    told = TEXTS + ANSWERS
    wait_until(lambda: len(subscriber.ids) == told, f"{told} events at the subscriber", 300)
    with service.database.reading() as tx:
        ledger = count_deliveries(tx, service.workspace.id)
    assert ledger.failed == 0
    assert ledger.pending + ledger.delivered == EVENTS + told
    assert Counter((each["type"], each["data"]["text"]) for each in subscriber.events) == Counter(
        {**{(MESSAGE_RECEIVED, text): 1 for text in texts}, **{(MESSAGE_SENT, text): 1 for text in answers}}
    )
    assert Counter(receiver.names()) == {"mo_sms": TEXTS, "mt_sent": ANSWERS, "mt_dlvd": ANSWERS}


def stored_texts(service: RunningService, direction: str) -> Counter[str]:
    with service.database.reading() as tx:
        mine = (message.c.workspace_id == service.workspace.id) & (message.c.direction == direction)
        return Counter(tx.execute(select(message.c.text).where(mine)).scalars())


def count_texts(service: RunningService, direction: str) -> int:
    return stored_texts(service, direction).total()
