"""Phones over HTTP: SMS and calls that come in (relayer protocol, 8 and 12)."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from tests.api import Api
from tests.phones import (
    claimed_phone,
    count_rows,
    repeat_last,
)

NOW_MS = 1772438400000

BOTH_MODES = pytest.mark.parametrize("is_lagging", [False, True], ids=["classic", "lagging"])


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
        assert messages[0]["segments"] == 1
        assert messages[0]["created_on"] == "2026-03-02T08:00:00.000000Z"
        assert phone.state.queue == []

    def test_the_identical_request_again_changes_nothing(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.receive_sms("0788000111", "hello", NOW_MS)
        phone.log_call("mo_miss", "0788000222", at_ms=NOW_MS)
        phone.sync()

        again = repeat_last(phone)

        assert again.document["cmds"][0]["extra"] == {"msg_id": api.results("/api/v2/messages.json")[0]["id"]}
        assert (count_rows(api.database, message), count_rows(api.database, channel_event)) == (1, 1)

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("number", "path"),
        [
            *(("0788383383", "+250788383383"), ("250788383383", "+250788383383"), ("5080", "5080"), ("MTN", "mtn")),
            *(
                ("٠٧٨٨٣٨٣٣٨٣", "+250788383383"),
                ("＋２５０ ７８８ ３８３３８３", "+250788383383"),
                ("\u202a+250788383383\u202c", "+250788383383"),
            ),
            *(
                ("МТС", "мтс"),
                ("ΔΕΗ", "δεη"),
                ("Ö3", "ö3"),
                ("O\u03083", "ö3"),
                ("Größe", "größe"),
                ("ธนาคาร", "ธนาคาร"),
            ),
            *(("-1", "unknown"), ("*", "unknown"), ("", "unknown"), ("☎", "unknown"), ("x" * 300, "x" * 64)),
        ],
    )
    def test_senders_are_normalized_with_the_country_of_the_phone(self, api: Api, number: str, path: str) -> None:
        phone = claimed_phone(api)
        phone.receive_sms(number, "hello")

        phone.sync()

        assert api.results("/api/v2/messages.json")[0]["urn"] == f"tel:{path}"

    @pytest.mark.together
    @pytest.mark.parametrize(
        "command",
        [
            {"cmd": "mo_sms", "phone": "0788000111"},
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

        assert (phone.state.queue, count_rows(api.database, message), count_rows(api.database, channel_event)) == (
            [],
            0,
            0,
        )

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

        assert (count_rows(api.database, message), phone.state.queue) == (1, [])

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
        assert count_rows(api.database, message) == 51


class TestCalls:
    def test_calls_become_channel_events(self, api: Api) -> None:
        phone = claimed_phone(api)
        phone.log_call("mo_call", "0788000111", 34)
        phone.log_call("mt_call", "0788000111", 0)
        phone.sync()

        events = api.results("/api/v2/channel_events.json")

        found = {event["type"]: event["extra"] for event in events}
        assert found == {"call-in": {"duration": 34}, "call-out-missed": {"duration": 0}}
