"""The bytes of a request, and where it goes."""

import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network

import pytest
import requests
import trustme

from relayboard.base.certificates import explain_tls
from relayboard.base.settings import load_settings
from testbed.patience import PATIENCE_SECONDS
from testbed.set_by_name import KEY, by_name
from tests.certificates import self_signed
from tests.worker.receivers import Reply, answering_with, receiving
from worker.http.connections import SendFailed
from worker.http.safe_http import URL_LENGTH, SafeHttp, check_url, read_target, write_request
from worker.runtime import open_http

LOOPBACK = (ip_network("127.0.0.0/8"),)


@pytest.fixture
def door():
    return SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=PATIENCE_SECONDS)


@pytest.fixture
def hasty():
    return SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=0.2)


def failure(door, url):
    with pytest.raises(SendFailed) as caught:
        door.post(url, b"x", {})
    return caught.value


class TestWhatIsSent:
    def test_body_and_headers_arrive_as_given(self, door):
        with receiving(lambda request: Reply(201, b'{"ok":1}', {"X-Seen": "yes"})) as receiver:
            answer = door.post(receiver.url, b"a=1&b=%20", {"Content-Type": "application/x-www-form-urlencoded"})

        assert (answer.status, answer.body, answer.headers["x-seen"]) == (201, b'{"ok":1}', "yes")
        assert answer.is_complete and answer.duration_seconds > 0
        (request,) = receiver.received
        assert request.body == b"a=1&b=%20"
        assert request.headers["content-type"] == "application/x-www-form-urlencoded"
        assert request.headers["user-agent"] == "Relayboard"

    def test_the_urls_own_parameters_are_kept(self, door):
        query = "token=a%2Bb%3D&list=1&list=2&empty=&flag"
        with receiving() as receiver:
            door.post(f"{receiver.url}?{query}#part", b"", {})

        assert receiver.received[0].path == f"/hook?{query}"

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("Host", "a"),
            ("content-length", "3"),
            ("Transfer-Encoding", "chunked"),
            ("Connection", "close"),
            ("Expect", "100-continue"),
            ("X-Note", "a\r\nHost: b"),
            ("X-Note", "a\nb"),
            ("X-Note", "a\x00b"),
            ("X-Note", "\u0436"),
            ("X Note", "a"),
            ("X-Note: a\r\nHost", "b"),
            ("", "a"),
        ],
    )
    def test_headers_that_would_change_how_a_request_travels_are_refused_unsent(self, door, name, value):
        with receiving() as receiver, pytest.raises(SendFailed) as caught:
            door.send("POST", receiver.url, headers={name: value}, body=b"x")

        assert caught.value.kind == "header"
        assert receiver.received == []

    def test_events_are_never_sent_with_an_authorization_header(self, door, tmp_path, monkeypatch):
        netrc = tmp_path / "netrc"
        netrc.write_text("machine 127.0.0.1 login someone password secret")
        monkeypatch.setenv("NETRC", str(netrc))
        with receiving() as receiver:
            door.post(receiver.url, b"", {})

        assert "authorization" not in receiver.received[0].headers
        with pytest.raises(ValueError, match="Authorization"):
            door.post(receiver.url, b"", {"authorization": "Basic x"})

    def test_proxies_of_the_environment_are_not_used(self, door, monkeypatch):
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        with receiving() as receiver:
            assert door.post(receiver.url, b"", {}).status == 200

    def test_a_cookie_is_not_sent_back(self, door):
        with receiving(lambda request: Reply(headers={"Set-Cookie": "a=b"})) as receiver:
            door.post(receiver.url, b"", {})
            door.post(receiver.url, b"", {})

        assert "cookie" not in receiver.received[1].headers

    def test_other_methods_may_carry_headers_of_their_owners(self, door):
        with receiving() as receiver:
            door.send("GET", receiver.url, headers={"Authorization": "Token t"})

        assert receiver.received[0].headers["authorization"] == "Token t"


class TestAddresses:
    def test_the_private_network_is_refused_unless_allowed(self):
        with receiving() as receiver:
            error = failure(SafeHttp(), receiver.url)

        assert (error.kind, error.sentence) == (
            "address",
            "127.0.0.1 is in a network that this service may not call.",
        )
        assert receiver.received == []

    @pytest.mark.parametrize("host", ["localhost", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0"])
    def test_other_ways_to_write_the_own_machine_are_refused(self, host):
        assert failure(SafeHttp(), f"http://{host}:9/").kind == "address"

    def test_the_address_that_was_checked_is_the_one_called(self):
        answers = [["127.0.0.1"], ["10.0.0.1"]]
        door = SafeHttp(allowed_networks=LOOPBACK, resolve=lambda host, port: answers.pop(0))
        with receiving() as receiver:
            door.post(f"http://rebinding.example:{receiver.port}/", b"", {})

        assert receiver.received[0].headers["host"] == f"rebinding.example:{receiver.port}"
        assert answers == [["10.0.0.1"]]

    def test_of_several_addresses_the_permitted_ones_are_tried_in_turn(self):
        door = SafeHttp(allowed_networks=LOOPBACK, resolve=lambda host, port: ["10.0.0.1", "127.9.9.9", "127.0.0.1"])
        with receiving() as receiver:
            assert door.post(f"http://many.example:{receiver.port}/", b"", {}).status == 200

    def test_only_the_named_ports_are_called(self):
        with receiving() as named, receiving() as other:
            ports = by_name(WEBHOOK_ALLOWED_PORTS=f"{named.port}, 80", WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8")
            door = open_http(replace(load_settings(KEY), **ports))

            assert door.post(named.url, b"", {}).status == 200
            assert failure(door, other.url).sentence == f"Port {other.port} is not one that this service may call."
            assert failure(door, "https://127.0.0.1/").kind == "address"
        assert other.received == []

    def test_a_redirect_is_an_answer_and_not_followed(self, door):
        with receiving() as target, receiving(lambda _: Reply(302, headers={"Location": target.url})) as receiver:
            assert door.post(receiver.url, b"", {}).status == 302

        assert target.received == []


class TestLimits:
    def test_a_body_is_read_up_to_the_limit(self):
        door = SafeHttp(allowed_networks=LOOPBACK, response_limit_bytes=10)
        with receiving(lambda request: Reply(body=b"x" * (10 if request.body else 11))) as receiver:
            exact, longer = door.post(receiver.url, b"1", {}), door.post(receiver.url, b"", {})

        assert (exact.body, exact.is_complete) == (b"x" * 10, True)
        assert (longer.body, longer.is_complete) == (b"x" * 10, False)

    def test_a_silent_receiver_ends_with_the_time_limit(self, hasty):
        silence = threading.Event()
        with receiving(lambda request: Reply() if silence.wait(PATIENCE_SECONDS) else Reply(500)) as receiver:
            error = failure(hasty, receiver.url)
            silence.set()

        assert (error.kind, error.sentence) == ("timeout", "127.0.0.1 did not respond within 0.2 seconds.")

    def test_a_receiver_that_trickles_headers_ends_with_the_time_limit(self, hasty):
        with answering_with([b"HTTP/1.1 200 OK\r\n"] + [b"X-A: b\r\n"] * 90, pause_seconds=0.05) as url:
            assert failure(hasty, url).kind == "timeout"

    def test_the_time_limit_holds_for_each_request_of_a_connection(self, hasty):
        pieces = iter([b"HTTP/1.1 200 OK\r\n"] + [b"X-A: b\r\n"] * 90)
        with answering_with(pieces, 0.05, first=b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as url:
            assert hasty.post(url, b"", {}).status == 200
            assert failure(hasty, url).kind == "timeout"

        assert next(pieces, None) is not None, "nobody listens to the end"

    def test_a_body_that_breaks_off_does_not_undo_the_status(self):
        door = SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=2)
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"
        with answering_with([head] + [b"x"] * 50, pause_seconds=0.1) as url:
            answer = door.post(url, b"", {})

        assert (answer.status, answer.is_complete) == (200, False)

    def test_a_connection_is_kept_for_the_next_request(self, door):
        asked = []
        door.resolve = lambda host, port: asked.append(host) or ["127.0.0.1"]
        with receiving() as receiver:
            for _ in range(3):
                door.post(receiver.url, b"", {})

        assert asked == ["127.0.0.1"]

    def test_threads_share_connections_until_the_client_is_closed(self, door):
        asked = []
        door.resolve = lambda host, port: asked.append(host) or ["127.0.0.1"]
        with receiving() as receiver:
            for _ in range(3):
                with ThreadPoolExecutor(1) as thread:
                    assert thread.submit(door.post, receiver.url, b"", {}).result().status == 200
            assert len(asked) == 1
            door.close()
            assert door.post(receiver.url, b"", {}).status == 200

        assert len(asked) == 2


class TestCertificates:
    @pytest.fixture(scope="class")
    def authority(self):
        return trustme.CA()

    @pytest.fixture
    def call(self, authority, tmp_path):
        """Calls a receiver that speaks TLS under a name, and trusts the authority of its certificate or not."""

        def call(name, *, is_trusted, ends=None, host="127.0.0.1"):
            authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
            trusted = str(tmp_path / "authority.pem") if is_trusted else None
            door = SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=PATIENCE_SECONDS, certificates=trusted)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            begins = ends and ends - timedelta(days=9)
            authority.issue_cert(name, not_before=begins, not_after=ends).configure_cert(context)
            with receiving(tls=context) as receiver:
                return door.post(receiver.url.replace("127.0.0.1", host), b"x", {})

        return call

    def test_a_receiver_with_a_certificate_of_a_trusted_authority_is_called(self, call):
        assert call("127.0.0.1", is_trusted=True).status == 200

    @pytest.mark.parametrize(
        ("name", "is_trusted", "reason"),
        [
            (
                "127.0.0.1",
                False,
                "the issuer of its certificate is not known here, or the server does not send the certificates between",
            ),
            ("example.org", True, "its certificate is for another address"),
        ],
    )
    def test_a_certificate_of_somebody_unknown_or_for_another_name_is_told(self, call, name, is_trusted, reason):
        with pytest.raises(SendFailed) as caught:
            call(name, is_trusted=is_trusted)

        assert caught.value.sentence == f"The secure connection to 127.0.0.1 failed: {reason}."

    def test_a_certificate_that_has_expired_is_told(self, call):
        with pytest.raises(SendFailed, match="its certificate has expired"):
            call("127.0.0.1", is_trusted=True, ends=datetime.now(UTC) - timedelta(days=1))

    def test_a_certificate_that_is_not_valid_yet_is_told(self, call):
        with pytest.raises(SendFailed, match="its certificate is not valid yet: compare the clocks"):
            call("127.0.0.1", is_trusted=True, ends=datetime.now(UTC) + timedelta(days=99))

    def test_a_certificate_for_another_name_is_told(self, call):
        with pytest.raises(SendFailed, match="its certificate is for another name"):
            call("sms.example.org", is_trusted=True, host="localhost")

    @pytest.mark.parametrize("client", ["requests", "safe"])
    def test_a_self_signed_certificate_is_told_by_every_client(self, tmp_path, client):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*self_signed(tmp_path))
        with receiving(tls=context) as receiver:
            if client == "safe":
                door = SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=PATIENCE_SECONDS)
                assert "its certificate is self-signed" in failure(door, receiver.url).sentence
            else:
                with pytest.raises(requests.exceptions.SSLError) as caught:
                    requests.get(receiver.url, timeout=PATIENCE_SECONDS)
                assert explain_tls(caught.value) == "its certificate is self-signed"

    def test_a_connection_that_the_receiver_ends_after_its_response_is_no_failure(self, authority, tmp_path):
        authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
        trusted = str(tmp_path / "authority.pem")
        door = SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=PATIENCE_SECONDS, certificates=trusted)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        with receiving(lambda _: Reply(body=b"ok", headers={"Connection": "close"}), tls=context) as receiver:
            assert [door.post(receiver.url, b"x", {}).body for _ in range(2)] == [b"ok", b"ok"]
            receiver.respond = lambda _: Reply(body=b"ok")
            assert [door.post(receiver.url, b"x", {}).body for _ in range(2)] == [b"ok", b"ok"]

    def test_a_receiver_that_never_speaks_tls_ends_with_the_time_limit(self, hasty):
        with answering_with([b"x"], pause_seconds=60) as url:
            assert failure(hasty, url.replace("http:", "https:")).kind == "timeout"

    def test_a_body_that_comes_too_slowly_over_tls_is_incomplete(self, authority, tmp_path):
        authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
        trusted = str(tmp_path / "authority.pem")
        door = SafeHttp(allowed_networks=LOOPBACK, total_timeout_seconds=0.5, certificates=trusted)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(context)
        with receiving(lambda _: Reply(201, headers={"Transfer-Encoding": "chunked"}), tls=context) as receiver:
            answer = door.post(receiver.url, b"x", {})

        assert (answer.status, answer.is_complete) == (201, False)


class TestFailures:
    def test_a_refused_connection_is_reported_as_such(self, door):
        with receiving() as receiver:
            port = receiver.port

        assert failure(door, f"http://127.0.0.1:{port}/").sentence == "127.0.0.1 refused the connection."

    def test_an_unknown_host_name_is_reported_as_such(self, door):
        assert failure(door, "http://nowhere.invalid/").sentence == "The name nowhere.invalid could not be resolved."

    def test_a_resolver_that_takes_too_long(self):
        door = SafeHttp(total_timeout_seconds=0.05, resolve=lambda host, port: threading.Event().wait(1) or [])

        assert failure(door, "http://slow.example/").kind == "dns"

    def test_a_receiver_without_tls(self, door):
        with receiving() as receiver:
            error = failure(door, receiver.url.replace("http:", "https:"))

        assert error.sentence == "The secure connection to 127.0.0.1 failed: it does not speak TLS as expected."

    @pytest.mark.parametrize("method", ["GET", "POST"])
    def test_a_request_without_an_answer_is_not_sent_again(self, door, method):
        asked = []
        door.resolve = lambda host, port: asked.append(host) or ["127.0.0.1"]
        with answering_with([]) as url, pytest.raises(SendFailed):
            door.send(method, url, headers={})

        assert asked == ["127.0.0.1"]

    @pytest.mark.parametrize("raw", [[], [b"SSH-2.0-x\r\n"], [b"HTTP/1.1 2"], [b"HTTP/1.1 abc OK\r\n\r\n"]])
    def test_something_that_is_no_answer(self, door, raw):
        with answering_with(raw) as url:
            assert failure(door, url).kind == "broken"

    @pytest.mark.parametrize(
        "url",
        [
            *("ftp://example.org/", "file:///etc/passwd", "example.org", "", "http://", "http:///x", "http://[::1/"),
            *("http://a b/", "http://example.org:99999/", "http://example.org:0/", "http://example.org/\r\nX: y"),
            *("http://user:word@example.org/", "http://user@example.org/", "http://example.org/" + "x" * URL_LENGTH),
        ],
    )
    def test_a_url_that_can_never_be_called(self, door, url):
        assert failure(door, url).kind == "url"

    @pytest.mark.parametrize("character", ["\x01", "\x1b", " "])
    def test_a_url_with_white_space_or_control_characters_is_refused(self, character):
        with pytest.raises(SendFailed) as caught:
            check_url(f"https://example.org/a{character}b")
        assert str(caught.value) == "The URL is not valid."

    def test_the_sentence_never_shows_a_password(self):
        with pytest.raises(SendFailed) as caught:
            check_url("https://user:hidden@example.org/")

        assert caught.value.sentence == "The URL must not contain a user name or password."


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
