"""Short codes and names of senders, which only come from channels, can be used as shown, in both generations."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact

SHORT, GRACE = "tel:5080", "tel:+250788000222"
V1, V2 = "/api/v1/contacts.json", "/api/v2/contacts.json"


@pytest.fixture(params=["5080", "mtn"])
def urn(request: pytest.FixtureRequest, api: Api) -> str:
    """The address of a contact, as it is read."""
    make_contact(api.database, api.workspace, request.param)
    shown: str = api.results(V2)[0]["urns"][0]
    return shown


def accept(api: Api, path: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
    response = api.post(path, body, **query)
    assert response.status_code in (200, 201), response.text
    record: dict[str, Any] = response.json()
    return record


@pytest.mark.parametrize("path", [V1, V2])
def test_a_contact_is_changed_by_what_was_read(api: Api, urn: str, path: str) -> None:
    read = api.results(path)[0]
    named = {"uuid": read["uuid"]}

    sent = {"urns": read["urns"], "name": "New"}
    changed = accept(api, path, sent | named) if path == V1 else accept(api, path, sent, **named)

    assert (changed["uuid"], changed["urns"], changed["name"]) == (read["uuid"], [urn], "New")
    assert len(api.results(path)) == 1


@pytest.mark.parametrize("path", [V1, V2])
def test_an_address_is_added_to_the_short_one(api: Api, urn: str, path: str) -> None:
    uuid = api.results(path)[0]["uuid"]

    body = {"urns": [urn, GRACE]}
    changed = accept(api, path, body | {"uuid": uuid}) if path == V1 else accept(api, path, body, uuid=uuid)

    assert changed["urns"] == [urn, GRACE]


def test_a_contact_is_found_by_it(api: Api, urn: str) -> None:
    uuid = api.results(V2)[0]["uuid"]

    assert [one["uuid"] for one in api.results(V1, urns=urn)] == [uuid]
    assert [one["uuid"] for one in api.results(V2, urn=urn)] == [uuid]
    assert accept(api, V1, {"urns": [urn], "name": "One"})["uuid"] == uuid
    assert accept(api, V2, {"name": "Two"}, urn=urn)["uuid"] == uuid
    assert api.delete(V2, urn=urn).status_code == 204


def test_people_are_written_to_by_it(api: Api, urn: str) -> None:
    add_channel(api.database, api.workspace)

    accept(api, "/api/v2/messages.json", {"contact": urn, "text": "Hi"})
    accept(api, "/api/v2/broadcasts.json", {"urns": [urn], "text": {"eng": "Hi"}})
    accept(api, "/api/v1/broadcasts.json", {"urns": [urn], "text": "Hi"})

    assert len(api.results(V2)) == 1


@pytest.mark.together
@pytest.mark.parametrize("path", [V1, V2])
def test_one_that_nobody_has_makes_no_contact(api: Api, path: str) -> None:
    response = api.post(path, {"urns": [SHORT]})

    assert (response.status_code, list(response.json())) == (400, ["urns"])
    assert api.results(path) == []


def test_it_stays_as_it_is_where_it_could_be_a_number_of_the_country(api: Api, database: Database) -> None:
    make_contact(database, api.workspace, "50801")
    with database.writing() as tx:
        tx.execute(workspace_table.update().values(country="DE"))
    uuid = api.results(V2)[0]["uuid"]

    assert accept(api, V2, {"urns": ["tel:50801"]}, uuid=uuid)["urns"] == ["tel:50801"]
    assert accept(api, V1, {"urns": ["tel:50802"]})["urns"] == ["tel:+4950802"]


@pytest.mark.parametrize("path", [V1, V2])
def test_an_address_has_up_to_255_characters(api: Api, path: str) -> None:
    longest, too_long, escaped = (
        "ext:" + character * count for character, count in (("x", 251), ("x", 252), ("%", 90))
    )

    assert accept(api, path, {"urns": [longest]})["urns"] == [longest]
    assert [one["urns"] for one in api.results(V2, urn=longest)] == [[longest]]
    for urn in (too_long, escaped):
        response = api.post(path, {"urns": [urn]})
        assert response.status_code == 400
        assert "255" in response.text
