"""What a provider says becomes true of messages and contacts: its ids, refusals, waits, statuses and repeats. A local
provider speaks a small language of its own; the type that reads it stands in the place of the usual one.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from channels.calls import (
    Answer,
    BadSignature,
    Call,
    Callback,
    Heard,
    Later,
    Outcome,
    Received,
    Refused,
    Response,
    Sent,
    Settings,
    Status,
    Stopped,
)
from channels.signatures import hmac_hex, is_same
from channels.types import DEFAULT_GATEWAY, TYPES
from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.channels import channel, channel_event, gateway_call, gateway_part
from persistence.tables.contacts import contact
from persistence.tables.messages import gateway_send, message
from testbed.gateways import SECRET, THREE_PARTS, add_gateway, queue_messages, states_of
from testbed.running import wait_until
from tests.api import Api
from tests.conftest import Clock
from tests.worker.receivers import Receiver, Reply
from worker.channels.sending import begin_sending
from worker.runtime import Runtime

KINDS = {"received": Received, "status": Status, "stopped": Stopped, "call": Call}
OUTCOMES = {"sent": Sent, "refused": Refused, "later": Later}
SENDER = "+250788000111"


def judge(response: Response, settings: Settings) -> Outcome:
    said = response.json()
    if not response.is_ok or not isinstance(said, dict):
        return Later(f"status {response.status}")
    ((kind, values),) = said.items()
    outcome: Outcome = OUTCOMES[kind](**values)
    return outcome


def hear(callback: Callback, settings: Settings) -> Heard:
    if callback.method == "GET":
        return Heard(answer=Answer(callback.query["challenge"]))
    signed = hmac_hex("key", callback.url.encode() + callback.body)
    if not is_same(callback.headers.get("x-signature", ""), signed):
        raise BadSignature("The signature is wrong.")
    events = []
    for each in callback.json():
        ((kind, values),) = each.items()
        events.append(KINDS[kind](**values))
    return Heard(tuple(events))


@pytest.fixture(autouse=True)
def provider_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TYPES, DEFAULT_GATEWAY, replace(TYPES[DEFAULT_GATEWAY], accepted=judge, events=hear))


@pytest.fixture
def gateway(api: Api, receiver: Receiver) -> int:
    return add_gateway(api.database, api.workspace, receiver.url)


def says(receiver: Receiver, **outcome: Any) -> None:
    receiver.respond = lambda _request: Reply(200, orjson.dumps(outcome))


def call(api: Api, channel_id: int, *events: dict[str, Any], key: str = "key") -> Any:
    with api.database.reading() as tx:
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
    path, body = f"/c/ex/{uuid}/{SECRET}", orjson.dumps(list(events))
    url = f"{str(api.client.base_url).rstrip('/')}{path}"
    headers = {"X-Signature": hmac_hex(key, url.encode() + body), "Content-Type": "application/json"}
    return api.client.post(path, content=body, headers=headers)


def wait_for(database: Database, ids: list[int], *states: str) -> None:
    wait_until(lambda: [each for each, _ in states_of(database, ids)] == list(states), f"messages to be {states}")


class TestStatuses:
    def test_a_status_names_a_message_by_the_id_that_its_provider_gave_it(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        says(receiver, sent={"id": "SM-1"})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)
        wait_for(api.database, ids, "wired")

        seen = []
        for state in ("sent", "read", "delivered", "failed"):
            response = call(api, gateway, {"status": {"state": state, "id": "SM-1"}})
            seen.append((response.json()["detail"].endswith(f"is {state}."), states_of(api.database, ids)[0][0]))

        assert [state for _, state in seen] == ["sent", "read", "read", "read"]
        assert api.results("/api/v2/messages.json")[0]["status"] == "read"

    def test_a_message_in_parts_is_delivered_with_the_last_one(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        parts = iter(("P1", "P2", "P3"))
        receiver.respond = lambda _request: Reply(200, orjson.dumps({"sent": {"id": next(parts)}}))
        ids = queue_messages(api.database, api.workspace, gateway, text=THREE_PARTS)
        begin_sending(runtime)
        wait_for(api.database, ids, "wired")

        seen = []
        for part in ("P2", "P3", "P1"):
            call(api, gateway, {"status": {"state": "delivered", "id": part}})
            seen += states_of(api.database, ids)

        assert [state for state, _ in seen] == ["wired", "wired", "delivered"]

    def test_a_status_that_comes_before_its_message_is_recorded_counts_then(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        early = call(api, gateway, {"status": {"state": "delivered", "id": "SM-1"}})
        says(receiver, sent={"id": "SM-1"})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)

        wait_for(api.database, ids, "delivered")
        assert (early.status_code, "No message" in early.json()["detail"]) == (200, True)

    @pytest.mark.parametrize("name", [{"id": "SM-9"}, {"message": "999999"}, {"message": "x"}, {"message": "9" * 40}])
    def test_a_status_of_nobodys_message_says_so_and_is_not_asked_for_again(
        self, api: Api, gateway: int, name: dict[str, str]
    ) -> None:
        response = call(api, gateway, {"status": {"state": "sent", **name}})

        assert (response.status_code, response.json()["detail"][:10]) == (200, "No message")

    def test_ids_belong_to_one_channel(self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver) -> None:
        says(receiver, sent={"id": "SM-1"})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)
        wait_for(api.database, ids, "wired")

        call(api, add_gateway(api.database, api.workspace, receiver.url), {"status": {"state": "sent", "id": "SM-1"}})

        assert states_of(api.database, ids) == [("wired", None)]


class TestRefusals:
    def test_what_is_refused_fails_at_once_with_its_reason(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        says(receiver, refused={"reason": "No such number."})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)

        wait_for(api.database, ids, "failed")
        with api.database.reading() as tx:
            errors = list(tx.execute(select(gateway_call.c.error)).scalars())
            assert tx.execute(select(gateway_send.c.id)).all() == []
        assert (errors, len(receiver.received)) == (["No such number."], 1)

    def test_who_does_not_want_to_be_written_to_is_stopped(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        says(receiver, refused={"reason": "Blocked by the person.", "has_stopped": True})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)

        wait_for(api.database, ids, "failed")
        assert [each["status"] for each in api.results("/api/v2/contacts.json")] == ["stopped"]
        assert [each["type"] for each in api.results("/api/v2/channel_events.json")] == ["stop-contact"]


ABSENT = {"state": "failed", "id": "SM-1", "reason": "Absent subscriber (27)"}


class TestReasonsOfFailures:
    """What a provider says of a failure stands on the message (`failed_detail`)."""

    def wired(self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver) -> None:
        says(receiver, sent={"id": "SM-1"})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)
        wait_for(api.database, ids, "wired")

    def told(self, api: Api) -> list[tuple[str, str | None]]:
        return [(each["status"], each["failed_detail"]) for each in api.results("/api/v2/messages.json")]

    def test_it_stands_there_until_the_message_arrives_after_all(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver, clock: Clock
    ) -> None:
        self.wired(runtime, api, gateway, receiver)
        before = self.told(api)
        call(api, gateway, {"status": ABSENT})
        failed = self.told(api)
        clock.advance(seconds=5)
        call(api, gateway, {"status": {"state": "delivered", "id": "SM-1"}})

        assert [*before, *failed, *self.told(api)] == [
            ("wired", None),
            ("failed", "Absent subscriber (27)"),
            ("delivered", None),
        ]

    def test_that_of_a_status_before_its_message_is_recorded_is_kept(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        call(api, gateway, {"status": ABSENT})
        says(receiver, sent={"id": "SM-1"})
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)

        wait_for(api.database, ids, "failed")
        assert self.told(api) == [("failed", "Absent subscriber (27)")]

    @pytest.mark.parametrize("is_at_once", [True, False], ids=["refused", "by a status"])
    def test_it_is_short_one_line_and_without_secrets(
        self, runtime: Runtime, api: Api, receiver: Receiver, *, is_at_once: bool
    ) -> None:
        gateway = add_gateway(api.database, api.workspace, receiver.url, password="secret/of/ours")
        reason = "No\x00 such\nnumber for secret/of/ours: " + "x" * 600
        if is_at_once:
            says(receiver, refused={"reason": reason})
            wait_for(api.database, self.sent(runtime, api, gateway), "failed")
        else:
            self.wired(runtime, api, gateway, receiver)
            call(api, gateway, {"status": ABSENT | {"reason": reason}})

        ((_, detail),) = self.told(api)
        assert detail is not None
        assert (len(detail), detail.startswith("No such number for ***: xxx")) == (500, True)

    def sent(self, runtime: Runtime, api: Api, gateway: int) -> list[int]:
        ids = queue_messages(api.database, api.workspace, gateway)
        begin_sending(runtime)
        return ids

    def test_an_anonymous_workspace_does_not_show_it(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver
    ) -> None:
        self.wired(runtime, api, gateway, receiver)
        call(api, gateway, {"status": ABSENT})
        with api.database.writing() as tx:
            tx.execute(workspace_table.update().values(is_anonymous=True))

        (conversation,) = api.results("/api/v2/conversations.json")
        assert (self.told(api), conversation["last_message"]["failed_detail"]) == ([("failed", None)], None)

    @pytest.mark.parametrize("is_early", [True, False], ids=["before", "after"])
    def test_it_goes_with_its_contact(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver, *, is_early: bool
    ) -> None:
        self.wired(runtime, api, gateway, receiver)
        (person,) = api.results("/api/v2/contacts.json")
        deeds = [
            lambda: call(api, gateway, {"status": ABSENT}),
            lambda: api.delete("/api/v2/contacts.json", uuid=person["uuid"]),
        ]
        for deed in deeds if is_early else reversed(deeds):
            deed()

        with api.database.reading() as tx:
            assert tx.execute(select(message.c.status, message.c.failed_detail)).tuples().all() == [("failed", None)]


class TestWaits:
    def begin(self, runtime: Runtime, receiver: Receiver) -> Callable[[], bool]:
        """Sends what waits; returns once the answer is recorded."""
        step = begin_sending(runtime)
        assert receiver.wait_for(1)
        wait_until(lambda: self.waiting(runtime.database)[0].parts_begun == 0, "the answer to be recorded")
        return step

    def waiting(self, database: Database) -> Any:
        with database.reading() as tx:
            return tx.execute(select(gateway_send)).all()

    @pytest.mark.parametrize(("seconds", "waited"), [(90, 90), (0, 1), (86400, 3600)])
    def test_a_gateway_is_left_alone_as_long_as_it_says_within_an_hour_and_that_is_no_error(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver, clock: Clock, seconds: int, waited: int
    ) -> None:
        says(receiver, later={"reason": "Too many.", "seconds": seconds})
        ids = queue_messages(api.database, api.workspace, gateway)
        step = self.begin(runtime, receiver)

        (send,) = self.waiting(api.database)
        assert (round((send.due_on - clock()).total_seconds()), send.error_count) == (waited, 0)
        assert states_of(api.database, ids) == [("queued", None)]
        says(receiver, sent={})
        clock.advance(seconds=waited + 1)
        step()
        wait_for(api.database, ids, "wired")

    def test_all_messages_of_the_channel_wait_if_it_takes_none(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver, clock: Clock
    ) -> None:
        says(receiver, later={"reason": "Wait.", "seconds": 60, "is_for_all": True})
        first = queue_messages(api.database, api.workspace, gateway)
        step = self.begin(runtime, receiver)
        second = queue_messages(api.database, api.workspace, gateway)

        step()
        assert not receiver.wait_for(2, 0.2)
        says(receiver, sent={})
        clock.advance(seconds=61)
        step()
        wait_for(api.database, [*first, *second], "wired", "wired")

    def test_a_message_that_is_put_off_for_a_day_fails(
        self, runtime: Runtime, api: Api, gateway: int, receiver: Receiver, clock: Clock
    ) -> None:
        says(receiver, later={"reason": "Wait.", "seconds": 60})
        ids = queue_messages(api.database, api.workspace, gateway)
        step = self.begin(runtime, receiver)

        clock.advance(hours=24, minutes=1)
        step()

        wait_until(lambda: states_of(api.database, ids) == [("failed", "gateway_failed")], "it to fail")
        assert self.waiting(api.database) == []


class TestIncoming:
    def received(self, **values: Any) -> dict[str, Any]:
        return {"received": {"sender": SENDER, "text": "Yes", **values}}

    def test_a_message_with_a_known_id_is_a_repeat_and_the_same_text_with_another_id_is_none(
        self, api: Api, gateway: int
    ) -> None:
        for name in ("A", "B", "A", "B"):
            assert call(api, gateway, self.received(id=name)).status_code == 200

        assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["Yes", "Yes"]

    def test_a_new_contact_has_the_name_by_which_its_provider_knows_it(self, api: Api, gateway: int) -> None:
        call(api, gateway, self.received(name=" Amina\n M. "))
        call(api, gateway, self.received(name="Somebody else"))

        assert [each["name"] for each in api.results("/api/v2/contacts.json")] == ["Amina M."]

    def test_a_callback_without_its_signature_is_refused_and_nothing_is_stored(self, api: Api, gateway: int) -> None:
        response = call(api, gateway, self.received(id="A"), key="another key")

        assert (response.status_code, response.json()) == (403, {"detail": "The signature is wrong."})
        with api.database.reading() as tx:
            stored = [tx.execute(select(each.c.id)).all() for each in (message, contact, channel_event, gateway_part)]
        assert stored == [[], [], [], []]

    def test_a_challenge_gets_the_answer_of_the_type(self, api: Api, gateway: int) -> None:
        with api.database.reading() as tx:
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
        response = api.client.get(f"/c/ex/{uuid}/{SECRET}/", params={"challenge": "1158201444"})

        assert (response.status_code, response.text) == (200, "1158201444")
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"

    def test_one_event_that_is_refused_keeps_no_other_from_being_stored(self, api: Api, gateway: int) -> None:
        response = call(api, gateway, {"stopped": {"sender": "!"}}, self.received(id="A"))

        assert (response.status_code, len(api.results("/api/v2/messages.json"))) == (200, 1)
        assert call(api, gateway, {"stopped": {"sender": "!"}}).status_code == 400

    def test_calls_and_first_words_are_events_of_the_channel(self, api: Api, gateway: int) -> None:
        call(
            api,
            gateway,
            {"call": {"sender": SENDER, "kind": "mo_miss"}},
            {"call": {"sender": SENDER, "kind": "referral", "extra": {"referrer_id": "poster"}}},
        )

        events = api.results("/api/v2/channel_events.json")
        assert [(each["type"], each["extra"]) for each in events] == [
            ("referral", {"referrer_id": "poster"}),
            ("call-in-missed", {"duration": 0}),
        ]
