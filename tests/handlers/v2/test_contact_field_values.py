"""Values of contact fields as `/api/v2/contacts.json` takes and shows them."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.workspaces import Workspace
from tests.api import Api
from tests.factories import make_contact, make_field

PATH = "/api/v2/contacts.json"


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
    api: Api, database: Database, workspace: Workspace, value: Any, as_text: str | None, as_number: str | None
) -> None:
    make_field(database, workspace, "Words")
    make_field(database, workspace, "Age", "number")
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
