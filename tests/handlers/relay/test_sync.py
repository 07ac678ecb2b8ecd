"""Phones over HTTP: registration, signature, every command, repeats (relayer protocol, section 21)."""

from typing import Any

import pytest
from sqlalchemy import func, select, update

from handlers.relay.signature import sign
from persistence.channel_events import channel_event
from persistence.channels import channel
from persistence.contacts import contact
from persistence.database import Database
from persistence.messages import message
from persistence.outgoing import Draft, create_outgoing
from persistence.workspaces import Workspace
from relayboard.phone.phone import Phone
from relayboard.phone.state import SENT
from relayboard.phone.wire import sign_body, write_body
from tests.api import Api
from tests.conftest import Clock
from tests.phones import AppTransport, claimed_phone, commands, new_phone

NOW_MS = 1772438400000

BOTH_MODES = pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])


def count(database: Database, table: Any) -> int:
    with database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(table)).scalar_one())


def send(api: Api, phone: Phone, *texts: str) -> list[int]:
    """Outgoing messages to one contact, in this order; their ids."""
    phone.receive_sms("+250788000111", "hello")
    phone.sync()
    with api.database.writing() as tx:
        contact_id = tx.execute(select(contact.c.id)).scalars().first()
        assert contact_id is not None
    ids = []
    for text in texts:
        with api.database.writing() as tx:
            ids += create_outgoing(tx, api.workspace.id, [Draft(contact_id, text)])
    return ids


def status_of(database: Database, message_id: int) -> str:
    with database.reading() as tx:
        return str(tx.execute(select(message.c.status).where(message.c.id == message_id)).scalar_one())


class TestRegister:
    @BOTH_MODES
    def test_a_phone_gets_an_id_a_secret_and_a_claim_code(self, api: Api, is_lagging: bool) -> None:
        phone = new_phone(api, is_lagging=is_lagging)

        phone.register()

        assert isinstance(phone.state.relayer_id, int)
        assert len(phone.state.secret or "") == 64
        assert len(phone.state.claim_code or "") == 9
        assert count(api.database, channel) == 1

    def test_registering_twice_gives_the_same_until_the_secret_is_used(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        first = (phone.state.relayer_id, phone.state.secret, phone.state.claim_code)

        phone.register()

        assert (phone.state.relayer_id, phone.state.secret, phone.state.claim_code) == first

    def test_a_claimed_phone_keeps_working_when_somebody_else_registers_with_its_uuid(self, api: Api) -> None:
        phone = claimed_phone(api)
        thief = new_phone(api)
        thief.state.device_uuid = phone.state.device_uuid

        thief.register()
        thief.sync()
        phone.receive_sms("0788000111", "still here")
        phone.sync()

        assert thief.state.workspace_id == -1
        assert commands(phone)[0]["cmd"] == "ack"
        assert thief.state.secret != phone.state.secret

    def test_a_phone_too_old_for_the_protocol_gets_a_dummy(self, api: Api) -> None:
        reply = AppTransport(api.client).post(
            "/relayers/relayer/register/", {}, b'{"cmds":[{"cmd":"gcm","gcm_id":"x"}]}'
        )

        assert reply.document["cmds"][0]["relayer_id"] == -1

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"cmds":[]}', b'{"cmds":[{"cmd":"fcm"}]}', b'{"cmds":7}'])
    def test_a_malformed_registration_is_refused(self, api: Api, body: bytes) -> None:
        assert AppTransport(api.client).post("/relayers/relayer/register/", {}, body).status == 400

    def test_other_methods_are_not_allowed(self, api: Api) -> None:
        response = api.client.get("/relayers/relayer/register/")

        assert (response.status_code, response.headers["Allow"]) == (405, "POST")


class TestSignature:
    VECTORS = (
        (
            "1767225600",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1},'
            '{"cmd":"status","p_src":"BAT","p_lvl":18,"p_sts":"DIS","net":"LTE","pending":[],"retry":[],"org_id":-1,'
            '"cc":"RW","dev":"SM-A135F","os":"13","app_version":"2.1.0","p_id":2}]}',
            "w3OVVQVh0KECVH1Nf_q73SduO8uUT3ujZC-YQU6Fg9o=",
        ),
        (
            "1767225620",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1},'
            '{"cmd":"mo_sms","phone":"+250788000111","ts":1767225612345,"msg":"1\\/2 kg, café ☕","p_id":2}]}',
            "T1zsoy5JcbRrEq2eJrJhmFrU_V5koYkH5qOKwt16n70=",
        ),
        (
            "1767225600",
            '{"cmds":[{"cmd":"fcm","fcm_id":"tok-A1","uuid":"3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411","p_id":1}]}',
            "okQJQmliz-kSbmajKkvBvvEXan4PpUhoxFjfoJ0oTL4=",
        ),
    )

    @pytest.mark.parametrize(("ts", "body", "signature"), VECTORS)
    def test_both_sides_sign_as_the_published_vectors(self, ts: str, body: str, signature: str) -> None:
        secret = "7KQ2M9XWPA4TDZ6RHB3NVE8YCJ5FGLUS" * 2

        assert sign(secret, ts, body.encode()) == signature
        assert sign_body(secret, ts, body.encode()) == signature

    def test_one_changed_byte_is_a_wrong_signature(self, api: Api) -> None:
        phone = claimed_phone(api)
        transport = phone.transport
        assert isinstance(transport, AppTransport)
        path, query, body = transport.requests[-1]

        reply = transport.post(path, query, body.replace(b"DIS", b"DIT"))

        assert (reply.status, reply.document["error_id"]) == (401, 1)

    @pytest.mark.parametrize(("offset", "status"), [(-890, 200), (890, 200), (-905, 401), (905, 401)])
    def test_a_clock_may_be_fifteen_minutes_off(self, api: Api, clock: Clock, offset: int, status: int) -> None:
        phone = claimed_phone(api)
        phone.clock = lambda: int(clock.moment.timestamp() * 1000) + offset * 1000

        phone.sync()

        reply = phone.transport.replies[-1]  # type: ignore[attr-defined]
        assert reply.status == status
        assert reply.document.get("error_id") == (3 if status == 401 else None)

    def test_a_missing_ts_is_answered_like_an_old_request(self, api: Api) -> None:
        phone = claimed_phone(api)

        reply = AppTransport(api.client).post(f"/relayers/relayer/sync/{phone.state.relayer_id}/", {}, b"{}")

        assert (reply.status, reply.document["error_id"]) == (401, 3)

    @pytest.mark.parametrize("path", ["999", "0", "-1", "x", "99999999999999999999"])
    def test_an_unknown_id_is_released_without_a_look_at_the_signature(self, api: Api, path: str) -> None:
        reply = AppTransport(api.client).post(f"/relayers/relayer/sync/{path}/", {}, b"{}")

        assert (reply.status, reply.document["cmds"][0]["cmd"]) == (200, "rel")


class TestUnclaimed:
    def test_a_sync_before_the_claim_gives_the_registration_again(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        before = phone.state.secret

        phone.sync()

        assert commands(phone)[0]["cmd"] == "reg"
        assert phone.state.secret == before

    def test_another_device_uuid_is_refused(self, api: Api) -> None:
        phone = new_phone(api)
        phone.register()
        phone.state.device_uuid = "11111111-1111-4111-8111-111111111111"

        phone.sync()

        assert phone.transport.replies[-1].document["error_id"] == 4  # type: ignore[attr-defined]

    def test_the_first_sync_after_the_claim_tells_the_workspace_once(self, api: Api) -> None:
        phone = claimed_phone(api)

        assert phone.state.workspace_id == api.workspace.id
        phone.sync()
        assert commands(phone) == []


class TestIncoming:
    @BOTH_MODES
    def test_an_sms_becomes_one_message_however_often_it_is_reported(self, api: Api, is_lagging: bool) -> None:
        phone = claimed_phone(api, is_lagging=is_lagging)
        phone.receive_sms("0788000111", "Is it open on Monday?", NOW_MS)

        for _ in range(4):
            phone.sync()

        messages = api.results("/api/v2/messages.json")
        assert [each["text"] for each in messages] == ["Is it open on Monday?"]
        assert messages[0]["urn"] == "tel:+250788000111"
        assert messages[0]["created_on"] == "2026-03-02T08:00:00.000000Z"
        assert phone.state.queue == []

    def test_the_identical_request_again_changes_nothing(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000111", "hello", NOW_MS)
        phone.log_call("mo_miss", "0788000222", at_ms=NOW_MS)
        phone.sync()

        again = phone.transport.repeat_last()  # type: ignore[attr-defined]

        assert again.document["cmds"][0]["extra"] == {"msg_id": api.results("/api/v2/messages.json")[0]["id"]}
        assert (count(api.database, message), count(api.database, channel_event)) == (1, 1)

    @pytest.mark.parametrize(
        ("number", "path"),
        [("0788383383", "+250788383383"), ("250788383383", "+250788383383"), ("5080", "5080"), ("MTN", "mtn")],
    )
    def test_senders_are_normalised_with_the_country_of_the_phone(self, api: Api, number: str, path: str) -> None:
        phone = claimed_phone(api)
        phone.receive_sms(number, "hello")

        phone.sync()

        assert api.results("/api/v2/messages.json")[0]["urn"] == f"tel:{path}"

    @pytest.mark.parametrize(
        "command",
        [
            {"cmd": "mo_sms", "phone": "0788000111"},
            {"cmd": "mo_sms", "msg": "who am I?"},
            {"cmd": "mo_sms", "phone": "-1", "msg": "hidden"},
            {"cmd": "mo_sms", "phone": "*", "msg": "nothing left"},
            {"cmd": "call", "type": "unk", "phone": "0788000111", "ts": NOW_MS},
            {"cmd": "call", "type": "mo_call", "ts": NOW_MS},
            {"cmd": "mt_sent", "msg_id": 4711, "ts": NOW_MS},
            {"cmd": "mt_sent", "msg_id": "x"},
            {"cmd": "unheard_of"},
            {"cmd": 7},
        ],
    )
    def test_what_cannot_be_used_is_acknowledged_and_ignored(self, api: Api, command: dict[str, Any]) -> None:
        phone = claimed_phone(api)
        phone._enqueue(command)

        phone.sync()

        assert (phone.state.queue, count(api.database, message), count(api.database, channel_event)) == ([], 0, 0)

    def test_control_characters_are_cleaned_and_long_texts_kept(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000111", "line\none\x07 " + "x" * 700)

        phone.sync()

        assert api.results("/api/v2/messages.json")[0]["text"] == "line\none " + "x" * 700

    def test_what_a_blocked_contact_sends_is_dropped(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000111", "first")
        phone.sync()
        with api.database.writing() as tx:
            tx.execute(update(contact).values(status="blocked"))
        phone.receive_sms("0788000111", "second")

        phone.sync()

        assert (count(api.database, message), phone.state.queue) == (1, [])

    def test_fifty_sms_take_as_many_statements_as_one(self, api: Api, statements: list[str]) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000000", "first")
        statements.clear()
        phone.sync()
        for_one = len(statements)
        for number in range(50):
            phone.receive_sms(f"07880001{number:02}", f"text {number}")
        statements.clear()

        phone.sync()

        assert len(statements) == for_one
        assert count(api.database, message) == 51


class TestCalls:
    def test_calls_become_channel_events(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.log_call("mo_call", "0788000111", 34)
        phone.log_call("mt_call", "0788000111", 0)
        phone.sync()

        events = api.results("/api/v2/channel_events.json")

        found = {event["type"]: event["extra"] for event in events}
        assert found == {"call-in": {"duration": 34}, "call-out-missed": {"duration": 0}}


class TestOutgoing:
    def test_consecutive_equal_texts_share_a_command(self, api: Api) -> None:
        phone = claimed_phone(api)
        send(api, phone, "A", "A", "B", "A")

        phone.sync()

        sizes = [(command["msg"], len(command["to"])) for command in commands(phone)]  # type: ignore[arg-type]
        assert sizes == [("A", 2), ("B", 1), ("A", 1)]

    def test_a_message_is_wired_once_the_phone_holds_it_and_not_offered_again(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send(api, phone, "Welcome")
        phone.sync()
        offered = status_of(api.database, message_id)

        phone.sync()

        assert (offered, status_of(api.database, message_id)) == ("queued", "wired")
        assert commands(phone) == []

    @BOTH_MODES
    def test_a_message_is_sent_once_and_its_progress_shows(self, api: Api, is_lagging: bool) -> None:
        phone = claimed_phone(api, is_lagging=is_lagging)
        (message_id,) = send(api, phone, "Welcome")
        seen = []
        for _ in range(6):
            phone.sync()
            phone.send_waiting()
            seen.append(status_of(api.database, message_id))

        assert seen[-1] == "delivered"
        assert phone.state.messages[message_id].copies == 1

    def test_a_late_report_of_sending_does_not_undo_a_delivery(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_dlvd", message_id, NOW_MS + 5000)
        phone.sync()
        phone._report("mt_sent", message_id, NOW_MS + 9000)

        phone.sync()

        assert status_of(api.database, message_id) == "delivered"

    def test_a_failure_is_undone_only_by_a_later_report(self, api: Api) -> None:
        phone = claimed_phone(api)
        (message_id,) = send(api, phone, "Welcome")
        phone.sync()
        phone._report("mt_fail", message_id, NOW_MS + 5000)
        phone.sync()
        failed = status_of(api.database, message_id)
        phone._report("mt_sent", message_id, NOW_MS + 4000)
        phone.sync()
        still_failed = status_of(api.database, message_id)

        phone._report("mt_sent", message_id, NOW_MS + 6000)
        phone.sync()

        assert (failed, still_failed, status_of(api.database, message_id)) == ("failed", "failed", "sent")

    @pytest.mark.parametrize("report", ["mt_sent", "mt_dlvd", "mt_fail", "mt_error"])
    def test_reports_about_another_phones_message_change_nothing(self, api: Api, report: str) -> None:
        phone = claimed_phone(api)
        (message_id,) = send(api, phone, "Welcome")
        other = claimed_phone(api, number="+250788999999")
        other._report(report, message_id)

        other.sync()

        assert (status_of(api.database, message_id), other.state.queue) == ("queued", [])

    def test_finished_messages_are_never_offered(self, api: Api) -> None:
        phone = claimed_phone(api)
        ids = send(api, phone, "one", "two", "three")
        phone.sync()
        for message_id, report in zip(ids, ("mt_sent", "mt_dlvd", "mt_fail"), strict=True):
            phone._report(report, message_id)
        phone.state.messages = {key: held for key, held in phone.state.messages.items() if held.state == SENT}

        phone.sync()

        assert [command["cmd"] for command in commands(phone)] == ["ack", "ack", "ack"]


class TestStatusAndReset:
    def test_the_status_shows_in_the_channel_record(self, api: Api) -> None:
        phone = claimed_phone(api)
        before = api.results("/api/v2/channels.json")[0]["device"]["power_status"]
        phone.battery(55, "CHA", "USB")
        phone.connect("LTE")

        phone.sync()

        device = api.results("/api/v2/channels.json")[0]["device"]
        assert before == "DIS"
        assert (device["power_level"], device["power_status"], device["network_type"]) == (55, "CHA", "LTE")

    def test_old_names_and_texts_instead_of_numbers_are_understood(self, api: Api) -> None:
        phone = claimed_phone(api)
        state = phone.state
        status = {"cmd": "status", "power_level": "60", "power_status": "FUL", "network_type": "EDGE"}
        identity = {"cmd": "fcm", "fcm_id": state.push_token, "uuid": state.device_uuid}
        body = write_body([identity, {**status, "org_id": str(api.workspace.id)}])
        ts = str(phone.clock() // 1000)
        query = {"ts": ts, "signature": sign_body(state.secret or "", ts, body)}

        reply = phone.transport.post(f"/relayers/relayer/sync/{state.relayer_id}", query, body)

        device = api.results("/api/v2/channels.json")[0]["device"]
        assert (reply.document["cmds"], device["power_level"], device["power_status"]) == ([], 60, "FUL")

    def test_a_reset_releases_the_channel_and_fails_what_was_not_sent(self, api: Api, workspace: Workspace) -> None:
        phone = claimed_phone(api)
        (message_id,) = send(api, phone, "Welcome")
        old_id = phone.state.relayer_id
        phone.reset()

        phone.sync()

        assert api.results("/api/v2/channels.json") == []
        assert status_of(api.database, message_id) == "failed"
        phone.register()
        assert phone.state.relayer_id != old_id
