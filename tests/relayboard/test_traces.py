"""Traces of a real API process and a real worker, as a collector gets them."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from persistence.deliveries.outbox import record_channel_event
from relayboard.base.settings import SettingError, load_settings
from relayboard.base.tracing import is_tracing, span, tracing
from testbed.patience import PATIENCE_SECONDS
from testbed.running import running_service, wait_until
from tests.channel_rows import add_channel

CLIENTS_TRACE = "0af7651916cd43dd8448eb211c80319c"
SERVER, CLIENT = 2, 3


@dataclass(slots=True)
class Collector:
    """Spans as they came: name, with kind, trace and attributes, those of the process among them."""

    url: str = ""
    spans: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def take(self, body: bytes) -> None:
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = plain(of_process.resource.attributes)
            for scope in of_process.scope_spans:
                for each in scope.spans:
                    told = {"kind": each.kind, "trace": each.trace_id.hex(), "status": each.status.code}
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


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_requests_and_calls_to_the_outside_are_traced_and_looks_at_nothing_are_not(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector:
        for name, text in {"EXPORTER_OTLP_ENDPOINT": collector.url, "BSP_SCHEDULE_DELAY": "100"}.items():
            monkeypatch.setenv(f"OTEL_{name}", text)
        with running_service(database_url, tmp_path, TRACES="on") as service:
            headers = {"Authorization": f"Token {service.token}", "X-Request-Id": "told-by-the-client"}
            headers["traceparent"] = f"00-{CLIENTS_TRACE}-b7ad6b7169203331-01"
            requests.get(f"{service.url}/api/v2/labels.json", headers=headers, timeout=PATIENCE_SECONDS)
            channel_id = add_channel(service.database, service.workspace, webhook_url=f"{collector.url}/hook")
            with service.database.writing() as tx:
                record_channel_event(tx, service.workspace.id, channel_id, "mo_sms", {"text": "hello"})
            wait_until(lambda: collector.named("POST"), "the call of the webhook")
            assert service.stop("worker") == service.stop("api") == 0

    (request,) = collector.named("GET /api/v2/labels.json")
    assert (request["trace"], request["kind"], request["http.response.status_code"]) == (CLIENTS_TRACE, SERVER, 200)
    assert request["relayboard.request_id"] == "told-by-the-client"
    assert request["service.name"] == "relayboard" and request["service.instance.id"].startswith("api-")
    call = collector.named("POST")[0]
    assert (call["kind"], call["server.address"]) == (CLIENT, "127.0.0.1")
    assert call["service.instance.id"].startswith("worker-")
    assert [name for name, told in collector.spans if "health" in name or "relayboard.left_out" in told] == []


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
    loaded = "any(name.startswith('opentelemetry.exporter') for name in sys.modules)"
    program = f"import relayboard.api_process, worker.process, sys; sys.exit({loaded})"

    assert subprocess.run([sys.executable, "-c", program]).returncode == 0
