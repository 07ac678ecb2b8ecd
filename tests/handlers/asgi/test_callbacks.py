"""What other systems call to continue a flow that waits for them."""

import logging
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.sessions.parking import Address
from persistence.tables.flows import flow_callback, flow_session
from testbed.tokens import SECRET_KEY
from tests.api import Api

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SESSION = "6d1f0a52-5f0e-4a4e-8d09-3d0c0a1f7b21"


@pytest.fixture
def address(api: Api) -> Address:
    """That of a session that waits."""
    urn = Urn("tel", "+250788000111")
    with api.database.writing() as tx:
        owner = ensure_owners(tx, api.workspace.id, [urn])[urn.identity]
        values: dict[str, Any] = {
            "uuid": SESSION,
            "workspace_id": api.workspace.id,
            "contact_id": owner.contact_id,
            "sprint_count": 1,
        }
        moments = dict.fromkeys(("created_on", "modified_on"), tx.now)
        state = {"uuid": SESSION, "pause": "callback"}
        values |= {"session_type": "messaging", "status": "waiting", "state": state}
        tx.execute(insert(flow_session).values(values | moments))
        return Address(api.workspace.id, owner.uuid, SESSION, tx.now, 0)


def token_of(address: Address) -> str:
    return address.write(SECRET_KEY)


def bodies(api: Api) -> list[str]:
    with api.database.reading() as tx:
        return [row.body for row in tx.execute(flow_callback.select())]


def test_a_call_is_stored_once_and_wakes_the_worker(api: Api, address: Address, woken: list[str]) -> None:
    path = f"/callbacks/{token_of(address)}"

    calls = [api.client.post(path, json={"amount": 12}), api.client.post(path, json={"amount": 13})]

    assert [(each.status_code, each.content) for each in calls[:1]] == [(204, b"")]
    assert calls[1].status_code == 404
    assert bodies(api) == ['{"amount":12}']
    assert "timers" in woken
    with api.database.reading() as tx:
        assert [row.timeout_on is not None for row in tx.execute(flow_session.select())] == [True]


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"content": b""}, ""),
        ({"content": b'{"amount": 12}', "headers": FORM}, '{"amount": 12}'),
        ({"content": b"pa\x00id \xff"}, "paid \ufffd"),
        ({"data": {"status": "pa\0id", "amount": "12"}}, '{"status":"paid","amount":"12"}'),
        (
            {"content": b"&".join([b"a=1"] * 101), "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            None,
        ),
    ],
)
def test_a_call_may_bring_anything(api: Api, address: Address, sent: dict[str, Any], stored: str | None) -> None:
    assert api.client.post(f"/callbacks/{token_of(address)}", **sent).status_code == 204
    assert bodies(api) == [stored if stored is not None else sent["content"].decode()]


def test_what_is_too_large_is_refused_and_the_address_stays(api: Api, address: Address) -> None:
    path = f"/callbacks/{token_of(address)}"

    assert api.client.post(path, content=b"x" * 10_001).status_code == 413
    assert api.client.post(path, content=b"x" * 10_000).status_code == 204


def test_nobody_learns_what_there_is(api: Api, address: Address) -> None:
    good = token_of(address)
    other = address._replace(contact_uuid="00000000-0000-4000-8000-000000000000")
    old = address._replace(session_uuid=other.contact_uuid, began_on=address.began_on - timedelta(hours=2))
    tokens = [
        "", "a", "\u00e9", "a" * 91, "a" * 5000, good[:-1], f"{good}a", good.swapcase(), f"{good}/",
        address.write("another key"),
        token_of(other),
        token_of(old),
    ]  # fmt: skip

    answers = [api.client.post(f"/callbacks/{token}", content=b"{}") for token in tokens]

    assert {(each.status_code, each.json()["detail"]) for each in answers} == {(404, "There is nothing at this URL.")}
    assert bodies(api) == []


@pytest.mark.together
@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_looking_at_an_address_does_not_use_it(api: Api, address: Address, method: str) -> None:
    assert api.client.request(method, f"/callbacks/{token_of(address)}").status_code == 405
    assert bodies(api) == []


def test_the_log_does_not_say_the_token(api: Api, address: Address, caplog: pytest.LogCaptureFixture) -> None:
    token = token_of(address)

    with caplog.at_level(logging.INFO, "relayboard"):
        api.client.post(f"/callbacks/{token}")

    told = [record.getMessage() for record in caplog.records if record.name.startswith("relayboard")]
    assert told == ["POST /callbacks/*** 204"]
