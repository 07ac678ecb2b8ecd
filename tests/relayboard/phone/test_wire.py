"""What a phone sends, and what it stores in its file."""

import json
from pathlib import Path

import pytest

from relayboard.phone.state import HeldMessage, PhoneState, load_state, save_state
from relayboard.phone.wire import sign_body, write_body
from relayboard.refusal import CommandFailed
from tests.relayboard.phone.scripted_server import SECRET

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
