"""Values of contact fields as `/api/v2/contacts.json` takes and shows them."""

from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from persistence.tables.contacts import contact, field
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_field

PATH = "/api/v2/contacts.json"


@pytest.fixture
def words_and_age(database: Database, workspace: Workspace) -> list[str]:
    return [make_field(database, workspace, "Words"), make_field(database, workspace, "Age", "number")]


@pytest.mark.together
@pytest.mark.parametrize(
    ("value", "as_text", "as_number"),
    [
        (27, "27", "27"),
        (27.50, "27.5", "27.5"),
        (-0.0, "0", "0"),
        (1e20, "100000000000000000000", "100000000000000000000"),
        (0.000001, "0.000001", "0.000001"),
        (2**53 + 1, "9007199254740993", "9007199254740993"),
        (True, "true", None),
        (False, "false", None),
        ("027", "027", "27"),
        ("1,000", "1,000", "1000"),
        ("٣٤", "٣٤", "34"),
        ("  27 ", "27", "27"),
        ("   ", None, None),
        (None, None, None),
    ],
)
def test_a_value_may_be_a_text_a_number_or_a_truth_value(
    api: Api,
    database: Database,
    workspace: Workspace,
    words_and_age: list[str],
    value: Any,
    as_text: str | None,
    as_number: str | None,
) -> None:
    uuid = make_contact(database, workspace)

    made = api.post(PATH, {"fields": {"words": value, "age": value}})
    changed = api.post(PATH, {"fields": {"words": value, "age": value}}, uuid=uuid)

    assert (made.status_code, changed.status_code) == (201, 200)
    assert made.json()["fields"] == changed.json()["fields"] == {"words": as_text, "age": as_number}


@pytest.mark.parametrize("value", [[], {}, ["27"], 1e37])
def test_what_is_no_value_is_refused_by_its_key(api: Api, database: Database, workspace: Workspace, value: Any) -> None:
    make_field(database, workspace, "Age", "number")

    response = api.post(PATH, {"fields": {"age": value}})

    assert response.status_code == 400
    assert list(response.json()["fields"]) == ["age"]


@pytest.mark.parametrize(
    ("text", "shown", "query"),
    [
        ("1900-01-01", "1900-01-01T00:00:44+02:01", "dob = 1900-01-01"),
        ("9999-12-31", "9999-12-31T00:00:00+02:00", "dob > 2030-01-01"),
        ("9999-12-31T23:59:59Z", "9999-12-31T00:00:00+02:00", "dob = 9999-12-31"),
    ],
)
def test_dates_before_standard_time_and_without_an_end_are_told_and_found(
    api: Api, text: str, shown: str, query: str
) -> None:
    api.post("/api/v2/fields.json", {"name": "DOB", "type": "datetime"})
    made = api.post("/api/v2/contacts.json", {"name": "Ann", "fields": {"dob": text}}).json()
    assert made["fields"]["dob"] == shown
    again = api.post("/api/v2/contacts.json", {"fields": {"dob": shown}}, uuid=made["uuid"]).json()
    assert again["fields"]["dob"] == shown
    assert [each["uuid"] for each in api.results("/api/v2/contacts.json", query=query)] == [made["uuid"]]


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_an_offset_with_seconds_that_an_older_version_stored_is_told_without(
    api: Api, database: Database, workspace: Workspace, generation: str
) -> None:
    make_field(database, workspace, "DOB", "datetime")
    uuid = make_contact(database, workspace)
    with database.writing() as tx:
        old = {"text": "1899-06-15", "datetime": "1899-06-15T00:00:00-00:44:30"}
        tx.execute(update(contact).values(fields={tx.execute(select(field.c.uuid)).scalar_one(): old}))

    (shown,) = api.results(f"/api/{generation}/contacts.json", uuid=uuid)
    again = api.post("/api/v2/contacts.json", {"fields": {"dob": "1899-06-15T00:00:00-00:44:30"}}, uuid=uuid).json()

    assert shown["fields"]["dob"] == "1899-06-15T00:00:30-00:44"
    assert datetime.fromisoformat(again["fields"]["dob"]) == datetime.fromisoformat(old["datetime"])


@pytest.mark.parametrize("generation", ["v1", "v2"])
@pytest.mark.parametrize(("text", "year"), [("13/3/26", "2026"), ("13/3/27", "1927"), ("13/03/69", "1969")])
def test_the_answer_tells_as_which_year_two_digits_were_read(api: Api, text: str, year: str, generation: str) -> None:
    """The clock of tests is in 2026."""
    path = f"/api/{generation}/contacts.json"
    api.post("/api/v2/fields.json", {"name": "Due", "type": "datetime"})

    made = api.post(path, {"urns": ["tel:+250788000111"], "fields": {"due": text}}).json()
    changed = api.post(PATH, {"fields": {"due": text}}, uuid=made["uuid"]).json()

    assert made["fields"]["due"][:10] == changed["fields"]["due"][:10] == f"{year}-03-13"


@pytest.mark.together
@pytest.mark.parametrize(("value", "number"), [(27.5, "27.5"), (1.234, "1.234"), (1234.5, "1234.5"), ("1.234", "1234")])
def test_a_number_of_json_has_its_point_in_every_format(api: Api, value: Any, number: str) -> None:
    head = api.as_role("administrator")
    head.post("/api/v2/workspace_settings.json", {"number_format": "1.234,5"})
    api.post("/api/v2/fields.json", {"name": "Weight", "type": "number"})

    made = api.post(PATH, {"fields": {"weight": value}}).json()

    assert made["fields"]["weight"] == number


def test_numbers_stored_before_the_number_format_stay_until_they_are_written(
    api: Api, database: Database, workspace: Workspace
) -> None:
    """An older version read `27,5` as 275, in every workspace."""
    make_field(database, workspace, "Weight", "number")
    uuid = make_contact(database, workspace)
    with database.writing() as tx:
        old = {tx.execute(select(field.c.uuid)).scalar_one(): {"text": "27,5", "number": "275"}}
        tx.execute(update(workspace_table).values(country="DE", number_format=None))
        tx.execute(update(contact).values(fields=old))

    def weight(**body: Any) -> str:
        return str((api.post(PATH, body, uuid=uuid) if body else api.get(PATH, uuid=uuid)).json()["fields"]["weight"])

    assert api.results(PATH, uuid=uuid)[0]["fields"]["weight"] == "275"
    assert [each["uuid"] for each in api.results(PATH, query="weight = 275")] == [uuid]
    assert weight(name="Amina") == weight(fields={"weight": "275"}) == "275"
    with database.reading() as tx:
        assert tx.execute(select(contact.c.fields)).scalar_one() == old
    assert weight(fields={"weight": "27,5"}) == "27.5"
