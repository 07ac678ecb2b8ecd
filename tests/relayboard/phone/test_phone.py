"""The simulated phone behaves as the published app (relayer protocol, 9, 11, 12 and 13).

What a phone sends, and what it stores in its file.
"""

import json
from pathlib import Path

import pytest

from relayboard.phone.phone import (
    DELIVERED,
    FAILED,
    HANDED_OVER,
    NEW,
    RETRY,
    SENT,
    HeldMessage,
    Phone,
    PhoneState,
    load_state,
    save_state,
    sign_body,
    write_body,
)
from relayboard.phone.wire import NoReply
from relayboard.refusal import CommandFailed
from tests.relayboard.phone.scripted_server import (
    CLAIM,
    REGISTRATION,
    SECRET,
    PhoneClock,
    ScriptedServer,
    working_phone,
)

OFFER = {"cmd": "mt_bcast", "msg": "Clinic opens at 8", "to": [{"phone": "+250788000111", "id": 90311}]}


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def clock() -> PhoneClock:
    return PhoneClock()


@pytest.fixture
def phone(server: ScriptedServer, clock: PhoneClock) -> Phone:
    """A claimed phone in classic mode."""
    return working_phone(server, clock)


def names(server: ScriptedServer) -> list[str]:
    return [command["cmd"] for command in server.commands()]


class TestRegistration:
    def test_a_new_phone_registers_at_its_first_sync_and_shows_the_code(
        self, server: ScriptedServer, clock: PhoneClock
    ) -> None:
        server.plan(REGISTRATION)
        phone = Phone(server, PhoneState(), clock=clock)

        phone.sync()

        assert server.requests[0][:2] == ("/relayers/relayer/register/", {})
        assert (phone.state.relayer_id, phone.state.claim_code) == (4021, "K7QW3ZP9M")

    def test_nothing_is_relayed_before_the_phone_knows_its_workspace(
        self, server: ScriptedServer, clock: PhoneClock
    ) -> None:
        server.plan(REGISTRATION)
        phone = Phone(server, PhoneState(), clock=clock)
        phone.sync()
        phone.receive_sms("+250788000111", "too early")
        phone.log_call("mo_miss", "+250788000111")
        server.plan(CLAIM)
        phone.sync()
        phone.receive_sms("+250788000111", "in time")

        phone.sync()

        assert [command["msg"] for command in server.commands()] == ["in time"]
        assert server.status()["org_id"] == 17

    @pytest.mark.parametrize(("error_id", "relayer_id"), [(1, None), (3, 4021), (4, 4021)])
    def test_only_a_wrong_signature_makes_a_classic_phone_register_again(
        self, server: ScriptedServer, phone: Phone, error_id: int, relayer_id: int | None
    ) -> None:
        phone.receive_sms("+250788000111", "kept")
        server.refuse(401, error_id)

        phone.sync()

        assert phone.state.relayer_id == relayer_id
        assert len(phone.state.queue) == 1

    def test_a_release_empties_the_queue(self, server: ScriptedServer, phone: Phone) -> None:
        phone.receive_sms("+250788000111", "lost")
        server.plan({"cmd": "rel", "relayer_id": "4021"})

        phone.sync()

        assert (phone.state.relayer_id, phone.state.workspace_id, phone.state.queue) == (None, -1, [])

    def test_a_reset_forgets_everything_once_it_is_acknowledged(self, server: ScriptedServer, phone: Phone) -> None:
        phone.receive_sms("+250788000111", "thrown away")
        phone.reset()
        phone.sync()
        reset = server.commands()
        server.plan({"cmd": "ack", "p_id": reset[0]["p_id"]})

        phone.sync()

        assert [command["cmd"] for command in reset] == ["reset"]
        assert (phone.state.secret, phone.state.queue) == (None, [])


class TestQueue:
    def test_fifty_reports_go_at_once_oldest_first(self, server: ScriptedServer, phone: Phone) -> None:
        for number in range(60):
            phone.receive_sms("+250788000111", f"text {number}")

        phone.sync()

        assert [command["msg"] for command in server.commands()] == [f"text {number}" for number in range(50)]

    def test_what_is_not_acknowledged_comes_again_under_its_number(self, server: ScriptedServer, phone: Phone) -> None:
        phone.receive_sms("+250788000111", "one")
        phone.receive_sms("+250788000111", "two")
        phone.sync()
        first, second = server.commands()
        server.plan({"cmd": "ack", "p_id": first["p_id"]}, {"cmd": "ack", "p_id": 99999})
        phone.sync()

        phone.sync()

        assert server.commands() == [second]

    def test_a_plain_sync_needs_something_to_say_and_a_paused_phone_says_nothing(
        self, server: ScriptedServer, phone: Phone
    ) -> None:
        phone.sync(force=False)
        phone.receive_sms("+250788000111", "hello")
        phone.pause()
        phone.sync()
        silent = len(server.requests)
        phone.pause(is_paused=False)

        phone.sync(force=False)

        assert (silent, len(server.requests)) == (0, 1)

    def test_unknown_commands_are_skipped(self, server: ScriptedServer, phone: Phone) -> None:
        server.plan({"cmd": "dance"}, {"cmd": None}, {}, OFFER)

        phone.sync()

        assert phone.state.ids_in(NEW) == [90311]

    def test_a_lost_reply_is_asked_for_once_more_with_the_same_bytes(
        self, server: ScriptedServer, phone: Phone
    ) -> None:
        server.lose()
        phone.sync()
        first, second = server.requests

        server.lose()
        server.lose()
        with pytest.raises(NoReply):
            phone.sync()

        assert first == second


class TestSending:
    def test_new_and_handed_over_are_pending_and_failed_tries_are_retried(
        self, server: ScriptedServer, phone: Phone
    ) -> None:
        recipients = [{"phone": "+250788000111", "id": number} for number in (1, 2, 3)]
        server.plan({**OFFER, "to": recipients[:2]})
        phone.sync()
        phone.run_sender()
        phone.send_result(2, is_sent=False)
        server.plan({**OFFER, "to": recipients[2:]})
        phone.sync()

        phone.sync()

        assert (server.status()["pending"], server.status()["retry"]) == ([1, 3], [2])

    def test_the_tenth_error_makes_it_failed_after_103_minutes(
        self, server: ScriptedServer, phone: Phone, clock: PhoneClock
    ) -> None:
        server.plan(OFFER)
        phone.sync()
        began = clock.now_ms
        message = phone.state.messages[90311]
        while message.state != FAILED:
            if phone.run_sender():
                phone.send_result(90311, is_sent=False)
            clock.advance(0 if message.state == FAILED else 60)

        phone.sync()

        assert (message.tries, (clock.now_ms - began) // 60_000) == (10, 103)
        assert names(server) == ["mt_fail"]

    def test_a_message_without_result_is_taken_for_sent_after_86_seconds(
        self, server: ScriptedServer, phone: Phone, clock: PhoneClock
    ) -> None:
        server.plan(OFFER)
        phone.sync()
        phone.run_sender()
        clock.advance(86.4)
        phone.run_sender()
        before = phone.state.messages[90311].state
        clock.advance(0.1)

        phone.run_sender()

        assert (before, phone.state.messages[90311].state) == (HANDED_OVER, SENT)
        assert phone.state.messages[90311].copies == 0

    @pytest.mark.parametrize("state", [NEW, HANDED_OVER, RETRY])
    def test_an_offer_of_something_in_work_changes_nothing(
        self, server: ScriptedServer, phone: Phone, state: str
    ) -> None:
        server.plan(OFFER)
        phone.sync()
        phone.state.messages[90311].state = state
        server.plan(OFFER)

        phone.sync()

        assert (phone.state.messages[90311].state, phone.state.queue) == (state, [])

    @pytest.mark.parametrize(("state", "reports"), [(SENT, ["mt_sent"]), (DELIVERED, ["mt_sent", "mt_dlvd"])])
    def test_an_offer_of_something_finished_is_reported_again_and_not_sent(
        self, server: ScriptedServer, phone: Phone, state: str, reports: list[str]
    ) -> None:
        server.plan(OFFER)
        phone.sync()
        phone.state.messages[90311].state = state
        server.plan(OFFER)
        phone.sync()

        phone.sync()

        assert names(server) == reports
        assert phone.run_sender() == []

    def test_an_offer_of_something_failed_is_tried_anew(self, server: ScriptedServer, phone: Phone) -> None:
        server.plan(OFFER)
        phone.sync()
        phone.state.messages[90311].state, phone.state.messages[90311].tries = FAILED, 10
        server.plan(OFFER)

        phone.sync()

        assert (phone.run_sender(), phone.state.messages[90311].tries) == ([90311], 0)


class TestLagging:
    @pytest.fixture
    def phone(self, server: ScriptedServer, clock: PhoneClock) -> Phone:
        """A claimed phone that runs one reply behind."""
        return working_phone(server, clock, is_lagging=True)

    def test_the_first_request_of_a_process_is_sent_twice(self, server: ScriptedServer, phone: Phone) -> None:
        phone.sync()
        phone.sync()
        in_first_process = len(server.requests)
        phone.restart()

        phone.sync()

        assert (in_first_process, len(server.requests)) == (3, 5)
        assert server.requests[0] == server.requests[1]

    def test_an_answer_takes_effect_one_sync_later(self, server: ScriptedServer, phone: Phone) -> None:
        phone.sync()
        server.plan(OFFER)
        phone.sync()
        at_once = phone.state.ids_in(NEW)

        phone.sync()

        assert (at_once, phone.state.ids_in(NEW)) == ([], [90311])

    def test_an_ack_is_matched_in_the_payload_of_the_next_sync(self, server: ScriptedServer, phone: Phone) -> None:
        phone.sync()
        phone.receive_sms("+250788000111", "hello")
        number = phone.state.queue[0]["p_id"]
        server.plan({"cmd": "ack", "p_id": number})
        phone.sync()

        phone.sync()

        assert names(server) == ["mo_sms"]
        assert phone.state.queue == []

    def test_refusals_are_sent_twice_and_their_bodies_never_read(self, server: ScriptedServer, phone: Phone) -> None:
        phone.sync()
        server.refuse(401, 1)
        server.refuse(401, 1)

        phone.sync()

        assert len(server.requests) == 4
        assert phone.state.secret is not None

    def test_a_lost_reply_runs_the_one_before_again(self, server: ScriptedServer, phone: Phone) -> None:
        phone.sync()
        server.plan(OFFER)
        phone.sync()
        phone.sync()
        phone.send_result(90311)
        server.plan(OFFER)
        phone.sync()
        server.lose()

        phone.sync()

        assert json.loads(server.requests[-1][2])["cmds"][2]["cmd"] == "mt_sent"
        assert phone.state.messages[90311].copies == 1


IDENTITY = {"cmd": "fcm", "fcm_id": "tok-A1", "uuid": "3f0c1a52-8b7e-4d19-9a60-5c2f7be0d411", "p_id": 1}


class TestWriteBody:
    def test_slashes_are_escaped_and_other_characters_are_not(self) -> None:
        sms = {"cmd": "mo_sms", "phone": "+250788000111", "ts": 1767225612345, "msg": "1/2 kg, café ☕", "p_id": 2}

        body = write_body([IDENTITY, sms])

        assert len(body) == 193
        assert sign_body(SECRET, "1767225620", body) == "T1zsoy5JcbRrEq2eJrJhmFrU_V5koYkH5qOKwt16n70="

    def test_keys_without_a_value_are_left_out(self) -> None:
        assert write_body([{"cmd": "call", "phone": None}]) == b'{"cmds":[{"cmd":"call"}]}'

    def test_the_smallest_body_has_the_published_signature(self) -> None:
        assert sign_body(SECRET, "1767225600", write_body([IDENTITY])) == "okQJQmliz-kSbmajKkvBvvEXan4PpUhoxFjfoJ0oTL4="


class TestState:
    def test_a_saved_phone_is_the_same_after_loading(self, tmp_path: Path) -> None:
        state = PhoneState(relayer_id=4021, queue=[{"cmd": "mo_sms", "p_id": 3}], next_number=4)
        state.messages[90311] = HeldMessage(90311, "+250788000111", "Clinic opens at 8", copies=1)
        path = tmp_path / "deeper" / "phone.json"

        save_state(path, state)

        assert load_state(path) == state

    def test_without_a_file_it_is_a_new_phone_of_its_own(self, tmp_path: Path) -> None:
        one, other = load_state(tmp_path / "one.json"), load_state(tmp_path / "other.json")

        assert one.relayer_id is None
        assert one.device_uuid != other.device_uuid

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"[]", b"{}", b'{"messages":[]}', b'{"messages":{},"a":1}', b"\xff"]
    )
    def test_a_file_that_is_no_state_is_refused_and_kept(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "phone.json"
        path.write_bytes(content)

        with pytest.raises(CommandFailed, match=r"phone\.json is not the state of a phone: delete it or give another"):
            load_state(path)

        assert path.read_bytes() == content

    def test_a_phone_that_dies_while_saving_keeps_its_last_state(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "phone.json"
        save_state(path, PhoneState(relayer_id=1))

        def die(*_arguments: object) -> str:
            raise KeyboardInterrupt

        monkeypatch.setattr(json, "dumps", die)
        with pytest.raises(KeyboardInterrupt):
            save_state(path, PhoneState(relayer_id=2))

        assert load_state(path).relayer_id == 1
