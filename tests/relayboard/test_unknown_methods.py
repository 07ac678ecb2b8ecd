"""Methods that HTTP libraries know and do not know, over real connections."""

import socket
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, forked_service

METHODS = ["FOO", "get", "PATCH", "PROPFIND", "TRACE", "M-SEARCH", "X!"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder: Path = tmp_path_factory.mktemp("methods")
    with forked_service(f"sqlite:///{folder / 'relayboard.db'}", folder) as running:
        yield running


def talk(service: RunningService, request: str) -> tuple[str, dict[str, str], bytes]:
    """The status line, headers and body of the answer to a request as it is written."""
    host, _, port = service.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as connection:
        connection.sendall(request.encode("latin-1"))
        head, _, body = b"".join(iter(lambda: connection.recv(65536), b"")).partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    return status, {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}, body


@pytest.mark.parametrize("method", METHODS)
def test_an_unknown_method_is_a_405_that_says_what_there_is(service: RunningService, method: str) -> None:
    head = f"Host: localhost\r\nAuthorization: Token {service.token}\r\nConnection: close\r\n\r\n"

    status, headers, body = talk(service, f"{method} /api/v2/labels.json?x=1 HTTP/1.1\r\n{head}")

    assert status == "HTTP/1.1 405 Method Not Allowed"
    assert headers["allow"] == "DELETE, GET, HEAD, POST"
    assert headers["content-type"] == "application/json"
    assert orjson.loads(body) == {"detail": "This method is not available here.", "code": "method_not_allowed"}


def test_what_is_no_request_stays_a_400(service: RunningService) -> None:
    assert talk(service, "no request at all\r\n\r\n")[0] == "HTTP/1.1 400 Bad Request"
