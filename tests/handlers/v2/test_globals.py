"""`/api/v2/globals.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import select

from persistence.database import Database
from persistence.tables.service import global_value
from persistence.workspaces.records import Workspace
from tests.api import Api

PATH = "/api/v2/globals.json"
PHONE = {"name": "Clinic Phone", "value": "+254202555000"}


class TestListGlobals:
    def test_the_last_changed_global_comes_first(self, api: Api) -> None:
        for name in ("First", "Second"):
            api.post(PATH, {"name": name, "value": "x"})
        api.post(PATH, {"value": "y"}, key="first")

        assert [each["key"] for each in api.results(PATH)] == ["first", "second"]
        assert [each["key"] for each in api.results(PATH, reverse="true")] == ["second", "first"]

    def test_a_key_filter_is_exact_and_unknown_keys_find_nothing(self, api: Api) -> None:
        api.post(PATH, PHONE)

        assert len(api.results(PATH, key="clinic_phone")) == 1
        assert api.results(PATH, key="clinic") == []
        assert api.results(PATH, key="CLINIC_PHONE") == []


class TestWriteGlobal:
    def test_a_new_global_gets_a_key_made_from_its_name(self, api: Api) -> None:
        response = api.post(PATH, PHONE)

        assert response.status_code == 201
        assert response.json() == {
            "key": "clinic_phone",
            "modified_on": response.json()["modified_on"],
            **PHONE,
        }

    @pytest.mark.parametrize("name", ["เบอร์โทร", "फ़ोन", "Телефон"])
    def test_names_of_every_script_get_a_key(self, api: Api, name: str) -> None:
        made = api.post(PATH, {"name": name, "value": "1"}).json()

        assert (made["name"], made["key"]) == (name, "global")

    def test_a_key_changes_the_value_and_leaves_the_name(self, api: Api) -> None:
        api.post(PATH, PHONE)

        response = api.post(PATH, {"value": "112"}, key="clinic_phone")

        assert response.status_code == 200
        assert (response.json()["name"], response.json()["value"]) == ("Clinic Phone", "112")

    def test_a_given_name_is_applied_and_the_key_stays(self, api: Api) -> None:
        api.post(PATH, PHONE)

        changed = api.post(PATH, {"name": "Hotline", "value": "112"}, key="clinic_phone").json()

        assert (changed["name"], changed["key"]) == ("Hotline", "clinic_phone")

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"value": "x"}, "name"),
            ({"name": None, "value": "x"}, "name"),
            ({"name": "Phone"}, "value"),
            ({"name": "Phone", "value": "  "}, "value"),
            ({"name": "Phone", "value": "x" * 10_001}, "value"),
            ({"name": "x" * 37, "value": "x"}, "name"),
            ({"name": "a.b", "value": "x"}, "name"),
            ({"name": "4 wheels", "value": "x"}, "name"),
            ({"name": "___", "value": "x"}, "name"),
        ],
    )
    def test_a_bad_body_is_refused_by_field(self, api: Api, body: dict[str, Any], field: str) -> None:
        response = api.post(PATH, body)

        assert (response.status_code, list(response.json())) == (400, [field])

    def test_the_longest_name_and_value_are_accepted(self, api: Api) -> None:
        assert api.post(PATH, {"name": "n" * 36, "value": "v" * 10_000}).status_code == 201

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["CLINIC PHONE", "Clinic-Phone"])
    def test_a_taken_name_or_key_is_refused(self, api: Api, name: str) -> None:
        api.post(PATH, PHONE)

        response = api.post(PATH, {"name": name, "value": "x"})

        assert (response.status_code, list(response.json())) == (400, ["name"])


class TestDeleteGlobal:
    def test_a_deleted_global_is_gone(self, api: Api, database: Database, workspace: Workspace) -> None:
        api.post(PATH, PHONE)

        assert api.delete(PATH, key="clinic_phone").status_code == 204
        assert api.delete(PATH, key="clinic_phone").status_code == 404
        with database.reading() as tx:
            assert tx.execute(select(global_value.c.key).where(global_value.c.workspace_id == workspace.id)).all() == []
