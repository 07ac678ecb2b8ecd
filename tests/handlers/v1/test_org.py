"""`/api/v1/org.json` over HTTP."""

from tests.api import Api

PATH = "/api/v1/org.json"


def test_the_workspace_is_the_one_of_generation_2(api: Api) -> None:
    record = api.get(PATH).json()

    newer = api.get("/api/v2/workspace.json").json()
    assert newer == {**record, "answer_limit": 12, "origins": [], "number_format": "1,234.5"}
    assert (record["name"], record["primary_language"], record["anon"]) == ("Riverside Health", "eng", False)


def test_it_is_that_of_the_token(api: Api, other_api: Api) -> None:
    assert other_api.get(PATH).json()["name"] == "Hilltop Schools"
