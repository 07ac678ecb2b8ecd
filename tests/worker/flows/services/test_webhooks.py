"""One webhook call of a flow, with its retries, as the service reports it to the engine."""

import time
from dataclasses import replace

import pytest

from flows.engine.services import WebhookReply, WebhookRequest
from persistence.workspaces.records import Workspace
from testbed.set_by_name import by_name
from tests.worker.conftest import ON_SQLITE
from tests.worker.flows.service_settings import with_settings
from tests.worker.receivers import Receiver, Reply
from worker.flows.services.services import FlowWebhooks, list_delays_seconds
from worker.runtime import Runtime

pytestmark = ON_SQLITE


class Calls:
    """Makes calls for a workspace, and counts how often the host is told of one."""

    def __init__(self, runtime: Runtime, workspace: Workspace) -> None:
        self.announced = 0
        self._service = FlowWebhooks(runtime, self._announce, workspace.id)

    def make(self, url: str, body: str = "", method: str = "POST", **headers: str) -> WebhookReply:
        return self._service.call(WebhookRequest(method, url, headers, body))

    def _announce(self) -> None:
        self.announced += 1


@pytest.fixture
def calls(runtime: Runtime, workspace: Workspace) -> Calls:
    return Calls(runtime, workspace)


@pytest.mark.parametrize(
    ("statuses", "retries", "status"),
    [
        ([200], 0, 200),
        *[([status, 200], 0, status) for status in (401, 404, 501)],
        ([500, 200], 1, 200),
        ([400, 502, 503, 200], 3, 200),
        ([500, 500, 500, 500, 200], 3, 500),
        ([500, 500, 500, 504, 200], 3, 504),
        ([503, 404, 200], 1, 404),
    ],
)
def test_the_answer_is_that_of_the_last_attempt(
    calls: Calls, receiver: Receiver, statuses: list[int], retries: int, status: int
) -> None:
    receiver.respond = lambda _request: Reply(statuses[len(receiver.received) - 1])
    began = time.monotonic()

    reply = calls.make(receiver.url)

    assert 1 <= reply.elapsed_ms <= round((time.monotonic() - began) * 1000)

    assert (reply.status_code, reply.retries, reply.problem, reply.is_oversized) == (status, retries, "", False)
    assert len(receiver.received) == calls.announced == retries + 1


def test_who_stops_tries_no_more(runtime: Runtime, calls: Calls, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(500)
    runtime.stopping.set()

    assert (calls.make(receiver.url).retries, len(receiver.received)) == (0, 1)


def test_what_was_sent_and_came_back_is_told_with_its_size_in_bytes(calls: Calls, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(201, "été \udcff".encode(errors="surrogateescape"), {"X-Kind": "b"})

    reply = calls.make(receiver.url, "thé", **{"X-Kind": "a", "": "nameless"})

    (request,) = receiver.received
    assert (request.body, request.headers["x-kind"]) == ("thé".encode(), "a")
    assert reply.request_trace == f"POST {receiver.url} HTTP/1.1\r\nX-Kind: a\r\n\r\nthé"
    first, *headers, empty, body = reply.response_trace.split("\r\n")
    assert (first, empty, body, reply.body) == ("HTTP/1.1 201", "", "été \ufffd", b"\xc3\xa9t\xc3\xa9 \xff")
    assert "X-Kind: b" in headers and (reply.headers or {})["X-Kind"] == "b"
    assert reply.request_bytes == len(reply.request_trace) + 1
    assert reply.response_bytes == len(reply.response_trace) + 2 + 2


def test_a_call_without_an_answer_is_tried_again_and_told_too(calls: Calls, receiver: Receiver) -> None:
    receiver.stop()

    reply = calls.make(receiver.url, "thé")

    trace = f"POST {receiver.url} HTTP/1.1\r\n\r\nthé"
    assert replace(reply, elapsed_ms=0) == WebhookReply(0, trace, retries=3, request_bytes=len(trace) + 1)
    assert calls.announced == 4


@pytest.mark.parametrize(
    ("url", "headers", "problem"),
    [
        ("http://10.0.0.1/", {}, "10.0.0.1"),
        ("mailto:amina@example.org", {}, "URL"),
        ("http://127.0.0.1:9/", {"X-Kind": "a\nb"}, "header"),
    ],
)
def test_what_may_not_be_called_is_not_tried_again(
    calls: Calls, url: str, headers: dict[str, str], problem: str
) -> None:
    reply = calls.make(url, method="GET", **headers)

    assert (reply.status_code, reply.retries, calls.announced) == (0, 0, 1)
    assert problem in reply.problem


def test_nobody_is_told_of_a_call_to_a_blocked_domain(runtime: Runtime, workspace: Workspace) -> None:
    calls = Calls(with_settings(runtime, **by_name(FLOW_BLOCKED_DOMAINS="example.org")), workspace)

    assert calls.make("http://www.example.org/") == WebhookReply(0, "", blocked_hostname="www.example.org")
    assert calls.announced == 0


@pytest.mark.parametrize(
    ("delays", "used"),
    [
        ("0,0.5,900", [0.0, 0.5, 4.0]),
        ("10,120,900", [0.25, 1.0, 4.0]),
        ("0.1", [0.1]),
        ("10,0.5", [0.25, 0.5]),
    ],
)
def test_a_contact_waits_for_short_delays_only(runtime: Runtime, delays: str, used: list[float]) -> None:
    assert list_delays_seconds(with_settings(runtime, **by_name(WEBHOOK_RETRY_DELAYS_SECONDS=delays))) == used
