"""`/api/v1/groups.json` over HTTP."""

from tests.api import Api

PATH = "/api/v1/groups.json"


def test_a_group_has_its_number_and_size(api: Api) -> None:
    group = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]
    contact = api.post("/api/v2/contacts.json", {"groups": [group]})
    assert contact.status_code == 201, contact.text

    found = api.results(PATH, uuid=group)

    assert isinstance(found[0].pop("group"), int)
    assert found == [{"uuid": group, "name": "Nurses", "size": 1}]


def test_a_part_of_a_name_finds_groups_of_any_case(api: Api) -> None:
    for name in ("Expecting mothers", "New Mothers", "Fathers"):
        api.post("/api/v2/groups.json", {"name": name})

    assert [group["name"] for group in api.results(PATH, name="mother")] == ["New Mothers", "Expecting mothers"]


def test_groups_cannot_be_written_in_this_generation(api: Api) -> None:
    response = api.post(PATH, {"name": "Nurses"})

    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
