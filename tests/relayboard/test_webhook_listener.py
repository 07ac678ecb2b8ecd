"""The receiver of webhooks for developers: events are shown, and what is no event is refused in one line."""

import http.client
from collections.abc import Iterator
from typing import Any

import pytest

from relayboard.commands.printing import as_json
from relayboard.webhook_listener import JSON, WebhookListener
from testbed.patience import PATIENCE_SECONDS

FORM = "application/x-www-form-urlencoded"


class Receiver:
    """A listener, and what it has shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.listener = WebhookListener(0, lambda event: self.shown.append(as_json(event["event"])))
        self.listener.start()

    def post(self, body: bytes, **headers: str) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.listener.port, timeout=PATIENCE_SECONDS)
        connection.putrequest("POST", "/")
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders(body)
        answer = connection.getresponse()
        said = answer.status, answer.read().decode()
        connection.close()
        return said


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.listener.stop()


@pytest.mark.parametrize(
    ("kind", "body", "shown"),
    [(FORM, b"a=1&b=2&b=&c=%C3%A9", '{"a":"1","b":["2",""],"c":"é"}'), (JSON, b"[1]", '{"body":[1]}')],
)
def test_a_form_or_json_is_shown(receiver: Receiver, kind: str, body: bytes, shown: str) -> None:
    assert receiver.post(body, Content_Type=kind) == (200, "")
    assert receiver.shown == [shown]


@pytest.mark.parametrize(
    ("headers", "body", "reason"),
    [
        ({"Content_Type": FORM}, b"text=\xff", "its body is not UTF-8"),
        ({"Content_Type": JSON}, b'{"text":', "its body is not JSON"),
        ({"Content_Type": JSON}, b'"\xff"', "its body is not JSON"),
        ({"Content_Type": JSON}, b'"\\ud800"', "its body is not JSON"),
        ({"Content_Type": JSON}, b"[" * 100_000, "its body is not JSON"),
        *(
            ({"Content_Length": length}, b"", "its Content-Length is not a number of bytes")
            for length in ("many", "-5", "", "1_0", "9" * 5000)
        ),
    ],
)
def test_what_is_no_event_is_refused_in_one_line(
    receiver: Receiver, capfd: pytest.CaptureFixture[str], headers: dict[str, Any], body: bytes, reason: str
) -> None:
    assert receiver.post(body, **headers) == (400, f"Refused: {reason}.\n")
    assert capfd.readouterr().err == f"A request was refused: {reason}.\n"
    assert receiver.shown == []
