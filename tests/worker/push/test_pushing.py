"""Phones are pushed when something waits for them, once for many messages, again while they do not come, and no more
once they came; what providers answer; a service without push."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from persistence.messages.outgoing import Draft, create_outgoing
from persistence.relayers.commands import via_of
from persistence.relayers.pushes import list_due_pushes, read_push_trouble
from persistence.relayers.relayers import claim_phone, release_channels
from persistence.tables.channels import SETTLED, channel, phone_push
from persistence.tables.contacts import contact
from relayboard.phone.phone import Phone
from testbed.patience import PATIENCE_SECONDS
from testbed.running import wait_until
from testbed.set_by_name import by_name
from tests.api import Api
from tests.conftest import Clock
from tests.phones import count_rows, new_phone
from tests.worker.flows.service_settings import with_settings
from tests.worker.push.providers import (
    DENIED,
    INVALID,
    OTHER_PROJECT,
    SEND,
    UNREGISTERED,
    Providers,
    error,
    playing_providers,
)
from tests.worker.receivers import Received, Reply
from worker.dispatcher import Finished
from worker.http.safe_http import SafeHttp
from worker.push.pushing import BODY, PushQueue, begin_pushes
from worker.runtime import Runtime

ROOM = 100
LAG = SETTLED.total_seconds() + 1


@pytest.fixture
def providers() -> Iterator[Providers]:
    with playing_providers() as playing:
        yield playing


@dataclass
class Office:
    """A workspace with phones, and a worker that pushes them."""

    api: Api
    clock: Clock
    providers: Providers
    queue: PushQueue

    def work(self) -> list[str]:
        """Pushes what is due, as the dispatcher does; returns whom."""
        before = len(self.providers.pushes)
        with self.api.database.writing() as tx:
            leased = self.queue.lease(tx, dict.fromkeys(self.queue.list_due(tx), ROOM)).items
        done = [Finished(item, receiver, *self.queue.call(item)) for receiver, item in leased]
        with self.api.database.writing() as tx:
            self.queue.record(tx, done)()
        return self.providers.tokens()[before:]

    def work_after(self, **duration: float) -> list[str]:
        self.clock.advance(**duration)
        return self.work()

    def phone(self, token: str = "tok-A1", *, number: str = "+250788123123", is_lagging: bool = False) -> Phone:
        """A phone that works, and has been silent for an hour."""
        phone = new_phone(self.api, is_lagging=is_lagging)
        phone.state.push_token = token
        phone.register()
        with self.api.database.writing() as tx:
            claim_phone(tx, self.api.workspace, phone.state.claim_code or "", number, None)
        phone.sync()
        phone.sync()
        self.quiet()
        return phone

    def quiet(self) -> None:
        """Pushes the claim for the last time, and lets an hour pass."""
        for _ in range(3):
            self.work_after(minutes=5)
        with self.api.database.writing() as tx:
            tx.execute(update(phone_push).values(due_on=None))
        self.clock.advance(hours=1)

    def queue_message(self, phone: Phone, text: str = "See you at 9.") -> None:
        """A person writes to somebody who is reached by this phone."""
        send_texts_to(self.api, phone, text)


def send_texts_to(api: Api, phone: Phone, *texts: str, due_on: datetime | None = None) -> None:
    with api.database.writing() as tx:
        rows = contact.c
        contact_id = tx.execute(select(rows.id).where(rows.workspace_id == api.workspace.id).limit(1)).scalar_one()
        assert phone.state.relayer_id is not None
        create_outgoing(
            tx,
            api.workspace.id,
            [Draft(contact_id, text, due_on=due_on) for text in texts],
            channel_id=phone.state.relayer_id,
        )


@pytest.fixture
def office(api: Api, clock: Clock, runtime: Runtime, providers: Providers) -> Office:
    made = with_settings(runtime, **by_name(FCM_ACCOUNT=providers.account(), FCM_URL=providers.url))
    office = Office(api, clock, providers, PushQueue(made))
    api.post("/api/v2/contacts.json", {"name": "Amina", "urns": ["tel:+250788000111"]})
    return office


class TestWhen:
    def test_one_push_says_that_something_waits_however_many_messages_there_are(self, office: Office) -> None:
        phone = office.phone()
        for _ in range(3):
            send_texts_to(office.api, phone, *(f"text {number}" for number in range(400)))

        assert office.work() == ["tok-A1"]
        assert office.work_after(seconds=25) == []
        (push,) = office.providers.pushes[-1:]
        assert json.loads(push.body)["message"]["data"] == {"msg": "sync"}
        assert json.loads(push.body)["message"]["android"]["collapse_key"] == "sync"

    def test_a_phone_that_does_not_come_is_pushed_less_and_less_often(self, office: Office) -> None:
        phone = office.phone()
        office.queue_message(phone)
        pushed = []
        for second in range(0, 2400, 10):
            pushed += [second for _ in office.work()]
            office.clock.advance(seconds=10)

        assert pushed == pytest.approx([0, 30, 90, 210, 510, 1110, 1710, 2310], abs=60)

    def test_a_phone_that_is_silent_for_a_week_is_left_alone_until_there_is_something_new(self, office: Office) -> None:
        phone = office.phone()
        office.queue_message(phone)
        for _ in range(6):
            assert office.work_after(minutes=11)
        assert office.work_after(days=6) == ["tok-A1"]
        assert office.work_after(days=2) == []
        assert office.work_after(days=1) == []

        office.queue_message(phone, "And now?")
        assert office.work() == ["tok-A1"]

    def test_a_phone_that_fetched_and_reported_is_not_pushed_again(self, office: Office) -> None:
        """Nor for what somebody sent for a time that is ahead."""
        phone = office.phone()
        send_texts_to(office.api, phone, "Come today", due_on=office.clock.moment + timedelta(days=2))
        office.queue_message(phone)
        office.work()
        phone.sync()
        phone.send_waiting()
        phone.sync()

        assert office.work_after(seconds=31) == []
        assert office.work_after(days=1) == []

    def test_a_phone_that_carries_out_answers_one_sync_later_is_pushed_once_more(self, office: Office) -> None:
        phone = office.phone(is_lagging=True)
        office.queue_message(phone)
        assert office.work() == ["tok-A1"]
        phone.sync()
        assert phone.state.messages == {}

        assert office.work_after(seconds=31) == ["tok-A1"]
        phone.sync()
        assert len(phone.state.messages) == 1
        assert office.work_after(days=1) == []

    def test_what_goes_out_in_the_answer_to_a_sync_costs_no_push(self, office: Office) -> None:
        phone = office.phone()
        phone.receive_sms("+250788000111", "hello")
        phone.sync()
        office.queue_message(phone, "The reply of a flow")
        assert office.work() == []
        phone.sync()
        phone.send_waiting()
        phone.sync()

        assert office.work_after(seconds=LAG) == []
        assert office.work_after(seconds=LAG) == []

    def test_what_still_waits_after_a_sync_is_pushed_a_moment_later(self, office: Office) -> None:
        phone = office.phone()
        phone.sync()
        office.queue_message(phone)

        assert office.work() == []
        assert office.work_after(seconds=LAG) == ["tok-A1"]

    def test_what_is_new_after_the_phone_came_does_not_wait_for_the_next_repeat(self, office: Office) -> None:
        phone = office.phone()
        office.queue_message(phone)
        office.work()
        office.clock.advance(seconds=1)
        phone.sync()
        office.clock.advance(seconds=LAG)

        office.queue_message(phone, "One more")
        assert office.work() == ["tok-A1"]

    def test_a_claimed_phone_is_pushed_twice_and_until_it_came(self, office: Office) -> None:
        phone = new_phone(office.api)
        phone.state.push_token = "tok-new"
        phone.register()
        assert office.work() == []
        with office.api.database.writing() as tx:
            claim_phone(tx, office.api.workspace, phone.state.claim_code or "", "+250788123123", None)
        office.clock.advance(seconds=LAG)

        assert office.work() == ["tok-new"]
        assert office.work_after(seconds=31) == ["tok-new"]
        assert office.work_after(seconds=61) == ["tok-new"]
        phone.sync()
        assert office.work_after(minutes=3) == []

    @pytest.mark.parametrize("is_damaged", [False, True])
    def test_a_released_phone_is_pushed_by_the_token_that_it_had(self, office: Office, is_damaged: bool) -> None:
        phone = office.phone()
        with office.api.database.writing() as tx:
            if is_damaged:
                tx.connection.exec_driver_sql("UPDATE channel SET push_token = '1.damaged'")
            release_channels(tx, office.api.workspace.id, channel.c.id == phone.state.relayer_id)

        assert office.work() == ([] if is_damaged else ["tok-A1"])
        assert office.work_after(seconds=31) == ([] if is_damaged else ["tok-A1"])
        assert office.work_after(days=1) == []
        assert is_damaged or count_rows(office.api.database, phone_push) == 0

    def test_a_phone_whose_owner_disconnects_it_knows_that_already(self, office: Office) -> None:
        phone = office.phone()
        phone.reset()
        phone.sync()

        assert office.work_after(seconds=31) == []

    def test_nobody_pushes_twice_what_two_workers_see(self, office: Office) -> None:
        office.queue_message(office.phone())
        database, lease = office.api.database, office.queue.lease
        with database.writing() as tx:
            first = lease(tx, dict.fromkeys(office.queue.list_due(tx), ROOM)).items
        with database.writing() as tx:
            second = lease(tx, dict.fromkeys(office.queue.list_due(tx), ROOM)).items

        assert (len(first), len(second)) == (1, 0)
        office.clock.advance(seconds=2 * PATIENCE_SECONDS + 1)
        assert office.work() == ["tok-A1"], "the lease of a worker that died ends"


class TestFirebase:
    def test_one_access_token_serves_many_pushes_and_names_the_project(self, office: Office) -> None:
        for number in range(3):
            office.queue_message(office.phone(f"tok-{number}", number=f"+25078812312{number}"))
            office.work()

        assert {each.path for each in office.providers.pushes} == {SEND}
        assert {each.headers["authorization"] for each in office.providers.pushes} == {"Bearer access-1"}
        assert office.providers.access_tokens == ["access-1"]

    @pytest.mark.parametrize(
        "refusal",
        [error(UNREGISTERED, "UNREGISTERED"), error(INVALID), error(OTHER_PROJECT, "SENDER_ID_MISMATCH")],
        ids=["unregistered", "invalid", "other project"],
    )
    def test_a_token_that_firebase_does_not_know_is_forgotten_until_there_is_another(
        self, office: Office, refusal: Reply
    ) -> None:
        phone = office.phone()
        office.providers.refuse = lambda _request: refusal
        office.queue_message(phone)
        assert office.work() == ["tok-A1"]
        assert office.work_after(hours=1) == []
        office.queue_message(phone, "Another one")
        assert office.work() == []

        phone.state.push_token = "tok-B2"
        phone.sync()
        office.providers.refuse = lambda _request: None
        office.clock.advance(minutes=1)
        office.queue_message(phone, "A third one")
        assert office.work() == ["tok-B2"]

    def test_the_same_token_is_tried_again_if_the_phone_sends_it_a_day_later(self, office: Office) -> None:
        phone = office.phone()
        office.providers.refuse = lambda _request: error(UNREGISTERED, "UNREGISTERED")
        office.queue_message(phone)
        office.work()
        office.clock.advance(hours=25)
        phone.sync()
        office.clock.advance(minutes=1)
        office.queue_message(phone, "Another one")

        assert office.work() == ["tok-A1"]

    def test_what_only_the_operator_can_mend_pauses_all_and_is_told(
        self, office: Office, caplog: pytest.LogCaptureFixture
    ) -> None:
        first, second = office.phone(), office.phone("tok-B2", number="+250788123124")
        office.providers.refuse = lambda _request: error(DENIED)
        office.queue_message(first)
        assert office.work() == ["tok-A1"]
        office.queue_message(second)
        assert office.work() == []
        assert "Permission denied on the project" in caplog.text
        with office.api.database.reading() as tx:
            assert read_push_trouble(tx) == (
                1,
                "fcm: Firebase answered with status 403 (Permission denied on the project)",
            )

        office.providers.refuse = lambda _request: None
        assert sorted(office.work_after(minutes=6)) == ["tok-A1", "tok-B2"]
        with office.api.database.reading() as tx:
            assert read_push_trouble(tx) == (0, None)

    def test_an_access_token_that_is_refused_is_replaced(self, office: Office) -> None:
        phone = office.phone()
        office.providers.refuse = lambda _request: error({**DENIED, "code": 401, "status": "UNAUTHENTICATED"})
        office.queue_message(phone)
        office.work()
        office.providers.refuse = lambda _request: None

        assert office.work_after(minutes=6) == ["tok-A1"]
        assert office.providers.pushes[-1].headers["authorization"] == f"Bearer {office.providers.access_tokens[-1]}"
        assert len(office.providers.access_tokens) == 2

    def test_an_account_that_google_refuses_pauses_all_and_shows_no_key(
        self, office: Office, caplog: pytest.LogCaptureFixture
    ) -> None:
        phone = office.phone()
        queue = PushQueue(
            with_settings(office.queue._runtime, fcm_account=office.providers.account(client_email="gone@example.org"))
        )
        said = {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        office.providers.refuse_token = lambda: Reply(400, json.dumps(said).encode())
        office.queue = queue
        office.queue_message(phone)

        assert office.work() == []
        assert "invalid_grant: Invalid JWT Signature." in caplog.text
        assert "PRIVATE KEY" not in caplog.text
        office.providers.refuse_token = lambda: None
        assert office.work_after(minutes=6) == ["tok-A1"]

    @pytest.mark.parametrize(("status", "asked"), [(429, 300), (503, 300)])
    def test_a_server_that_is_busy_is_not_asked_before_the_time_that_it_names(
        self, office: Office, status: int, asked: int
    ) -> None:
        phone = office.phone()
        office.providers.refuse = lambda _request: Reply(status, b"", {"Retry-After": str(asked)})
        office.queue_message(phone)
        office.work()
        office.providers.refuse = lambda _request: None

        assert office.work_after(seconds=asked - 10) == []
        assert office.work_after(seconds=20) == ["tok-A1"]


class TestUnifiedPush:
    def test_an_endpoint_gets_a_small_body_that_tells_nothing(self, office: Office) -> None:
        phone = office.phone(office.providers.endpoint("upA1"))
        office.queue_message(phone, "A private text")

        assert office.work() == ["/upA1?up=1"]
        (push,) = office.providers.pushes[-1:]
        assert push.body == BODY
        assert (push.headers["ttl"], push.headers["urgency"], push.headers["topic"]) == ("600", "high", "sync")
        assert "authorization" not in push.headers

    def test_a_phone_that_has_another_endpoint_since_it_was_to_be_pushed_is_pushed_there(self, office: Office) -> None:
        phone = office.phone()
        office.queue_message(phone)
        phone.state.push_token = office.providers.endpoint("upA1")
        phone.sync()
        office.queue_message(phone, "One more")
        office.work_after(seconds=LAG)

        assert office.work() == ["/upA1?up=1"]

    @pytest.mark.parametrize("status", [404, 410])
    def test_an_endpoint_that_is_gone_is_forgotten(self, office: Office, status: int) -> None:
        phone = office.phone(office.providers.endpoint("upA1"))
        office.providers.refuse = lambda _request: Reply(status)
        office.queue_message(phone)

        assert len(office.work()) == 1
        assert office.work_after(hours=1) == []

    @pytest.mark.parametrize("status", [301, 413, 429, 500])
    def test_an_endpoint_that_refuses_is_asked_later(self, office: Office, status: int) -> None:
        phone = office.phone(office.providers.endpoint("upA1"))
        office.providers.refuse = lambda _request: Reply(status, b"", {"Retry-After": "120", "Location": "/other"})
        office.queue_message(phone)

        assert len(office.work()) == 1
        assert office.work_after(seconds=100) == []
        assert office.work_after(seconds=21) == ["/upA1?up=1"]

    def test_a_private_network_is_called_only_if_webhooks_may(self, office: Office, runtime: Runtime) -> None:
        phone = office.phone(office.providers.endpoint("upA1"))
        with closing(SafeHttp()) as careful:
            office.queue = PushQueue(replace(runtime, http=careful))
            office.queue_message(phone)
            assert office.work() == []
        with office.api.database.reading() as tx:
            count, sentence = read_push_trouble(tx)
        assert count == 1 and "in a network that this service may not call" in (sentence or "")

    def test_a_slow_endpoint_delays_nobody(self, office: Office, runtime: Runtime) -> None:
        released = threading.Event()

        def hold(request: Received) -> Reply | None:
            if request.path.startswith("/slow"):
                released.wait(PATIENCE_SECONDS)
            return None

        slow = office.providers.endpoint("slow").replace("127.0.0.1", "localhost")
        phones = [office.phone(slow), office.phone(office.providers.endpoint("quick"), number="+250788123124")]
        office.providers.refuse = hold
        before = len(office.providers.pushes)
        for phone in phones:
            office.queue_message(phone)
        try:
            begin_pushes(runtime)
            wait_until(lambda: "/quick?up=1" in office.providers.tokens()[before:], "the quick one")
        finally:
            released.set()

    @pytest.mark.parametrize(
        ("token", "via"),
        [
            ("tok-A1", "fcm"),
            ("https://ntfy.example.org/upA1?up=1", "https://ntfy.example.org"),
            ("HTTPS://NTFY.example.org:8443/upA1", "https://ntfy.example.org:8443"),
            ("https://[::1]/up", "https://[::1]"),
            ("https://", None),
            ("https://host:port/", None),
            ("", None),
        ],
    )
    def test_whose_push_reaches_a_phone_is_read_off_its_token(self, token: str, via: str | None) -> None:
        assert via_of(token) == via


def test_a_service_without_push_calls_nobody_and_forgets_what_was_due(office: Office, runtime: Runtime) -> None:
    phones = [office.phone(), office.phone(office.providers.endpoint("upA1"), number="+250788123124")]
    office.queue = PushQueue(with_settings(runtime, **by_name(UNIFIED_PUSH="off")))
    before = len(office.providers.receiver.received)
    for phone in phones:
        office.queue_message(phone)

    assert office.work() == []
    with office.api.database.reading() as tx:
        assert list_due_pushes(tx) == []
        assert tx.execute(select(func.count()).where(phone_push.c.due_on.is_not(None))).scalar_one() == 0
    assert len(office.providers.receiver.received) == before
