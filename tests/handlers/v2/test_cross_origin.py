"""Pages of origins that a workspace names call the API with its tokens (CORS); others cannot read an answer."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from handlers.asgi import guard
from tests.api import Api

SETTINGS, GROUPS = "/api/v2/workspace_settings.json", "/api/v2/groups.json"
PAGE = "https://app.example.org"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture
def head(api: Api) -> Api:
    head = api.as_role("administrator")
    assert head.post(SETTINGS, {"origins": [PAGE]}).status_code == 200
    return head


def ask(api: Api, origin: str, path: str = GROUPS, method: str = "POST") -> httpx.Response:
    headers = {"Origin": origin, "Access-Control-Request-Method": method}
    return api.client.options(path, headers=headers)


def call(api: Api, origin: str, path: str = GROUPS, **more: Any) -> httpx.Response:
    headers = {"Origin": origin, "Authorization": f"Token {api.token}", **more.pop("headers", {})}
    return api.client.request(more.pop("method", "GET"), path, headers=headers, **more)


def test_the_browser_is_told_what_a_named_page_may_send_and_read(head: Api) -> None:
    asked = ask(head, PAGE)

    assert (asked.status_code, asked.content, asked.headers[ALLOWED]) == (204, b"", PAGE)
    assert asked.headers["Access-Control-Allow-Methods"] == "DELETE, GET, HEAD, POST"
    wanted = {"Authorization", "Content-Type", "Idempotency-Key", "If-Match", "Prefer"}
    assert wanted <= {*asked.headers["Access-Control-Allow-Headers"].split(", ")}
    assert (asked.headers["Access-Control-Max-Age"], asked.headers["Vary"]) == ("600", "Origin")
    told = call(head, PAGE)
    assert (told.status_code, told.headers[ALLOWED]) == (200, PAGE)
    assert "Origin" in told.headers["Vary"]
    readable = {*told.headers["Access-Control-Expose-Headers"].split(", ")}
    sent = {"ETag", "RateLimit-Remaining", "Retry-After", "X-Request-Id", "Next-Modified-After"}
    assert sent <= readable
    assert not [name for each in (asked, told) for name in each.headers if name.lower().endswith("credentials")]


@pytest.mark.together
@pytest.mark.parametrize(
    "origin",
    [
        *("null", "*", "https://APP.example.org", "http://app.example.org", f"{PAGE}:8443", f"{PAGE}.", f"{PAGE}/"),
        *("https://app.example.org.evil.example", "https://evil.example", f"{PAGE} https://evil.example"),
        f"https://{'a' * 300}.example",
    ],
)
def test_no_other_origin_is_let_in(head: Api, origin: str) -> None:
    for answer in (ask(head, origin), call(head, origin)):
        assert not [name for name in answer.headers if name.lower().startswith("access-control-")]
        assert "Origin" in answer.headers["Vary"]
    assert call(head, origin).status_code == 200


def test_the_origin_of_another_workspace_reads_nothing_with_this_token(head: Api, other_api: Api) -> None:
    theirs = call(other_api, PAGE)

    assert (theirs.status_code, ALLOWED in theirs.headers) == (200, False)
    assert ask(other_api, PAGE).headers[ALLOWED] == PAGE  # the browser has not said with which token
    other_api.as_role("administrator").post(SETTINGS, {"origins": [PAGE]})
    assert call(other_api, PAGE).headers[ALLOWED] == PAGE


def test_a_page_reads_why_it_is_refused(head: Api, other_api: Api) -> None:
    refusals = [
        call(head.with_token("rb_0123456789ab_unknown"), PAGE),
        call(head.as_role("viewer"), PAGE, method="POST", json={"name": "Mine"}),
        call(head, PAGE, method="POST", json={"name": ""}),
        call(head, PAGE, method="POST", content=b"{" * 2_000_000, headers={"Content-Type": "application/json"}),
        call(head, PAGE, method="PUT"),
    ]

    assert [each.status_code for each in refusals] == [403, 403, 400, 413, 405]
    assert {each.headers[ALLOWED] for each in refusals} == {PAGE}
    foreign = call(other_api, PAGE, method="POST", json={"name": ""})
    assert (foreign.status_code, ALLOWED in foreign.headers) == (400, False)


def test_only_operations_of_tokens_are_shared_and_no_cookie_is(head: Api) -> None:
    for path in ("/api/v2/sessions.json", "/api/v2/account_actions.json", "/api/v1/groups.json", "/relayers/register"):
        assert ALLOWED not in ask(head, PAGE, path).headers
    assert "POST" not in ask(head, PAGE, "/api/v2/tokens.json").headers["Access-Control-Allow-Methods"]
    with_cookie = {"Origin": PAGE, "Cookie": "relayboard_session=rbs_0a1b2c3d4e5f6071_x"}
    assert ALLOWED not in head.client.get(GROUPS, headers=with_cookie).headers


def test_what_is_no_longer_named_is_refused_at_once(head: Api) -> None:
    assert call(head, PAGE).headers[ALLOWED] == PAGE

    assert head.post(SETTINGS, {"origins": []}).json()["origins"] == []

    assert ALLOWED not in call(head, PAGE).headers
    assert ALLOWED not in ask(head, PAGE).headers


def test_one_address_cannot_have_ever_new_origins_looked_up(
    head: Api, make_client: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "LOOKUPS", 3)
    with make_client() as client:
        limited = Api(client, head.database, head.workspace, head.token)
        assert ask(limited, PAGE).status_code == 204
        statuses = [ask(limited, f"https://{number}.example").status_code for number in range(3)]

        assert statuses == [405, 405, 429]
        assert ask(limited, PAGE).headers[ALLOWED] == PAGE  # it is kept, and costs nothing
        assert limited.get(GROUPS).status_code == 200


def test_origins_are_stored_as_browsers_send_them(head: Api) -> None:
    given = ["https://APP.Example.org:443", PAGE, "http://localhost:5173", "http://[::1]:80"]

    shown = head.post(SETTINGS, {"origins": given}).json()

    assert shown["origins"] == ["http://[::1]", "http://localhost:5173", PAGE]
    (event, *_) = head.results("/api/v2/audit_events.json", resource="workspace")
    assert event["changes"] == {"origins": [[PAGE], shown["origins"]]}


@pytest.mark.together
@pytest.mark.parametrize(
    "wrong",
    [
        *("*", "null", "https://*.example.org", f"{PAGE}/", f"{PAGE}/path", f"{PAGE}?a=b", "https://me@example.org"),
        *("app.example.org", "ftp://example.org", "https://", "https://straße.example", "https://a.example:99999"),
    ],
)
def test_what_no_browser_sends_is_refused(head: Api, wrong: str) -> None:
    refused = head.post(SETTINGS, {"origins": [PAGE, wrong]})

    assert (refused.status_code, list(refused.json()["origins"])) == (400, ["1"])
    assert head.get("/api/v2/workspace.json").json()["origins"] == [PAGE]
    too_many = [f"https://a{number}.example" for number in range(21)]
    assert head.post(SETTINGS, {"origins": too_many}).status_code == 400
