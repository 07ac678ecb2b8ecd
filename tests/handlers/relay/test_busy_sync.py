"""One sync with everything in it, repeated, raced and overfull (relayer protocol, 12, 20.3 and 21)."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qsl

import pytest
from sqlalchemy import select, update

from handlers.threads import WriteLanes
from persistence.channels.channels import set_channel_webhook
from persistence.tables.channels import channel, channel_event, sync_record
from persistence.tables.contacts import contact
from persistence.tables.deliveries import delivery
from persistence.tables.messages import message
from relayboard.phone.phone import Phone, sign_body, write_body
from tests.api import Api
from tests.phones import (
    AppTransport,
    claimed_phone,
    commands,
    count_rows,
    last_reply,
    repeat_last,
    send_texts,
    status_of,
)

NOW_MS = 1772438400000
COUNTED = (message, channel_event, contact, delivery)


def events(api: Api) -> list[dict[str, str]]:
    """The parameters of all channel events so far, oldest first."""
    with api.database.reading() as tx:
        bodies = tx.execute(select(delivery.c.body).order_by(delivery.c.id)).scalars().all()
    return [dict(parse_qsl(body, keep_blank_values=True)) for body in bodies]


def watch(api: Api) -> None:
    """Have the events of all channels delivered."""
    with api.database.writing() as tx:
        for uuid in tx.execute(select(channel.c.uuid)).scalars().all():
            set_channel_webhook(tx, api.workspace.id, uuid, "https://receiver.example.org/events")


@pytest.fixture
def phone(api: Api) -> Phone:
    """A claimed phone whose events are delivered."""
    made = claimed_phone(api)
    watch(api)
    return made


@pytest.fixture
def sent_ids(api: Api, phone: Phone) -> list[int]:
    """Three messages the phone was given: sent and delivered, still waiting, and failed once."""
    ids = send_texts(api, phone, "Clinic opens at 8", "Clinic opens at 8", "Bring your card")
    phone.sync()
    phone.send_result(ids[0], at_ms=NOW_MS + 500)
    phone.send_result(ids[2], is_sent=False)
    return ids


def busy(api: Api, phone: Phone, first_id: int) -> int:
    """All kinds of reports in one sync, while another message was queued; returns its id."""
    phone.battery(18)
    phone.receive_sms("0788000333", "Is it open on Tuesday?", NOW_MS + 10_000)
    phone.log_call("mo_miss", "+250788000444", at_ms=NOW_MS + 15_000)
    phone.delivery(first_id, at_ms=NOW_MS + 30_000)
    phone.state.workspace_id = api.workspace.id
    contact_uuid = api.results("/api/v2/contacts.json")[0]["uuid"]
    created = api.post("/api/v2/messages.json", {"contact": contact_uuid, "text": "Your result is ready"})
    new_id: int = created.json()["id"]
    phone.sync()
    return new_id


class TestBusySync:
    def test_every_report_is_acknowledged_in_order_before_the_outbox(
        self, api: Api, phone: Phone, sent_ids: list[int]
    ) -> None:
        new_id = busy(api, phone, sent_ids[0])

        answer = commands(phone)

        assert [command["cmd"] for command in answer] == ["ack"] * 4 + ["mt_bcast"]
        numbers = [command["p_id"] for command in answer[:4]]
        assert numbers == sorted(numbers)  # type: ignore[type-var]  # numbers, as the phone gave them
        newest = api.results("/api/v1/messages.json", direction="I")[0]["id"]
        assert [command.get("extra") for command in answer[:4]] == [None, {"msg_id": newest}, None, None]
        assert answer[4]["to"] == [{"phone": "+250788000111", "id": new_id}]

    def test_its_effects_are_those_reported(self, api: Api, phone: Phone, sent_ids: list[int]) -> None:
        busy(api, phone, sent_ids[0])

        states = [status_of(api.database, message_id) for message_id in sent_ids]
        first = api.results("/api/v1/messages.json", id=sent_ids[0])[0]
        with api.database.reading() as tx:
            synced = tx.execute(select(sync_record).order_by(sync_record.c.id.desc())).first()
        assert states == ["delivered", "wired", "wired"]
        assert first["sent_on"] == "2026-03-02T08:00:00.500000Z"
        assert synced is not None
        counts = (synced.pending_count, synced.retry_count, synced.incoming_count, synced.outgoing_count)
        assert counts == (1, 1, 4, 1)

    def test_each_report_makes_its_event_once(self, api: Api, phone: Phone, sent_ids: list[int]) -> None:
        before = len(events(api))

        busy(api, phone, sent_ids[0])

        made = sorted(event["event"] for event in events(api)[before:])
        assert made == ["alarm", "mo_miss", "mo_sms", "mt_dlvd", "mt_sent"]

    def test_the_identical_request_again_makes_nothing_new(self, api: Api, phone: Phone, sent_ids: list[int]) -> None:
        busy(api, phone, sent_ids[0])
        counts = [count_rows(api.database, table) for table in COUNTED]
        answer = last_reply(phone).document

        again = repeat_last(phone)

        assert [count_rows(api.database, table) for table in COUNTED] == counts
        assert again.document == answer

    def test_the_same_reports_under_new_numbers_make_nothing_new(
        self, api: Api, phone: Phone, sent_ids: list[int]
    ) -> None:
        busy(api, phone, sent_ids[0])
        counts = [count_rows(api.database, table) for table in COUNTED]
        phone.receive_sms("0788000333", "Is it open on Tuesday?", NOW_MS + 10_000)
        phone.log_call("mo_miss", "+250788000444", at_ms=NOW_MS + 15_000)
        phone.log_call("mo_miss", "+250788000444", at_ms=NOW_MS + 15_000)

        phone.sync()

        assert [count_rows(api.database, table) for table in COUNTED] == counts
        assert phone.state.queue == []

    def test_equal_texts_a_millisecond_apart_are_two_messages(self, api: Api, phone: Phone) -> None:
        phone.receive_sms("0788000333", "yes", NOW_MS)
        phone.receive_sms("0788000333", "yes", NOW_MS + 1)

        phone.sync()

        assert count_rows(api.database, message) == 2

    def test_sms_found_newest_first_are_stored_oldest_first(self, api: Api, phone: Phone) -> None:
        phone.receive_sms("0788000333", "second", NOW_MS + 1000)
        phone.receive_sms("0788000333", "first", NOW_MS)

        phone.sync()

        texts = {record["id"]: record["text"] for record in api.results("/api/v1/messages.json")}
        assert [texts[key] for key in sorted(texts)] == ["first", "second"]

    def test_requests_of_one_phone_at_the_same_time_count_once(
        self, api: Api, phone: Phone, sent_ids: list[int]
    ) -> None:
        busy(api, phone, sent_ids[0])
        for number in range(20):
            phone.receive_sms(f"07880006{number:02}", "hello", NOW_MS + number)
            phone.log_call("mo_call", f"07880006{number:02}", 5, NOW_MS + number)
        phone.state.queue = phone.state.queue[:40]
        body = write_body([*phone._identity(), *phone.state.queue])
        ts = str(phone.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(phone.state.secret or "", ts, body)}
        path = f"/relayers/relayer/sync/{phone.state.relayer_id}/"
        messages, calls = count_rows(api.database, message), count_rows(api.database, channel_event)

        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda _: phone.transport.post(path, query, body), range(8)))

        assert {reply.status for reply in replies} == {200}
        assert len({str(reply.document) for reply in replies}) == 1
        assert count_rows(api.database, message) == messages + 20
        assert count_rows(api.database, channel_event) == calls + 20


class TestReports:
    def test_a_failure_after_sending_counts_and_a_delivery_after_all_too(
        self, api: Api, phone: Phone, sent_ids: list[int]
    ) -> None:
        phone.sync()
        phone._report("mt_fail", sent_ids[0], NOW_MS + 60_000)
        phone.sync()
        failed = status_of(api.database, sent_ids[0])
        phone._report("mt_dlvd", sent_ids[0], NOW_MS + 90_000)

        phone.sync()

        assert (failed, status_of(api.database, sent_ids[0])) == ("failed", "delivered")

    def test_a_delivery_without_a_report_of_sending_fills_the_time_of_sending(
        self, api: Api, phone: Phone, sent_ids: list[int]
    ) -> None:
        phone._report("mt_dlvd", sent_ids[1], NOW_MS + 90_000)

        phone.sync()

        record = api.results("/api/v1/messages.json", id=sent_ids[1])[0]
        assert (record["status"], record["sent_on"] is None) == ("D", False)

    def test_a_report_about_an_incoming_message_changes_nothing(self, api: Api, phone: Phone) -> None:
        phone.receive_sms("0788000333", "hello", NOW_MS)
        phone.sync()
        incoming = api.results("/api/v1/messages.json")[0]["id"]
        phone._report("mt_fail", incoming)

        phone.sync()

        assert (status_of(api.database, incoming), phone.state.queue) == ("queued", [])

    def test_repeated_reports_make_one_event_of_each_kind(self, api: Api, phone: Phone, sent_ids: list[int]) -> None:
        for _ in range(3):
            phone._report("mt_sent", sent_ids[1], NOW_MS + 1000)
            phone._report("mt_dlvd", sent_ids[1], NOW_MS + 2000)
            phone.sync()

        about = [event["event"] for event in events(api) if event.get("sms") == str(sent_ids[1])]
        assert about == ["mt_sent", "mt_dlvd"]

    def test_a_stopped_contact_who_writes_is_active_again(self, api: Api, phone: Phone) -> None:
        phone.receive_sms("0788000333", "first", NOW_MS)
        phone.sync()
        with api.database.writing() as tx:
            tx.execute(update(contact).values(status="stopped"))
        phone.receive_sms("0788000333", "second", NOW_MS + 1)

        phone.sync()

        assert [each["status"] for each in api.results("/api/v2/contacts.json")] == ["active"]


class TestPoison:
    def test_an_sms_with_characters_no_text_should_hold_is_taken_and_cleaned(self, api: Api, phone: Phone) -> None:
        identity = write_body(phone._identity())
        for number, part in enumerate(
            (
                b'{"cmd":"mo_sms","phone":"0788000333","ts":1,"msg":"a\\u0000b","p_id":%d}',
                b'{"cmd":"mo_sms","phone":"0788000334","ts":1,"msg":"a\\ud83db","p_id":%d}',
                b'{"cmd":"mo_sms","phone":"0788000335","ts":1,"msg":"a\x01b","p_id":%d}',
                b'{"cmd":"mo_sms","phone":"0788000336","ts":1,"msg":"x","msg":"ab","p_id":%d}',
                b'{"cmd":"mo_sms","phone":"0788\\u0000000337","ts":1e999,"msg":"ab","p_id":%d}',
            ),
            1,
        ):
            reply = self.post(phone, identity[:-2] + b"," + part % (number + 2) + b"]}")

            assert reply["cmds"][0]["p_id"] == number + 2
            assert [each["text"] for each in api.results("/api/v2/messages.json")] == ["ab"] * number, part

    @pytest.mark.together
    @pytest.mark.parametrize("number", [b'"\\ud83d"', b"1e999", b"123456789012345678901234567890", b"[1]", b"null"])
    def test_a_number_no_answer_could_carry_does_not_stop_the_others(
        self, api: Api, phone: Phone, number: bytes
    ) -> None:
        identity = write_body(phone._identity())
        odd = b',{"cmd":"call","type":["x"],"p_id":' + number + b"}"

        reply = self.post(phone, identity[:-2] + odd + b',{"cmd":"unheard_of","p_id":0}]}')

        assert reply["cmds"][1] == {"cmd": "ack", "p_id": 0}

    def test_far_more_sms_than_a_phone_sends_at_once_are_taken_bit_by_bit(self, api: Api, phone: Phone) -> None:
        sms = [
            {"cmd": "mo_sms", "phone": f"07880{number:05}", "ts": NOW_MS, "msg": "hello", "p_id": number + 3}
            for number in range(600)
        ]
        reply = self.post(phone, write_body([*phone._identity(), *sms]))

        assert len(reply["cmds"]) == count_rows(api.database, message) == 498

    @staticmethod
    def post(phone: Phone, body: bytes) -> dict[str, Any]:
        ts = str(phone.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(phone.state.secret or "", ts, body)}
        reply = phone.transport.post(f"/relayers/relayer/sync/{phone.state.relayer_id}/", query, body)
        assert reply.status == 200, reply
        return reply.document


def _transport(phone: Phone) -> AppTransport:
    assert isinstance(phone.transport, AppTransport)
    return phone.transport


@pytest.mark.together
@pytest.mark.parametrize("spelled", ["{}", "00{}", "+{}", "{}.0"])
def test_a_phone_waits_for_its_workspace_however_its_id_is_written(
    api: Api, phone: Phone, monkeypatch: pytest.MonkeyPatch, spelled: str
) -> None:
    owners: list[Any] = []
    run = WriteLanes.run

    async def note(lanes: WriteLanes, owner: Any, limiter: Any, work: Any) -> Any:
        owners.append(owner)
        return await run(lanes, owner, limiter, work)

    monkeypatch.setattr(WriteLanes, "run", note)
    phone.sync()
    path, query, body = _transport(phone).requests[-1]
    known = f"/{phone.state.relayer_id}/"

    reply = _transport(phone).post(path.replace(known, f"/{spelled.format(phone.state.relayer_id)}/"), query, body)

    assert (reply.status, owners) == (200, [api.workspace.id] * 2)
