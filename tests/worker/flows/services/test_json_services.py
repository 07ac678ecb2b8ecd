"""JSON requests of flows to the services in the settings, with a real server."""

import json
import logging
from collections.abc import Sequence

import pytest

from flows.engine.services import ServiceError
from tests.worker.conftest import ON_SQLITE
from tests.worker.receivers import Receiver, Reply, answering_with
from worker.flows.services.services import JsonService
from worker.http.safe_http import RESPONSE_LIMIT_BYTES
from worker.runtime import Runtime

pytestmark = ON_SQLITE
KEY = "hidden-key"
FINE = Reply(200, b'{"a": 1}')
CUT = Reply(200, b'{"a": "%s"}' % (b"x" * RESPONSE_LIMIT_BYTES))


class Announced:
    """Counts how often the host is told of a call."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def ask(
    runtime: Runtime, url: str, key: str = KEY, delays: Sequence[float] = (0.0, 0.0), announced: Announced | None = None
) -> object:
    """What a service returned, or the error."""
    service = JsonService("the oracle", url, key, runtime, announced or Announced(), delays)
    try:
        return service.ask({"q": "é"}, {"X-Kind": "a"})
    except ServiceError as error:
        return str(error)


def test_a_question_is_json_with_the_key_of_the_service(runtime: Runtime, receiver: Receiver) -> None:
    receiver.respond = lambda _request: FINE

    assert [ask(runtime, receiver.url, key) for key in (KEY, "")] == [{"a": 1}, {"a": 1}]
    first, second = receiver.received
    assert json.loads(first.body) == {"q": "é"}
    sent = [first.headers[name] for name in ("content-type", "accept", "x-kind", "authorization")]
    assert sent == ["application/json", "application/json", "a", f"Bearer {KEY}"]
    assert "authorization" not in second.headers


@pytest.mark.parametrize(
    ("replies", "attempts", "found"),
    [
        ([FINE], 1, {"a": 1}),
        ([Reply(299, b"{}")], 1, {}),
        *[([Reply(status), FINE], 2, {"a": 1}) for status in (429, 500, 502, 503, 504)],
        *[
            ([Reply(status, b"{}"), FINE], 1, f"the oracle responded with status {status}")
            for status in (199, 300, 400, 404, 501)
        ],
        ([Reply(500), CUT, FINE], 3, {"a": 1}),
        ([Reply(500), Reply(404), FINE], 2, "the oracle responded with status 404"),
        ([Reply(429), Reply(500), Reply(503), FINE], 3, "the oracle responded with status 503"),
        ([CUT, CUT, CUT, FINE], 3, "the oracle could not be reached (its response was cut off)"),
        *[
            ([Reply(200, body), FINE], 1, "the oracle did not return a JSON object")
            for body in (b"", b"no JSON", b"[]", b"null")
        ],
    ],
)
def test_a_service_that_is_busy_is_asked_again(
    runtime: Runtime, receiver: Receiver, replies: list[Reply], attempts: int, found: object
) -> None:
    receiver.respond = lambda _request: replies[len(receiver.received) - 1]
    announced = Announced()

    assert ask(runtime, receiver.url, announced=announced) == found
    assert (len(receiver.received), announced.count) == (attempts, attempts)


def test_who_stops_asks_no_more(runtime: Runtime, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(500)
    runtime.stopping.set()

    assert ask(runtime, receiver.url) == "the oracle responded with status 500"
    assert len(receiver.received) == 1


def test_a_service_is_asked_once_if_it_may_not_know_repeats(runtime: Runtime, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(500)

    ask(runtime, receiver.url, delays=())

    assert len(receiver.received) == 1


@pytest.mark.parametrize(("host", "attempts", "kind"), [("127.0.0.1", 3, "connect"), ("10.0.0.1", 1, "address")])
def test_the_error_tells_neither_the_address_nor_the_key(
    runtime: Runtime, receiver: Receiver, host: str, attempts: int, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    receiver.stop()
    announced = Announced()

    with caplog.at_level(logging.DEBUG, "relayboard"):
        found = ask(runtime, f"http://{host}:{receiver.port}/", announced=announced)

    assert (found, announced.count) == (f"the oracle could not be reached ({kind})", attempts)
    assert [record.getMessage() for record in caplog.records if record.name == "relayboard.worker"] == [
        f"the oracle of flows could not be reached ({kind})"
    ]
    assert host not in caplog.text and KEY not in caplog.text
    assert repr(JsonService("the oracle", "http://hidden/", KEY, runtime, announced)) == "JsonService('the oracle')"


def test_a_connection_that_breaks_amid_an_answer_counts_as_none(runtime: Runtime) -> None:
    announced = Announced()
    with answering_with([b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"a": 1}']) as url:
        found = ask(runtime, url, announced=announced)

    assert (found, announced.count) == ("the oracle could not be reached (its response was cut off)", 3)
