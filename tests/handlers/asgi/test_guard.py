"""The guard, spoken to in raw ASGI messages: ids, bodies and failures."""

import re
from dataclasses import replace
from typing import Any

import anyio
import pytest

from handlers.asgi.guard import Guard
from handlers.asgi.plain_responses import Refusal
from handlers.request import context_of
from relayboard.base.logs import current_request_id
from relayboard.base.settings import Settings, load_settings
from testbed.set_by_name import by_name
from tests.handlers.exchange import Echo, Reply, exchange

PATH = "/api/v2/labels.json"
UPLOAD = "/api/v2/media.json"
SYNC = "/relayers/relayer/sync/7/?ts=1&signature=abc%3D"
JSON = ("Content-Type", "application/json")
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture
def settings() -> Settings:
    environment = {"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"}
    return replace(load_settings(environment), **by_name(BODY_LIMIT_BYTES="100"))


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def guard(echo: Echo, settings: Settings) -> Guard:
    return Guard(echo, settings)


def detail_of(reply: Reply, status: int) -> str:
    """The sentence of a refusal, which always has this form."""
    assert reply.status == status
    assert reply.headers["content-type"] == "application/json"
    assert reply.headers["content-length"] == str(len(reply.body))
    assert set(reply.json) <= {"detail", "code"}
    return str(reply.json["detail"])


class TestRequestId:
    def test_a_sane_id_of_the_client_is_kept_inside_and_on_the_answer(self, guard, echo):
        reply = exchange(guard, "GET", PATH, headers=[("X-Request-Id", "run-7.a_B")])

        assert reply.headers["x-request-id"] == "run-7.a_B"
        assert echo.context.request_id == "run-7.a_B"

    @pytest.mark.together
    @pytest.mark.parametrize("given", ["", "a b", "x" * 65, "a\nb", "é", "{}"])
    def test_any_other_id_is_replaced_by_a_uuid(self, guard, given):
        reply = exchange(guard, "GET", PATH, headers=[("X-Request-Id", given)])

        assert re.fullmatch(UUID, reply.headers["x-request-id"])

    def test_refusals_carry_the_id_too(self, guard):
        reply = exchange(guard, "GET", PATH + "?a=%00", headers=[("X-Request-Id", "seven")])

        assert reply.headers["x-request-id"] == "seven"

    def test_the_id_is_known_to_everything_that_logs_during_the_request_and_to_nothing_after_it(self, settings):
        seen = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            seen.append(current_request_id.get())

        exchange(Guard(app, settings), "GET", PATH, headers=[("X-Request-Id", "seven")])

        assert seen == ["seven"]
        assert current_request_id.get() is None


class TestBodies:
    def test_a_json_body_reaches_the_inner_layers_parsed_raw_and_again_through_receive(self, guard, echo):
        exchange(guard, "POST", PATH, [b'{"na', b'me": "x"}'], [JSON])

        assert echo.context.json == {"name": "x"}
        assert echo.context.raw_body == echo.body == b'{"name": "x"}'

    def test_after_the_body_the_inner_layers_hear_that_the_client_left(self, settings):
        heard = []

        async def app(scope: Any, receive: Any, send: Any) -> None:
            heard.extend([await receive() for _ in range(3)])

        exchange(Guard(app, settings), "POST", PATH, [b"{}"], [JSON])

        assert [message["type"] for message in heard] == ["http.request", "http.request", "http.disconnect"]

    def test_nothing_of_a_body_is_read_before_the_inner_layers_ask_for_it(self, settings):
        taken = []

        def chunks() -> Any:
            taken.append(True)
            yield b"{}"

        async def refuse(scope: Any, receive: Any, send: Any) -> None:
            raise Refusal(401, "An API token is required.")

        reply = exchange(Guard(refuse, settings), "POST", PATH, chunks(), [JSON])

        assert (reply.status, taken) == (401, [])

    def test_a_client_that_waits_to_be_asked_and_is_not_gets_no_further_request_through(self, settings):
        async def refuse(scope: Any, receive: Any, send: Any) -> None:
            raise Refusal(401, "An API token is required.")

        headers = [JSON, ("Content-Length", "2"), ("Expect", "100-continue")]

        assert exchange(Guard(refuse, settings), "POST", PATH, [b"{}"], headers).headers["connection"] == "close"

    def test_bodies_that_are_held_at_once_have_a_limit_together(self, settings):
        guard = Guard(Echo(), settings)
        guard.memory.limit_bytes = 150
        replies = []

        async def hold(scope: Any, receive: Any, send: Any) -> None:
            await context_of(scope).body.read()
            if len(replies) < 2:
                replies.append(await anyio.to_thread.run_sync(exchange, guard, "POST", PATH, [b"a" * 90], [JSON]))
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        guard.app = hold
        alone = exchange(guard, "POST", PATH, [b"a" * 90], [JSON])

        assert (alone.status, replies[0].status, replies[0].headers["retry-after"]) == (200, 503, "1")
        assert guard.memory.held_bytes == 0

    @pytest.mark.parametrize("method", ["POST", "DELETE"])
    def test_an_empty_body_is_an_empty_object(self, guard, echo, method):
        exchange(guard, method, PATH, [], [JSON])

        assert echo.context.json == {}

    def test_a_body_without_media_type_counts_as_json_for_everybody(self, guard, echo):
        exchange(guard, "POST", PATH, [b'{"a": 1}'])

        assert echo.context.json == {"a": 1}
        assert (b"content-type", b"application/json") in echo.scope["headers"]

    def test_a_body_that_is_no_strict_json_is_refused_before_the_inner_layers(self, guard, echo):
        reply = exchange(guard, "POST", PATH, [b'{"a": 1, "a": 2}'], [JSON])

        assert detail_of(reply, 400) == "An object names the same key twice: a."
        assert echo.body is None

    def test_the_body_of_a_get_is_not_read_as_json(self, guard, echo):
        assert exchange(guard, "GET", PATH, [b"not json"]).status == 200
        assert echo.context.raw_body is None

    @pytest.mark.together
    @pytest.mark.parametrize(
        "media_type",
        [
            "application/json",
            "APPLICATION/JSON",
            "application/json; charset=utf-8",
            'application/json;charset="UTF-8"',
            "application/json;",
        ],
    )
    def test_json_in_utf8_is_accepted_however_it_is_declared(self, guard, media_type):
        assert exchange(guard, "POST", PATH, [b"{}"], [("Content-Type", media_type)]).status == 200

    @pytest.mark.together
    @pytest.mark.parametrize(
        "media_type",
        [
            "",
            "text/plain",
            "application/json; charset=latin-1",
            "application/jsonx",
            "application/x-www-form-urlencoded",
        ],
    )
    def test_every_other_media_type_is_a_415(self, guard, media_type):
        reply = exchange(guard, "POST", PATH, [b"{}"], [("Content-Type", media_type)])

        assert detail_of(reply, 415) == "Send JSON."

    def test_a_media_type_without_body_does_not_matter(self, guard, echo):
        assert exchange(guard, "DELETE", PATH, [], [("Content-Type", "text/plain")]).status == 200
        assert echo.context.json == {}


class TestSizes:
    def test_a_body_of_exactly_the_limit_passes(self, guard):
        assert exchange(guard, "POST", PATH, [b'"' + b"a" * 98 + b'"'], [JSON]).status == 200

    @pytest.mark.parametrize("path", [PATH, SYNC])
    def test_one_byte_more_is_a_413_though_no_length_was_declared(self, guard, echo, path):
        reply = exchange(guard, "POST", path, [b'"' + b"a" * 50, b"a" * 49 + b'"'], [JSON])

        assert detail_of(reply, 413) == "The request body is larger than 100 bytes."
        assert echo.body is None

    def test_a_declared_length_beyond_the_limit_is_a_413(self, guard):
        reply = exchange(guard, "POST", PATH, [b"a" * 101], [JSON, ("Content-Length", "101")])

        assert reply.status == 413

    def test_a_client_that_waits_for_permission_is_refused_without_its_body(self, guard):
        headers = [JSON, ("Content-Length", "5000"), ("Expect", "100-continue")]

        assert exchange(guard, "POST", PATH, [], headers, ends=False).status == 413

    @pytest.mark.parametrize("length", ["1", "99"])
    def test_a_length_that_is_not_that_of_the_body_is_refused(self, guard, length):
        reply = exchange(guard, "POST", PATH, [b"{}"], [JSON, ("Content-Length", length)])

        assert detail_of(reply, 400) == "The Content-Length is not the length of the request body."

    def test_a_small_declared_length_does_not_let_a_large_body_in(self, guard):
        assert exchange(guard, "POST", PATH, [b"a" * 5000], [JSON, ("Content-Length", "2")]).status == 413

    @pytest.mark.together
    @pytest.mark.parametrize("length", ["-1", "2x", "", "9" * 5000])
    def test_a_length_that_is_no_number_is_refused(self, guard, length):
        reply = exchange(guard, "POST", PATH, [b"{}"], [JSON, ("Content-Length", length)])

        assert detail_of(reply, 400) == "The Content-Length is not valid."

    def test_a_client_that_leaves_half_way_gets_no_answer_and_changes_nothing(self, guard, echo):
        reply = exchange(guard, "POST", PATH, [b'{"a":'], [JSON], ends=False)

        assert reply.status is None
        assert echo.body is None


class TestUploads:
    FORM = ("Content-Type", "multipart/form-data; boundary=x")

    def test_an_upload_has_a_limit_of_its_own_and_is_passed_on_unparsed(self, guard, echo):
        body = b"\xff" * 5000

        assert exchange(guard, "POST", UPLOAD, [body], [self.FORM]).status == 200
        assert echo.body == body
        assert echo.context.raw_body is None

    def test_an_upload_beyond_25_megabytes_and_its_envelope_is_a_413(self, guard):
        headers = [self.FORM, ("Content-Length", str(26 * 1024 * 1024 + 1))]

        assert exchange(guard, "POST", UPLOAD, [b""], headers).status == 413

    def test_a_form_anywhere_else_is_a_415(self, guard):
        assert exchange(guard, "POST", PATH, [b"--x--"], [self.FORM]).status == 415


class TestPhones:
    def test_the_bytes_of_a_phone_pass_as_they_are(self, guard, echo):
        raw = b'{"cmds": [], "cmds": NaN}\xff'

        reply = exchange(guard, "POST", SYNC, [raw[:5], raw[5:]], [("Content-Type", "text/plain")])

        assert reply.status == 200
        assert echo.context.raw_body == echo.body == raw
        assert echo.context.json == {}


class TestHosts:
    @pytest.mark.together
    @pytest.mark.parametrize(
        "host", ["sms.example.org", "sms.example.org:8080", "127.0.0.1:80", "[::1]:8080", "api_1:8080", "localhost."]
    )
    def test_names_and_addresses_pass(self, guard, host):
        assert exchange(guard, "GET", PATH, headers=[("Host", host)]).status == 200

    @pytest.mark.together
    @pytest.mark.parametrize(
        "host",
        [
            "",
            "a b",
            "a/b",
            "user@example.org",
            "example.org:99999",
            "example.org:",
            "example.org:x",
            "[::1",
            "[:::]",
            "a,b",
            'a"b',
            "é",
            "-a",
            "a" * 256,
        ],
    )
    def test_anything_else_is_a_400(self, guard, echo, host):
        reply = exchange(guard, "GET", PATH, headers=[("Host", host)])

        assert detail_of(reply, 400) == "The Host header is not valid."
        assert echo.scope == {}

    def test_two_of_them_are_a_400_even_if_they_agree(self, guard):
        assert exchange(guard, "GET", PATH, headers=[("Host", "a"), ("Host", "a")]).status == 400

    @pytest.mark.parametrize(("version", "status"), [("1.0", 200), ("1.1", 400)])
    def test_only_the_older_http_may_do_without(self, guard, version, status):
        scope = {"type": "http", "method": "GET", "path": PATH, "headers": [], "http_version": version}

        assert exchange(guard, "GET", PATH, scope=scope).status == status


class TestAnswers:
    @pytest.mark.parametrize("status", [200, 404, 500])
    def test_no_cache_keeps_them_and_no_browser_guesses_their_type(self, settings, status):
        reply = exchange(Guard(Echo(status), settings), "GET", PATH)

        assert (reply.headers["cache-control"], reply.headers["x-content-type-options"]) == ("no-store", "nosniff")

    def test_a_layer_that_lets_its_answers_be_kept_is_heard(self, settings):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            headers = [(b"cache-control", b"public, max-age=60")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b""})

        assert exchange(Guard(app, settings), "GET", PATH).headers["cache-control"] == "public, max-age=60"

    def test_the_answer_to_head_is_that_to_get_without_its_body(self, guard):
        reply = exchange(guard, "HEAD", PATH, [b"twelve bytes"])

        assert (reply.status, reply.body) == (200, b"")

    def test_an_unexpected_failure_is_a_500_without_details_and_a_log_entry_with_the_id(self, settings, caplog):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            raise RuntimeError("secret detail")

        reply = exchange(Guard(app, settings), "GET", PATH, headers=[("X-Request-Id", "seven")])

        assert detail_of(reply, 500) == "Internal server error."
        assert reply.headers["x-request-id"] == "seven"
        assert "secret detail" in caplog.text

    def test_a_failure_in_the_middle_of_an_answer_breaks_the_connection(self, settings):
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise RuntimeError("half way")

        with pytest.raises(RuntimeError, match="half way"):
            exchange(Guard(app, settings), "GET", PATH)

    def test_requests_after_the_shutdown_began_are_a_503(self, guard):
        anyio.run(lifespan, guard, ["lifespan.startup", "lifespan.shutdown"])

        reply = exchange(guard, "GET", PATH)

        assert detail_of(reply, 503) == "The service is stopping."
        assert reply.headers["retry-after"] == "1"

    def test_a_websocket_is_closed(self, guard):
        sent = []

        async def send(message: Any) -> None:
            sent.append(message["type"])

        anyio.run(guard, {"type": "websocket", "path": PATH}, None, send)

        assert sent == ["websocket.close"]


async def lifespan(guard: Guard, kinds: list[str]) -> None:
    """Let the guard hear lifespan messages, as a server sends them."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        for _ in kinds:
            await receive()

    waiting = iter(kinds)

    async def receive() -> Any:
        return {"type": next(waiting)}

    guard.app = app
    await guard({"type": "lifespan"}, receive, None)


def test_a_body_that_stops_coming_is_waited_for_as_long_as_the_setting_says(echo: Echo, settings: Settings) -> None:
    sent: list[Any] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": SYNC.partition("?")[0],
        "query_string": b"",
        "headers": [(b"host", b"sms.example.org"), (b"content-length", b"9")],
        "client": ("192.0.2.7", 50123),
    }

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(Guard(echo, replace(settings, **by_name(BODY_TIMEOUT_SECONDS="0.05"))), scope, anyio.sleep_forever, send)

    assert sent[0]["status"] == 400 and echo.scope == {}
