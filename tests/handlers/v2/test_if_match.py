"""`ETag` and `If-Match`: what replaces whole lists or definitions changes nothing if somebody was faster."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_field, make_named

CONTACTS, EVENTS, CAMPAIGNS = "/api/v2/contacts.json", "/api/v2/campaign_events.json", "/api/v2/campaigns.json"
SETTINGS, WORKSPACE = "/api/v2/workspace_settings.json", "/api/v2/workspace.json"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


def tag(response: Any) -> dict[str, str]:
    return {"If-Match": response.headers["ETag"]}


def test_the_groups_of_a_contact_are_replaced_only_if_it_is_as_the_client_knows_it(
    api: Api, database: Database, workspace: Workspace, amina: str
) -> None:
    nurses, mothers = make_named(database, workspace, group, ["Nurses", "Mothers"])
    known = api.get(CONTACTS, uuid=amina)
    made = api.post(CONTACTS, {"groups": [nurses]}, tag(known), uuid=amina)

    late = api.post(CONTACTS, {"groups": [mothers]}, tag(known), uuid=amina)
    after = api.get(CONTACTS, urn="tel:+250788000111")
    again = api.post(CONTACTS, {"groups": [mothers]}, tag(made), urn="tel:+250788000111")

    assert (made.status_code, late.status_code, again.status_code) == (200, 412, 200)
    assert late.json() == {"detail": "The record has changed since: read it again."}
    assert late.extensions["code"] == "changed_since"
    assert after.headers["ETag"] == made.headers["ETag"] != known.headers["ETag"]
    assert [each["uuid"] for each in after.json()["results"][0]["groups"]] == [nurses]


@pytest.mark.together
@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("*", 200),
        ('"other", {tag}', 200),
        ("W/{tag}", 412),
        ('"other"', 412),
        ("nonsense", 412),
        ("", 400),
        ("*" * 1001, 400),
    ],
)
def test_if_match_names_states_exactly(api: Api, amina: str, given: str, status: int) -> None:
    known, before = api.get(CONTACTS, uuid=amina).headers["ETag"], api.results(CONTACTS)[0]["name"]
    name = f"{before} A"

    response = api.post(CONTACTS, {"name": name}, {"If-Match": given.format(tag=known)}, uuid=amina)

    assert response.status_code == status
    assert api.results(CONTACTS)[0]["name"] == (name if status == 200 else before)


def test_what_is_not_there_is_in_no_state(api: Api) -> None:
    for query in ({}, {"urn": "ext:1"}):
        assert api.post(CONTACTS, {"name": "A"}, {"If-Match": "*"}, **query).status_code == 412
    assert api.results(CONTACTS) == []


def test_a_list_has_the_state_of_one_record_that_was_looked_up(api: Api, amina: str) -> None:
    assert "ETag" in api.get(CONTACTS, uuid=amina).headers
    for query in ({}, {"uuid": amina, "fields": "name"}, {"urn": "ext:1"}):
        assert "ETag" not in api.get(CONTACTS, **query).headers


def test_of_two_that_know_the_same_state_one_changes_it(api: Api, amina: str) -> None:
    known = tag(api.get(CONTACTS, uuid=amina))

    with ThreadPoolExecutor(2) as threads:
        writes = [threads.submit(api.post, CONTACTS, {"name": name}, known, uuid=amina) for name in ("One", "Two")]
        statuses = [each.result().status_code for each in writes]

    assert sorted(statuses) == [200, 412]
    assert api.results(CONTACTS)[0]["name"] == ("One", "Two")[statuses.index(200)]


def test_a_request_repeated_with_its_key_has_its_first_answer(api: Api, amina: str) -> None:
    headers = {**tag(api.get(CONTACTS, uuid=amina)), "Idempotency-Key": "once"}

    first, again = (api.post(CONTACTS, {"name": "A"}, headers, uuid=amina) for _ in range(2))

    assert (first.status_code, again.status_code, again.headers["ETag"]) == (200, 200, first.headers["ETag"])


def test_an_event_of_a_campaign_is_replaced_only_if_it_is_as_known(
    api: Api, database: Database, workspace: Workspace
) -> None:
    make_named(database, workspace, group, ["Mothers"])
    make_field(database, workspace, "Due", "datetime")
    campaign = api.post(CAMPAIGNS, {"name": "Care", "group": "Mothers"}).json()["uuid"]
    timing = {"relative_to": "due", "unit": "days", "delivery_hour": 9}
    made = api.post(EVENTS, {**timing, "offset": 1, "campaign": campaign, "message": "Hello"})
    known = api.get(EVENTS, uuid=made.json()["uuid"])
    changed = api.post(EVENTS, {**timing, "offset": 2, "message": "Hi"}, tag(known), uuid=made.json()["uuid"])

    late = api.post(EVENTS, {**timing, "offset": 3, "message": "Ho"}, tag(known), uuid=made.json()["uuid"])

    assert known.headers["ETag"] == made.headers["ETag"]
    assert (changed.status_code, late.status_code) == (200, 412)
    assert api.results(EVENTS)[0]["offset"] == 2


def test_settings_of_the_workspace_are_changed_only_if_they_are_as_known(api: Api) -> None:
    known = api.get(WORKSPACE)
    changed = api.post(SETTINGS, {"name": "Hillside"}, tag(known))

    late = api.post(SETTINGS, {"name": "Lakeside"}, tag(known))

    assert (changed.status_code, late.status_code) == (200, 412)
    assert (api.get(WORKSPACE).json()["name"], api.get(WORKSPACE).headers["ETag"]) == (
        "Hillside",
        changed.headers["ETag"],
    )
