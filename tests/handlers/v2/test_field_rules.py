"""How `/api/v2/fields.json` handles names, types and limits, and what contacts show of it."""

from typing import Any

import pytest

from tests.api import Api

PATH = "/api/v2/fields.json"
CONTACTS = "/api/v2/contacts.json"
TYPES = ["text", "number", "datetime", "state", "district", "ward"]


def write(api: Api, name: str, kind: str = "text", **query: Any) -> tuple[int, dict[str, Any]]:
    response = api.post(PATH, {"name": name, "type": kind}, **query)
    return response.status_code, response.json()


class TestListFields:
    def test_fields_come_newest_first_with_both_sets_of_words(self, api: Api) -> None:
        write(api, "Age", "number")
        write(api, "Village")

        records = api.results(PATH)

        assert [one["key"] for one in records] == ["village", "age"]
        assert records[1] == records[1] | {
            "key": "age",
            "name": "Age",
            "label": "Age",
            "type": "number",
            "value_type": "numeric",
        }

    def test_a_key_is_looked_for_as_it_is(self, api: Api) -> None:
        write(api, "Age")

        assert [one["key"] for one in api.results(PATH, key="age")] == ["age"]
        assert api.results(PATH, key="Age") == api.results(PATH, key="ag") == []
        assert len(api.results(PATH, key="")) == 1

    def test_dates_of_the_system_are_not_listed_and_their_names_are_taken(self, api: Api) -> None:
        assert api.results(PATH) == api.results(PATH, key="created_on") == []
        assert write(api, "Last Seen On")[0] == 400


class TestWriteField:
    @pytest.mark.together
    @pytest.mark.parametrize("kind", TYPES)
    def test_each_type_can_be_made_and_changed_to(self, api: Api, kind: str) -> None:
        write(api, f"Answer {kind}", kind)

        (made,) = (each for each in api.results(PATH) if each["name"] == f"Answer {kind}")
        assert made["type"] == kind
        for other in TYPES:
            status, record = write(api, f"Answer {kind}", other, key=made["key"])
            assert (status, record["type"]) == (200, other)

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("Date of Birth", "date_of_birth"),
            ("  Age  ", "age"),
            ("x-ray 2", "x_ray_2"),
            ("A  -  B", "a_b"),
            ("Age-", "age"),
            ("x" * 36, "x" * 36),
        ],
    )
    def test_a_key_is_made_of_the_letters_and_digits_of_a_name(self, api: Api, name: str, key: str) -> None:
        status, record = write(api, name)

        assert (status, record["key"], record["name"]) == (201, key, name.strip())

    @pytest.mark.together
    @pytest.mark.parametrize(
        "name", ["has", "is", "Fields", "URNs", "created on", "last-seen-on", "---", "1st", "naïve!", "a_b"]
    )
    def test_a_name_that_gives_no_good_key_is_refused(self, api: Api, name: str) -> None:
        status, problem = write(api, name)

        assert (status, list(problem)) == (400, ["name"])
        assert api.results(PATH) == []

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"type": "text"}, "name"),
            ({"name": "Age"}, "type"),
            ({}, "name"),
            ({"name": "Age", "type": "numeric"}, "type"),
            ({"name": "Age", "value_type": "color"}, "value_type"),
            ({"label": "x" * 37, "type": "text"}, "label"),
        ],
    )
    def test_a_missing_or_bad_value_is_named(self, api: Api, body: dict[str, str], field: str) -> None:
        response = api.post(PATH, body)

        assert (response.status_code, list(response.json())[:1]) == (400, [field])
        assert api.results(PATH) == []

    def test_newer_words_win_over_older_ones(self, api: Api) -> None:
        body = {"name": "Age", "label": "Weight", "type": "number", "value_type": "text"}

        record = api.post(PATH, body).json()

        assert (record["name"], record["type"]) == ("Age", "number")

    def test_a_name_of_another_field_is_not_taken_over(self, api: Api) -> None:
        write(api, "Age")
        write(api, "Village")

        assert write(api, "VILLAGE", key="age")[0] == 400
        assert write(api, "aGE", key="age")[0] == 200
        assert sorted(one["name"] for one in api.results(PATH)) == ["Village", "aGE"]

    def test_a_contact_shows_its_value_as_what_the_field_is_now(self, api: Api) -> None:
        write(api, "Answer")
        api.post(CONTACTS, {"fields": {"answer": "27.0"}})
        shown = []
        for kind in ("text", "number", "datetime", "text"):
            write(api, "Answer", kind, key="answer")
            shown.append(api.results(CONTACTS)[0]["fields"]["answer"])

        assert shown == ["27.0", "27", None, "27.0"]


class TestDeleteField:
    def test_a_field_made_again_begins_empty(self, api: Api) -> None:
        write(api, "Age")
        api.post(CONTACTS, {"fields": {"age": "27"}})

        assert api.delete(PATH, key="age").status_code == 204

        write(api, "Age")
        assert api.results(CONTACTS)[0]["fields"] == {"age": None}
