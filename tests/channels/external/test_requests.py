"""The requests that send messages to HTTP gateways."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree.ElementTree import fromstring

import pytest

from channels.calls import Attachment, Later, Message, QuickReply, Request, Response, Sent
from channels.sms import split_text
from channels.types import TYPES

MESSAGE_UUID = "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21"
URL = "https://gateway.example.org/send?to={{to_no_plus}}"
EXTERNAL = TYPES["external"]


def message_with(text: str = "Kaze & ikaze", **values: Any) -> Message:
    usual = {"to": "+250788000111", "address": "+250788000000"}
    return Message(uuid=MESSAGE_UUID, id=7, channel_id=3, text=text, **{**usual, **values})


def requests_of(message: Message, **settings: Any) -> list[Request]:
    return list(EXTERNAL.requests(message, {"send_url": URL, **settings}))


def requests_with(text: str = "Kaze & ikaze", **settings: Any) -> list[Request]:
    return requests_of(message_with(text), **settings)


class TestRequests:
    def test_the_usual_body_is_a_form_of_all_variables(self) -> None:
        (request,) = requests_with()

        form = parse_qs((request.body or b"").decode())
        assert form["text"] == ["Kaze & ikaze"]
        assert (form["id"], form["to"], form["from_no_plus"]) == (["7"], ["+250788000111"], ["250788000000"])
        assert urlsplit(request.url).query == "to=250788000111"

    def test_json_values_bring_their_own_quotes(self) -> None:
        (request,) = requests_with('say "hi"', content_type="json", body='{"t": "{{text}}", "n": {{id}}}')

        assert request.body == b'{"t": "say \\"hi\\"", "n": "7"}'

    def test_json_values_amid_a_longer_text_bring_none(self) -> None:
        body = '{"a": "To {{to}}: \\"{{text}}\\"", "b": "{{text}}", "c": {{quick_replies}}, "d": "{{quick_replies}}"}'
        (request,) = requests_with('say "hi"', content_type="json", body=body)

        assert json.loads(request.body or b"") == {
            "a": 'To +250788000111: "say "hi""',
            "b": 'say "hi"',
            "c": [],
            "d": [],
        }

    def test_values_fit_into_attributes_of_xml(self) -> None:
        body = '<sms to="{{to}}" text="{{text}}"/>'
        (request,) = requests_with('a "b" & <c>', content_type="xml", body=body)

        assert fromstring((request.body or b"").decode()).attrib == {"to": "+250788000111", "text": 'a "b" & <c>'}

    def test_a_get_has_no_body(self) -> None:
        (request,) = requests_with(method="GET")

        assert (request.method, request.body) == ("GET", None)

    def test_long_texts_are_split_at_words(self) -> None:
        text = "word " * 100

        parts = split_text(text.strip(), 160)

        assert max(len(part) for part in parts) <= 160
        assert " ".join(parts) == text.strip()

    def test_a_part_is_cut_at_white_space_only_in_its_second_half(self) -> None:
        assert split_text("ж" * 9 + "👨‍👩‍👧" + "e\u0301" * 3, 10) == ["ж" * 9, "👨‍👩‍👧" + "e\u0301" * 2, "e\u0301"]
        assert split_text("e" + "\u0301" * 14, 10) == ["e" + "\u0301" * 9, "\u0301" * 5]
        assert split_text("กำ" * 3, 5) == ["กำ" * 2, "กำ"]
        assert split_text("abcd efghijklmnop", 10) == ["abcd efghi", "jklmnop"]
        assert split_text("abcde fghijklmnop", 10) == ["abcde", "fghijklmno", "p"]
        assert split_text("abcde\nfghijklmnop", 10) == ["abcde", "fghijklmno", "p"]
        assert split_text("abcdef hij klm", 10) == split_text("abcdef hij\nklm", 10) == ["abcdef hij", "klm"]

    def test_white_space_at_the_end_is_no_part_but_an_empty_text_is_one(self) -> None:
        assert split_text("abcdefghij   ", 10) == ["abcdefghij"]
        assert split_text("", 10) == [""]

    @pytest.mark.parametrize(("status", "accepted"), [(199, False), (200, True), (299, True), (300, False)])
    def test_a_part_is_accepted_by_a_status_of_2xx(self, status: int, accepted: bool) -> None:
        def is_accepted(body: bytes, **settings: Any) -> bool:
            outcome = EXTERNAL.accepted(Response(status, body=body), settings)
            assert isinstance(outcome, (Sent, Later))
            return isinstance(outcome, Sent)

        assert is_accepted(b"") is accepted
        assert not is_accepted(b"refused", mt_response_check="queued")
        assert is_accepted(b"is queued", mt_response_check="queued") is accepted

    def test_numbers_can_be_national(self) -> None:
        (request,) = requests_with(use_national=True, method="GET")

        assert request.url.endswith("to=788000111")

    def test_a_number_that_cannot_be_read_stays_as_it_is(self) -> None:
        (request,) = requests_of(message_with(to="HEALTH"), use_national=True, method="GET")

        assert request.url.endswith("to=HEALTH")

    def test_files_follow_the_text_line_by_line(self) -> None:
        files = tuple(Attachment("image/png", f"https://example.org/{each}") for each in "ab")

        for text, expected in (("Look", "Look\nhttps"), ("", "https")):
            message = message_with(text, attachments=files)
            (request,) = requests_of(message, body="{{text}}", content_type="text/plain")
            assert parse_qs(f"text={(request.body or b'').decode()}")["text"] == [
                f"{expected}://example.org/a\nhttps://example.org/b"
            ]

    def test_what_is_not_known_is_empty_and_choices_stand_side_by_side(self) -> None:
        message = message_with(address="", quick_replies=(QuickReply("Yes"), QuickReply("No")))
        filled = {"urlencoded": b"|Yes%2CNo|||", "xml": b"|Yes,No|||", "json": b'""|["Yes", "No"]|""|""|""'}

        for kind, expected in filled.items():
            body = "{{nothing}}|{{quick_replies}}|{{from}}|{{ from_no_plus }}|{{nothing}}"
            assert [each.body for each in requests_of(message, body=body, content_type=kind)] == [expected]

    def test_the_owner_says_how_a_request_looks(self) -> None:
        (request,) = requests_with(
            method="put", content_type="application/vnd.sms+json", body="{{text}}", send_authorization="Token abc"
        )

        assert (request.method, request.body) == ("PUT", b'"Kaze & ikaze"')
        assert request.headers["Content-Type"] == "application/vnd.sms+json"
        assert request.headers["Authorization"] == "Token abc"

    def test_a_gateway_takes_parts_of_the_length_that_its_owner_says(self) -> None:
        assert [len(requests_with("a" * length)) for length in (160, 161)] == [1, 2]
        assert [len(requests_with("a" * length, max_length=10)) for length in (10, 11, 21)] == [1, 2, 3]

    def test_each_part_has_a_stable_name_that_tells_it_from_the_others(self) -> None:
        body = "{{id}} {{part}}/{{parts}} {{part_id}}"

        first, second = requests_with("a" * 161, body=body, content_type="text/plain")

        assert (first.headers["Idempotency-Key"], second.headers["Idempotency-Key"]) == (
            f"{MESSAGE_UUID}-1",
            f"{MESSAGE_UUID}-2",
        )
        assert second.body == f"7 2/2 {MESSAGE_UUID}-2".encode()

    def test_other_headers_of_the_owner_leave_a_part_its_name(self) -> None:
        (request,) = requests_with(headers={"X-Account": "mine"})

        assert (request.headers["X-Account"], request.headers["Idempotency-Key"]) == ("mine", f"{MESSAGE_UUID}-1")

    def test_a_header_of_the_owner_with_that_name_stays(self) -> None:
        (request,) = requests_with(headers={"idempotency-key": "mine"})

        assert request.headers == {"idempotency-key": "mine", "Content-Type": "application/x-www-form-urlencoded"}
