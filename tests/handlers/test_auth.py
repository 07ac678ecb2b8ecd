"""Tokens, roles, scopes, rate limits: who may call, and the responses to others."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.errors import InvalidInput
from persistence.tables.accounts import token, user
from persistence.tokens import TokenLimits, create_token, list_tokens, public_part, revoke_token
from persistence.users import find_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import RateLimit
from testbed.running import wait_until
from testbed.tokens import SECRET_KEY, make_token
from tests.api import Api
from tests.conftest import Clock

PATH = "/api/v2/labels.json"


def ask(client: TestClient, authorization: str | None) -> tuple[int, str | None]:
    headers = {} if authorization is None else {"Authorization": authorization}
    response = client.get(PATH, headers=headers)
    return response.status_code, response.headers.get("WWW-Authenticate")


class TestTokens:
    @pytest.mark.together
    @pytest.mark.parametrize("header", [None, "", "Token", "Token ", "Basic YTpi", "Bearer x", "Token two words"])
    def test_without_a_usable_token_there_is_a_challenge(self, http: TestClient, api: Api, header: str | None) -> None:
        assert ask(http, header) == (401, "Token")

    @pytest.mark.together
    @pytest.mark.parametrize("key", ["x", "rb_", "rb_000000000000_wrong", "rb_é_é", "rb_" + "0" * 500])
    def test_a_token_that_is_not_ours_is_refused(self, http: TestClient, api: Api, key: str) -> None:
        response = http.get(PATH, headers={b"Authorization": f"Token {key}".encode()})

        assert (response.status_code, "WWW-Authenticate" in response.headers) == (403, False)

    def test_the_secret_part_counts(self, http: TestClient, api: Api) -> None:
        assert ask(http, f"Token {api.token[:-1]}{'a' if api.token[-1] != 'a' else 'b'}") == (403, None)

    def test_the_scheme_is_read_in_any_case(self, http: TestClient, api: Api) -> None:
        assert ask(http, f"tOKEN {api.token}") == (200, None)

    def test_a_revoked_token_is_refused(self, http: TestClient, api: Api, database: Database) -> None:
        with database.writing() as tx:
            assert revoke_token(tx, api.workspace.id, public_part(api.token) or "")

        assert ask(http, f"Token {api.token}") == (403, None)

    def test_a_token_of_an_inactive_user_is_refused(self, http: TestClient, api: Api, database: Database) -> None:
        with database.writing() as tx:
            tx.execute(update(user).values(is_active=False))

        assert ask(http, f"Token {api.token}") == (403, None)

    def test_a_token_acts_as_its_own_user(self, api: Api) -> None:
        people = [api.as_role(role) for role in ("editor", "viewer", "agent")]

        asked = [each.get("/api/v2/account.json").json() for each in (api, *people)]

        assert [each["workspace"]["role"] for each in asked] == ["administrator", "editor", "viewer", "agent"]
        assert len({each["user"]["email"] for each in asked}) == 4

    def test_only_a_keyed_hash_is_kept(self, api: Api, database: Database) -> None:
        with database.reading() as tx:
            row = tx.execute(select(token)).one()

        secret = api.token.split("_", 2)[2]  # which may contain that character too
        assert secret not in str(tuple(row))
        assert api.token.startswith("rb_")

    def test_the_last_use_is_noted(self, http: TestClient, api: Api, database: Database) -> None:
        new = make_token(database, api.workspace, "viewer")

        def is_noted() -> bool:
            with database.reading() as tx:
                return list_tokens(tx, api.workspace.id)[0]["last_used_on"] is not None

        assert not is_noted()
        ask(http, f"Token {new}")

        wait_until(is_noted, "the note")

    def test_a_token_of_before_a_change_of_the_secret_key_goes_on_working(
        self, api: Api, database: Database, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        header = f"Token {api.token}"
        new = "the-key-of-this-year"

        with make_client(secret_key=new) as changed:
            assert ask(changed, header) == (403, None)
        with make_client(secret_key=new, secret_key_fallbacks=("another-key", SECRET_KEY)) as changing:
            assert ask(changing, header) == (200, None)
        with make_client(secret_key=new) as changed:
            assert ask(changed, header) == (200, None)

    def test_the_token_is_looked_at_before_the_request(self, http: TestClient, api: Api) -> None:
        assert http.post(PATH, json={"name": 7}).status_code == 401

    def test_a_reading_token_reads(self, api: Api, database: Database, workspace: Workspace) -> None:
        with database.writing() as tx:
            user_id = find_member(tx, workspace.id, f"administrator@{workspace.uuid[:8]}.example.org")
            assert user_id is not None
            reading = api.with_token(create_token(tx, workspace.id, user_id, SECRET_KEY, "read"))

        assert (reading.get(PATH).status_code, reading.post(PATH, {"name": "X"}).status_code) == (200, 403)


class TestLimitsOfTokens:
    """Tokens that expire, and tokens for a part of the API."""

    @pytest.fixture
    def limited(self, api: Api, database: Database) -> Callable[..., Api]:
        def make(**limits: Any) -> Api:
            with database.writing() as tx:
                email = f"administrator@{api.workspace.uuid[:8]}.example.org"
                user_id = find_member(tx, api.workspace.id, email)
                assert user_id is not None
                return api.with_token(
                    create_token(tx, api.workspace.id, user_id, SECRET_KEY, limits=TokenLimits(**limits))
                )

        return make

    def test_an_expired_token_is_answered_like_a_revoked_one(
        self, api: Api, limited: Callable[..., Api], database: Database, clock: Clock
    ) -> None:
        end = clock.moment + timedelta(days=1)
        before, brief = limited(expires_on=end).get(PATH).status_code, limited(expires_on=end)
        clock.advance(days=1)
        with database.writing() as tx:
            assert revoke_token(tx, api.workspace.id, public_part(api.token) or "")

        other = brief.client.get(PATH, headers={"Authorization": f"Token {brief.token}"})
        assert (before, other.status_code, other.json()) == (200, *_answer(api))

    def test_a_token_is_limited_to_areas(self, limited: Callable[..., Api]) -> None:
        mirror = limited(areas=("contacts", "flows"))

        statuses = {
            path: mirror.get(f"/api/{path}.json").status_code
            for path in ("v2/contacts", "v1/flows", "v2/workspace", "v2/messages", "v2/users", "v2/account")
        }
        assert statuses == {
            **dict.fromkeys(("v2/contacts", "v1/flows", "v2/workspace", "v2/account"), 200),
            **dict.fromkeys(("v2/messages", "v2/users"), 403),
        }

    def test_limits_are_listed(self, api: Api, limited: Callable[..., Api], database: Database, clock: Clock) -> None:
        end = clock.moment + timedelta(days=1)
        limited(name="Mirror", areas=("flows", "contacts"), expires_on=end)

        with database.reading() as tx:
            newest = list_tokens(tx, api.workspace.id)[0]
        assert (newest["name"], newest["areas"], newest["expires_on"]) == ("Mirror", ["contacts", "flows"], end)

    @pytest.mark.together
    @pytest.mark.parametrize(
        "limits", [{"name": "x" * 65}, {"areas": ("everything",)}, {"expires_on": datetime(2026, 1, 1, tzinfo=UTC)}]
    )
    def test_limits_that_make_no_sense_are_refused(self, limited: Callable[..., Api], limits: Any) -> None:
        with pytest.raises(InvalidInput):
            limited(**limits)


def _answer(api: Api) -> tuple[int, Any]:
    response = api.get(PATH)
    return response.status_code, response.json()


class TestRateLimits:
    def test_what_is_granted_while_nobody_can_write_is_taken_off_later(
        self,
        api: Api,
        make_client: Callable[..., AbstractContextManager[TestClient]],
        locked: Callable[[], AbstractContextManager[None]],
    ) -> None:
        with make_client(rate_limit=RateLimit(10, timedelta(hours=1))) as client:
            limited = Api(client, api.database, api.workspace, api.token)
            with locked():
                before = [limited.get(PATH) for _ in range(8)]
            after = [limited.get(PATH) for _ in range(8)]

        assert [response.status_code for response in before + after] == [200] * 10 + [429] * 6
        remaining = [int(response.headers["RateLimit-Remaining"]) for response in before + after]
        assert remaining == sorted(remaining, reverse=True)

    def test_no_more_is_granted_than_is_left_though_nobody_can_write(
        self,
        api: Api,
        make_client: Callable[..., AbstractContextManager[TestClient]],
        locked: Callable[[], AbstractContextManager[None]],
    ) -> None:
        with make_client(rate_limit=RateLimit(3, timedelta(hours=1))) as client, locked():
            limited = Api(client, api.database, api.workspace, api.token)

            assert [limited.get(PATH).status_code for _ in range(5)] == [200, 200, 200, 429, 429]

    def test_every_answer_tells_what_is_left(self, api: Api) -> None:
        headers = api.get(PATH).headers

        assert headers["RateLimit-Limit"] == "1000000"
        assert int(headers["RateLimit-Remaining"]) < 1_000_000

    def test_a_spent_allowance_is_a_429_until_its_window_ends(
        self, api: Api, make_client: Callable[..., AbstractContextManager[TestClient]], clock: Clock
    ) -> None:
        with make_client(rate_limit=RateLimit(3, timedelta(hours=1))) as client:
            limited = Api(client, api.database, api.workspace, api.token)
            statuses = [limited.get(PATH).status_code for _ in range(4)]
            refused = limited.get(PATH)
            other_scope = limited.get("/api/v2/messages.json").status_code
            clock.advance(hours=1)
            later = limited.get(PATH).status_code

        assert statuses == [200, 200, 200, 429]
        assert 0 < int(refused.headers["Retry-After"]) <= 3600
        assert (other_scope, later) == (200, 200)

    def test_two_processes_together_never_exceed_the_limit(
        self, api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        limit = RateLimit(10, timedelta(hours=1))
        with make_client(rate_limit=limit) as one, make_client(rate_limit=limit) as two:
            asked = [Api(client, api.database, api.workspace, api.token).get(PATH) for client in (one, two) * 10]

        assert [response.status_code for response in asked].count(200) == 10
