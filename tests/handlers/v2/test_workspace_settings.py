"""`/api/v2/workspace_settings.json`: administrators change the workspace."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.tables.contacts import group
from tests.api import Api

PATH, WORKSPACE, EVENTS = (
    "/api/v2/workspace_settings.json",
    "/api/v2/workspace.json",
    "/api/v2/audit_events.json",
)


@pytest.fixture
def head(api: Api) -> Api:
    return api.as_role("administrator")


def test_what_is_given_changes_and_the_log_tells(head: Api) -> None:
    before = head.get(WORKSPACE).json()
    changes = {"name": "Hilltop", "languages": ["SWA", "eng"], "timezone": "Africa/Nairobi"}

    changed = head.post(PATH, changes)

    assert changed.status_code == 200
    assert changed.json() == head.get(WORKSPACE).json()
    expected = before | changes | {"languages": ["swa", "eng"], "primary_language": "swa", "number_format": "1.234,5"}
    assert changed.json() == {name: expected[name] for name in changed.json()}
    (event,) = head.results(EVENTS, resource="workspace")
    assert event["changes"]["timezone"] == ["Africa/Kigali", "Africa/Nairobi"]
    assert set(event["changes"]) == {"name", "languages", "timezone"}


def test_the_next_request_is_read_by_the_new_settings(head: Api) -> None:
    local = {"urns": ["tel:0788400001"]}
    head.post(PATH, {"country": ""})
    assert head.post("/api/v2/contacts.json", local).status_code == 400

    head.post(PATH, {"country": "RW"})

    assert head.post("/api/v2/contacts.json", local).json()["urns"] == ["tel:+250788400001"]


def test_country_and_date_style_change_and_nothing_given_changes_nothing(head: Api) -> None:
    assert head.post(PATH, {"country": "", "date_style": "year_first"}).status_code == 200
    shown = head.post(PATH, {}).json()

    assert (shown["country"], shown["date_style"], shown["timezone"]) == ("", "year_first", "Africa/Kigali")


@pytest.mark.together
@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "x" * 129},
        {"country": "ZZ"},
        {"country": "rw"},
        {"timezone": "Mars/Olympus"},
        {"timezone": "../etc"},
        {"languages": []},
        {"languages": ["english"]},
        {"languages": ["qqq"]},
        {"languages": ["eng", "ENG"]},
        {"date_style": "any"},
    ],
    ids=str,
)
def test_what_is_no_setting_is_refused_and_named(head: Api, body: dict[str, Any]) -> None:
    before = head.get(WORKSPACE).json()
    response = head.post(PATH, body)

    assert response.status_code == 400
    assert set(response.json()) == set(body)
    assert head.get(WORKSPACE).json() == before


@pytest.mark.together
@pytest.mark.parametrize(
    ("number_format", "text", "number"),
    [
        ("1,234.5", "27,5", None),
        ("1,234.5", "1.234,5", None),
        ("1,234.5", "1,234.5", "1234.5"),
        ("1.234,5", "27,5", "27.5"),
        ("1.234,5", "1.234,5", "1234.5"),
        ("1.234,5", "27.5", None),
        ("1 234,5", "1\u202f234,5", "1234.5"),
        ("1'234.5", "1’234.5", "1234.5"),
        ("1,234.5", "٢٧٫٥", "27.5"),
    ],
)
def test_numbers_of_fields_are_read_in_the_format_of_the_workspace(
    head: Api, number_format: str, text: str, number: str | None
) -> None:
    assert head.post(PATH, {"number_format": number_format}).json()["number_format"] == number_format
    if not head.results("/api/v2/fields.json"):
        assert head.post("/api/v2/fields.json", {"name": "Weight", "type": "number"}).status_code == 201

    made = head.post("/api/v2/contacts.json", {"name": "Amina", "fields": {"weight": text}}).json()

    assert made["fields"]["weight"] == number


def test_the_format_is_by_default_that_of_the_country_and_can_be_so_again(head: Api) -> None:
    assert head.post(PATH, {"country": "DE"}).json()["number_format"] == "1.234,5"
    assert head.post(PATH, {"number_format": "1 234,5"}).json()["number_format"] == "1 234,5"
    assert head.post(PATH, {"number_format": "by_country"}).json()["number_format"] == "1.234,5"
    assert head.post(PATH, {"number_format": "1;234"}).status_code == 400


def test_a_number_that_the_api_shows_can_be_sent_back(head: Api) -> None:
    head.post(PATH, {"number_format": "1.234,5"})
    head.post("/api/v2/fields.json", {"name": "Weight", "type": "number"})
    made = head.post("/api/v2/contacts.json", {"name": "Amina", "fields": {"weight": "1,234"}}).json()

    again = head.post("/api/v2/contacts.json", {"fields": made["fields"]}, uuid=made["uuid"]).json()

    assert made["fields"]["weight"] == again["fields"]["weight"] == "1.234"


@pytest.mark.parametrize(("changes", "renewed"), [({"country": "DE"}, True), ({"country": "KE"}, False)])
def test_the_numbers_of_another_country_let_smart_groups_be_found_again(
    head: Api, changes: dict[str, str], *, renewed: bool
) -> None:
    head.post(PATH, {"country": "RW", "languages": ["eng"]})
    head.post("/api/v2/fields.json", {"name": "Weight", "type": "number"})
    head.post("/api/v2/groups.json", {"name": "Heavy"})
    with head.database.writing() as tx:
        tx.execute(update(group).values(status="ready", query='weight > "1.234"'))

    head.post(PATH, changes)

    assert head.results("/api/v2/groups.json")[0]["status"] == ("initializing" if renewed else "ready")
