"""Traces of a real API process and a real worker, as a collector gets them."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from relayboard.base.settings import SettingError, load_settings
from relayboard.base.tracing import carried, caused_by, is_tracing, span, step_span, tracing
from testbed.forked import fork
from testbed.gateways import add_gateway
from testbed.patience import PATIENCE_SECONDS
from testbed.running import forked_service, wait_until
from tests.relayboard.loaded import count_loaded

MOST_TRIES = 10
CLIENTS_TRACE = "0af7651916cd43dd8448eb211c80319c"
SERVER, CLIENT = 2, 3


@dataclass(slots=True)
class Collector:
    """Spans as they came: name, with kind, trace and attributes, those of the process among them; and a gateway, which
    counts its calls.
    """

    url: str = ""
    calls: int = 0
    spans: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = plain(of_process.resource.attributes)
            for scope in of_process.scope_spans:
                for each in scope.spans:
                    told = {"kind": each.kind, "trace": each.trace_id.hex(), "status": each.status.code}
                    told |= {"span": each.span_id.hex(), "parent": each.parent_span_id.hex()}
                    told["links"] = [link.trace_id.hex() for link in each.links]
                    self.spans.append((each.name, about | plain(each.attributes) | told))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [told for given, told in list(self.spans) if given == name]


def plain(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path == "/v1/traces":
                collector.take(body)
            else:
                collector.calls += 1
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_arguments: object) -> None:
            return None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True, slots=True)
class Followed:
    """A request and the later work of a broadcast, by the spans that a collector was sent."""

    collector: Collector
    request: dict[str, Any]
    broadcast: dict[str, Any]
    call: dict[str, Any]


def has_called(collector: Collector, times: int) -> bool:
    return collector.calls >= times


def has_told(collector: Collector, times: int) -> bool:
    return len(collector.named("POST")) >= times


def find_call(collector: Collector) -> list[dict[str, Any]]:
    """Calls of the gateway in the trace of the client."""
    return [each for each in collector.named("POST") if each["trace"] == CLIENTS_TRACE]


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Followed:
    folder = tmp_path_factory.mktemp("service")
    with collecting() as collector, pytest.MonkeyPatch.context() as patch:
        # The exporter drops what a slow machine does not take within its timeout, and gives the rest up with it.
        patience = {"EXPORTER_OTLP_TIMEOUT": f"{PATIENCE_SECONDS:.0f}", "BSP_SCHEDULE_DELAY": "100"}
        for name, text in {"EXPORTER_OTLP_ENDPOINT": collector.url, **patience}.items():
            patch.setenv(f"OTEL_{name}", text)
        with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder, TRACES="on") as service:
            add_gateway(service.database, service.workspace, f"{collector.url}/gateway")
            headers = {"Authorization": f"Token {service.token}", "X-Request-Id": "told-by-the-client"}
            trace = {"traceparent": f"00-{CLIENTS_TRACE}-b7ad6b7169203331-01"}
            requests.get(f"{service.url}/api/v2/labels.json", headers=headers | trace, timeout=PATIENCE_SECONDS)
            # On a busy machine a look for lost work may come before the wake-up: such work begins a trace of its own.
            for number in range(1, MOST_TRIES + 1):
                service.post("/api/v2/broadcasts.json", {"urns": ["tel:+250788000111"], "text": "hello"}, **trace)
                wait_until(partial(has_called, collector, number), "the call of the gateway")
                wait_until(partial(has_told, collector, number), "the span of the call")
                if find_call(collector):
                    break
            assert service.stop("worker") == service.stop("api") == 0
    (request,) = collector.named("GET /api/v2/labels.json")
    call = find_call(collector)[0]
    causes = {each["parent"] for each in collector.named("job broadcasts") if each["span"] == call["parent"]}
    (broadcast,) = (each for each in collector.named("POST /api/v2/broadcasts.json") if each["span"] in causes)
    return Followed(collector, request, broadcast, call)


def test_requests_and_calls_to_the_outside_are_traced_and_looks_at_nothing_are_not(followed: Followed) -> None:
    request, call = followed.request, followed.call
    assert (request["trace"], request["kind"], request["http.response.status_code"]) == (CLIENTS_TRACE, SERVER, 200)
    assert request["relayboard.request_id"] == "told-by-the-client"
    assert request["service.name"] == "relayboard" and request["service.instance.id"].startswith("api-")
    assert (call["kind"], call["server.address"]) == (CLIENT, "127.0.0.1")
    assert call["service.instance.id"].startswith("worker-")
    assert [name for name, told in followed.collector.spans if "health" in name or "relayboard.left_out" in told] == []


def test_later_work_of_a_request_is_in_its_trace_though_other_processes_do_it(followed: Followed) -> None:
    jobs = followed.collector.named("job broadcasts")
    expansions = [each for each in jobs if each["parent"] == followed.broadcast["span"]]

    assert expansions and followed.call["trace"] == followed.broadcast["trace"] == CLIENTS_TRACE
    assert followed.call["parent"] in {each["span"] for each in expansions}
    assert {each["service.instance.id"].partition("-")[0] for each in expansions} == {"worker"}


def test_one_cause_is_the_parent_and_several_are_linked() -> None:
    one, other = (f"00-{digit * 32}-{digit * 16}-01" for digit in "ab")
    settings = load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use", "RELAYBOARD_TRACES": "on"})
    with collecting() as collector, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        with tracing(settings, "worker"):
            with caused_by((one,)), step_span("short, of one", 10):
                (handed_on,) = carried()
            with caused_by((one, other)), step_span("short, of two", 10):
                pass
            with step_span("short, of none", 10):
                pass

    (of_one,), (of_two,) = collector.named("short, of one"), collector.named("short, of two")
    assert (of_one["trace"], of_one["parent"], of_one["links"]) == ("a" * 32, "a" * 16, [])
    assert handed_on == f"00-{'a' * 32}-{of_one['span']}-01"
    assert (of_two["parent"], of_two["links"]) == ("", ["a" * 32, "b" * 32])
    assert not collector.named("short, of none")


def test_a_span_is_worth_nothing_while_traces_are_off() -> None:
    settings = load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})
    with tracing(settings, "api"), span("anything") as opened:
        opened.note(http_route="/")
        opened.fail("it did")
        opened.leave_out()

        assert not is_tracing()


def test_traces_without_their_packages_are_refused_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    settings = load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use", "RELAYBOARD_TRACES": "on"})

    with (
        pytest.raises(SettingError, match=r"RELAYBOARD_TRACES cannot be used: .*relayboard\[traces\]"),
        tracing(settings, "api"),
    ):
        raise AssertionError("it went on without")


def test_nothing_of_traces_is_loaded_where_they_are_off() -> None:
    # Clients of databases load parts of it by themselves, where it is installed.
    assert fork(count_loaded, "opentelemetry.exporter", environment=os.environ).wait() == 0
