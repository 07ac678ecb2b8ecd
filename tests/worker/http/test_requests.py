"""The bytes of a request, and where it goes."""

import pytest

from worker.http.errors import SendFailed
from worker.http.requests import read_target, write_request


@pytest.mark.parametrize(
    ("url", "origin", "name", "authority", "path"),
    [
        ("http://Example.org", (False, "example.org", 80), "example.org", "example.org", "/"),
        ("https://example.org:443/a?b=c#d", (True, "example.org", 443), "example.org", "example.org", "/a?b=c"),
        ("http://example.org:443/", (False, "example.org", 443), "example.org", "example.org:443", "/"),
        (
            "https://example.org.:8443/\u00e9 ".strip(),
            (True, "example.org.", 8443),
            "example.org",
            "example.org:8443",
            "/%C3%A9",
        ),
        ("http://[2001:DB8::1]:81/", (False, "2001:db8::1", 81), "2001:db8::1", "[2001:db8::1]:81", "/"),
        ("http://b\u00fccher.example/", (False, "xn--bcher-kva.example", 80), *["xn--bcher-kva.example"] * 2, "/"),
    ],
)
def test_a_url_leads_to_a_host_a_port_and_a_path(url, origin, name, authority, path):
    target = read_target(url)

    assert (target.origin, target.name, target.authority, target.path) == (origin, name, authority, path)
    assert (target.is_secure, target.host, target.port) == origin


def test_a_request_has_one_header_in_each_line_and_then_its_body():
    target = read_target("http://example.org:81/a?b")

    assert write_request("POST", target, {"X-A": "\xe9"}, b"body\r\n") == (
        b"POST /a?b HTTP/1.1\r\nHost: example.org:81\r\nContent-Length: 6\r\nUser-Agent: Relayboard\r\nAccept: */*\r\n"
        b"Accept-Encoding: identity\r\nX-A: \xe9\r\n\r\nbody\r\n"
    )


@pytest.mark.parametrize(
    ("method", "body", "has_length"), [("GET", None, False), ("GET", b"", True), ("PUT", None, True)]
)
def test_a_length_is_told_of_a_body_and_where_one_is_expected(method, body, has_length):
    request = write_request(method, read_target("http://example.org/"), {}, body)

    assert (b"\r\nContent-Length: 0\r\n" in request) is has_length


@pytest.mark.parametrize("name", ["Accept", "accept", "ACCEPT"])
def test_headers_of_the_caller_replace_those_of_the_service(name):
    request = write_request("GET", read_target("http://example.org/"), {name: "text/plain"}, None)

    assert request.lower().count(b"\r\naccept: ") == 1 and f"\r\n{name}: text/plain\r\n".encode() in request


@pytest.mark.parametrize("method", ["", "GET /x HTTP/1.1\r\nA:", "G T"])
def test_a_method_is_one_word(method):
    with pytest.raises(ValueError):
        write_request(method, read_target("http://example.org/"), {}, None)


def test_what_is_refused_is_refused_each_time():
    for _ in range(2):
        with pytest.raises(SendFailed):
            read_target("http://user@example.org/")
