"""`/api/v1/fields.json` over HTTP."""

import pytest

from tests.api import Api

PATH = "/api/v1/fields.json"


class TestListFields:
    def test_a_part_of_a_key_finds_fields_of_any_case_newest_first(self, api: Api) -> None:
        for label in ("Due Date", "Birth Date", "Age"):
            api.post(PATH, {"label": label, "value_type": "T"})

        assert [field["key"] for field in api.results(PATH, key="DATE")] == ["birth_date", "due_date"]
        assert api.results(PATH, key="d_te") == []


class TestWriteField:
    @pytest.mark.parametrize(
        ("letter", "word"),
        [("T", "text"), ("N", "number"), ("D", "datetime"), ("S", "state"), ("I", "district"), ("W", "ward")],
    )
    def test_each_letter_is_a_type_of_generation_2(self, api: Api, letter: str, word: str) -> None:
        response = api.post(PATH, {"label": "Due Date", "value_type": letter})

        assert (response.status_code, response.json()) == (
            201,
            {"key": "due_date", "label": "Due Date", "value_type": letter},
        )
        assert api.results("/api/v2/fields.json")[0]["type"] == word

    def test_a_key_names_the_field_to_change(self, api: Api) -> None:
        api.post(PATH, {"label": "Due Date", "value_type": "T"})

        response = api.post(PATH, {"key": "due_date", "label": "Birth", "value_type": "D"})

        assert (response.status_code, response.json()["label"]) == (201, "Birth")
        assert api.results(PATH) == [{"key": "due_date", "label": "Birth", "value_type": "D"}]

    def test_making_a_field_again_changes_it(self, api: Api) -> None:
        api.post(PATH, {"label": "Due Date", "value_type": "T"})

        response = api.post(PATH, {"label": "due date", "value_type": "D"})

        assert response.status_code == 201
        assert api.results(PATH) == [{"key": "due_date", "label": "due date", "value_type": "D"}]

    def test_a_label_without_latin_letters_names_its_field(self, api: Api) -> None:
        api.post(PATH, {"label": "น้ำหนัก", "value_type": "T"})
        api.post(PATH, {"label": "ส่วนสูง", "value_type": "T"})

        api.post(PATH, {"label": "ส่วนสูง", "value_type": "N"})

        known = {each["label"]: (each["key"], each["value_type"]) for each in api.results(PATH)}
        assert known == {"น้ำหนัก": ("field", "T"), "ส่วนสูง": ("field_2", "N")}

    def test_an_unknown_key_is_a_problem_of_that_field(self, api: Api) -> None:
        response = api.post(PATH, {"key": "shoe_size", "label": "Shoe Size", "value_type": "N"})

        assert (response.status_code, list(response.json())) == (400, ["key"])

    @pytest.mark.parametrize("label", ["Created on", "9 lives", "a_b"])
    def test_a_label_that_makes_no_good_key_is_a_problem_of_the_label(self, api: Api, label: str) -> None:
        response = api.post(PATH, {"label": label, "value_type": "T"})

        assert (response.status_code, list(response.json())) == (400, ["label"])

    def test_label_and_type_are_needed(self, api: Api) -> None:
        assert set(api.post(PATH, {}).json()) == {"label", "value_type"}
        assert set(api.post(PATH, {"label": "Age", "value_type": "X"}).json()) == {"value_type"}
