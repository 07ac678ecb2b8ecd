"""`/api/v2/optins.json` over HTTP."""

import pytest

from tests.api import Api

PATH = "/api/v2/optins.json"


class TestListOptins:
    def test_optins_come_newest_first(self, api: Api) -> None:
        for name in ("News", "Offers"):
            api.post(PATH, {"name": name})

        assert [optin["name"] for optin in api.results(PATH)] == ["Offers", "News"]


class TestCreateOptin:
    def test_a_new_optin_is_answered_with_its_record(self, api: Api) -> None:
        response = api.post(PATH, {"name": "News"})

        record = response.json()
        assert response.status_code == 201
        assert record == {"uuid": record["uuid"], "name": "News", "created_on": record["created_on"]}

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["", "back\\slash", "x" * 65, None, "nEWS"])
    def test_a_bad_or_taken_name_is_refused_by_field(self, api: Api, name: object) -> None:
        api.post(PATH, {"name": "News"})

        response = api.post(PATH, {"name": name})

        assert (response.status_code, list(response.json())) == (400, ["name"])


class TestChangeOptin:
    def test_an_optin_is_renamed_by_uuid(self, api: Api) -> None:
        made = api.post(PATH, {"name": "News"}).json()

        response = api.post(PATH, {"name": "Offers"}, uuid=made["uuid"])

        assert (response.status_code, response.json()) == (200, made | {"name": "Offers"})
        assert api.post(PATH, {"name": "Tips"}, uuid="00000000-0000-4000-8000-000000000000").status_code == 404

    def test_an_optin_is_deleted(self, api: Api) -> None:
        uuid = api.post(PATH, {"name": "News"}).json()["uuid"]

        assert [api.delete(PATH, uuid=uuid.upper()).status_code for _ in range(2)] == [204, 404]
        assert api.results(PATH) == []
