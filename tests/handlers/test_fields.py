"""`fields.json` of both generations over HTTP."""

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_field, make_named

PATH = "/api/v2/fields.json"
V1 = "/api/v1/fields.json"
WORDS = [(V1, "label", "value_type", "T"), (PATH, "name", "type", "text")]
"""What each generation calls name and type of a field, and a type."""
BOTH = pytest.mark.parametrize(("path", "label", "kind", "text"), WORDS)


class TestListFields:
    def test_a_key_finds_one_field(self, api: Api, database: Database, workspace: Workspace) -> None:
        make_field(database, workspace, "Age", "number")
        make_field(database, workspace, "Due Date", "datetime")

        found = api.results(PATH, key="due_date")

        assert [(one["name"], one["type"], one["value_type"]) for one in found] == [
            ("Due Date", "datetime", "datetime")
        ]
        assert api.results(PATH, key="unknown") == []

    def test_agents_do_not_see_hidden_fields(self, api: Api, database: Database, workspace: Workspace) -> None:
        make_field(database, workspace, "Open", access="view")
        make_field(database, workspace, "Secret", access="none")

        assert [one["key"] for one in api.as_role("agent").results(PATH)] == ["open"]
        assert len(api.results(PATH)) == 2


class TestWriteField:
    @BOTH
    def test_a_key_is_made_from_the_name(self, api: Api, path: str, label: str, kind: str, text: str) -> None:
        response = api.post(path, {label: "Date of Birth", kind: text})

        assert response.status_code == 201
        assert (response.json()["key"], response.json()["label"]) == ("date_of_birth", "Date of Birth")
        assert response.json()["value_type"] == text

    @pytest.mark.parametrize(
        "names",
        [
            ("น้ำหนัก", "ส่วนสูง"),
            ("वज़न", "ऊँचाई"),
            ("எடை", "உயரம்"),
            ("Вес", "Рост"),
            ("体重", "身長"),
            ("قد\u200cبلند", "وزن"),
        ],
    )
    def test_names_of_every_script_get_a_key_of_their_own(self, api: Api, names: tuple[str, str]) -> None:
        made = [api.post(PATH, {"name": name, "type": "number"}) for name in names]
        contact = api.post("/api/v2/contacts.json", {"name": "Amina", "fields": {"field_2": "7"}}).json()
        again = api.post(PATH, {"name": names[0], "type": "number"})

        assert [each.json()["name"] for each in made] == list(names)
        assert [each.json()["key"] for each in made] == ["field", "field_2"]
        assert contact["fields"] == {"field": None, "field_2": "7"}
        assert (again.status_code, list(again.json())) == (400, ["name"])

    def test_older_words_are_accepted(self, api: Api) -> None:
        record = api.post(PATH, {"label": "Age", "value_type": "numeric"}).json()

        assert (record["name"], record["type"], record["value_type"]) == ("Age", "number", "numeric")

    def test_a_renamed_field_keeps_its_key(self, api: Api) -> None:
        api.post(PATH, {"name": "Age", "type": "number"})

        response = api.post(PATH, {"name": "Years", "type": "text"}, key="age")

        assert (response.status_code, response.json()["key"], response.json()["name"]) == (200, "age", "Years")

    @pytest.mark.together
    @BOTH
    @pytest.mark.parametrize("name", ["", "x" * 37, "a!b", "has", "Created On", "9 lives", "a_b", "  ", 7])
    def test_a_bad_name_is_refused_by_field(
        self, api: Api, path: str, label: str, kind: str, text: str, name: object
    ) -> None:
        response = api.post(path, {label: name, kind: text})

        assert (response.status_code, list(response.json())) == (400, [label])
        assert api.results(path) == []

    @pytest.mark.together
    @BOTH
    @pytest.mark.parametrize("value", ["color", "X", None, 3])
    def test_a_bad_type_is_refused_by_field(
        self, api: Api, path: str, label: str, kind: str, text: str, value: object
    ) -> None:
        response = api.post(path, {label: "Age", kind: value})

        assert (response.status_code, list(response.json())) == (400, [kind])

    def test_36_characters_are_accepted(self, api: Api) -> None:
        assert api.post(PATH, {"name": "x" * 36, "type": "text"}).status_code == 201

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["aGE", "AGE"])
    def test_a_name_in_another_case_is_taken(self, api: Api, name: str) -> None:
        api.post(PATH, {"name": "Age", "type": "number"})

        assert list(api.post(PATH, {"name": name, "type": "text"}).json()) == ["name"]

    def test_two_names_with_one_key_clash(self, api: Api) -> None:
        api.post(PATH, {"name": "Due Date", "type": "text"})

        assert list(api.post(PATH, {"name": "Due-Date", "type": "text"}).json()) == ["name"]


class TestDeleteField:
    def test_a_deleted_field_leaves_the_contacts(self, api: Api) -> None:
        api.post(PATH, {"name": "Age", "type": "number"})
        api.post("/api/v2/contacts.json", {"fields": {"age": "27"}})

        assert api.delete(PATH, key="age").status_code == 204
        assert api.results("/api/v2/contacts.json")[0]["fields"] == {}
        assert api.delete(PATH, key="age").status_code == 404

    @pytest.mark.parametrize("query", ["age > 17", 'name = "x" AND (Age = "")', 'fields.age != ""'])
    def test_a_field_that_a_smart_group_asks_for_stays(
        self, api: Api, database: Database, workspace: Workspace, query: str
    ) -> None:
        api.post(PATH, {"name": "Age", "type": "number"})
        make_named(database, workspace, group, ["Adults"], query=query)

        response = api.delete(PATH, key="age")

        assert (response.status_code, response.json()) == (
            400,
            {"detail": 'The query of the group "Adults" uses this field: change or delete the group first.'},
        )
        assert len(api.results(PATH)) == 1

    @pytest.mark.parametrize("query", ['village = "age > 1"', "village > 17", 'name ~ "age"'])
    def test_a_query_that_only_looks_like_it_keeps_nothing(
        self, api: Api, database: Database, workspace: Workspace, query: str
    ) -> None:
        api.post(PATH, {"name": "Age", "type": "number"})
        make_named(database, workspace, group, ["Villagers"], query=query)

        assert api.delete(PATH, key="age").status_code == 204


class TestAgentAccess:
    def test_it_can_be_set_and_stays_where_it_is_not_named(self, api: Api) -> None:
        made = api.post(PATH, {"name": "Age", "type": "number", "agent_access": "edit"}).json()
        renamed = api.post(PATH, {"name": "Years", "type": "number"}, key="age").json()
        hidden = api.post(PATH, {"name": "Years", "type": "number", "agent_access": "none"}, key="age").json()

        assert [one["agent_access"] for one in (made, renamed, hidden)] == ["edit", "edit", "none"]
        assert api.post(PATH, {"name": "Weight", "type": "number"}).json()["agent_access"] == "view"

    @pytest.mark.together
    @pytest.mark.parametrize("access", ["all", "", None, 7])
    def test_other_words_are_refused(self, api: Api, access: object) -> None:
        response = api.post(PATH, {"name": "Age", "type": "number", "agent_access": access})

        assert (response.status_code, list(response.json())) == (400, ["agent_access"])

    @pytest.mark.parametrize(
        ("access", "shown", "error"),
        [("none", {}, 'No contact field "age".'), ("view", {"age": "27"}, 'Agents cannot edit the field "age".')],
    )
    def test_agents_have_the_access_that_the_field_gives_them(
        self, api: Api, access: str, shown: dict[str, str], error: str
    ) -> None:
        api.post(PATH, {"name": "Age", "type": "number", "agent_access": access})
        contact = api.post("/api/v2/contacts.json", {"fields": {"age": "27"}}).json()
        agent = api.as_role("agent")

        refused = agent.post("/api/v2/contacts.json", {"fields": {"age": "28"}}, uuid=contact["uuid"])

        assert (refused.status_code, refused.json()) == (400, {"fields": [error]})
        assert agent.results("/api/v2/contacts.json")[0]["fields"] == shown

    def test_agents_edit_what_is_open_to_them(self, api: Api) -> None:
        api.post(PATH, {"name": "Age", "type": "number", "agent_access": "edit"})

        made = api.as_role("agent").post("/api/v2/contacts.json", {"fields": {"age": "27"}})

        assert (made.status_code, made.json()["fields"]) == (201, {"age": "27"})


class TestGeneration1:
    def test_a_part_of_a_key_finds_fields_of_any_case_newest_first(self, api: Api) -> None:
        for label in ("Due Date", "Birth Date", "Age"):
            api.post(V1, {"label": label, "value_type": "T"})

        assert [field["key"] for field in api.results(V1, key="DATE")] == ["birth_date", "due_date"]
        assert api.results(V1, key="d_te") == []

    def test_a_key_names_the_field_to_change(self, api: Api) -> None:
        api.post(V1, {"label": "Due Date", "value_type": "T"})

        response = api.post(V1, {"key": "due_date", "label": "Birth", "value_type": "D"})

        assert (response.status_code, response.json()["label"]) == (201, "Birth")
        assert api.results(V1) == [{"key": "due_date", "label": "Birth", "value_type": "D"}]

    def test_making_a_field_again_changes_it(self, api: Api) -> None:
        api.post(V1, {"label": "Due Date", "value_type": "T"})

        response = api.post(V1, {"label": "due date", "value_type": "D"})

        assert response.status_code == 201
        assert api.results(V1) == [{"key": "due_date", "label": "due date", "value_type": "D"}]

    def test_a_label_without_latin_letters_names_its_field(self, api: Api) -> None:
        api.post(V1, {"label": "น้ำหนัก", "value_type": "T"})
        api.post(V1, {"label": "ส่วนสูง", "value_type": "T"})

        api.post(V1, {"label": "ส่วนสูง", "value_type": "N"})

        known = {each["label"]: (each["key"], each["value_type"]) for each in api.results(V1)}
        assert known == {"น้ำหนัก": ("field", "T"), "ส่วนสูง": ("field_2", "N")}

    def test_an_unknown_key_is_a_problem_of_that_field(self, api: Api) -> None:
        response = api.post(V1, {"key": "shoe_size", "label": "Shoe Size", "value_type": "N"})

        assert (response.status_code, list(response.json())) == (400, ["key"])

    def test_label_and_type_are_needed(self, api: Api) -> None:
        assert set(api.post(V1, {}).json()) == {"label", "value_type"}
