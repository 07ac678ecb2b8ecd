"""`/api/v1/contacts.json` over HTTP."""

from typing import Any

import pytest
from sqlalchemy import update

from persistence.sql.columns import new_uuid
from persistence.tables.accounts import workspace as workspace_table
from tests.api import Api

PATH = "/api/v1/contacts.json"
AMINA, GRACE = "tel:+250788000111", "tel:+250788000222"


def write(api: Api, **body: Any) -> dict[str, Any]:
    response = api.post(PATH, body)
    assert response.status_code == 201, response.text
    record: dict[str, Any] = response.json()
    return record


def refuse(api: Api, **body: Any) -> list[str]:
    """The fields that a refused request complains of."""
    response = api.post(PATH, body)
    assert response.status_code == 400, response.text
    return list(response.json())


def make_group(api: Api, name: str = "Nurses") -> str:
    uuid: str = api.post("/api/v2/groups.json", {"name": name}).json()["uuid"]
    return uuid


def hide_addresses(api: Api) -> Api:
    """The same workspace, anonymous from now on."""
    with api.database.writing() as tx:
        tx.execute(update(workspace_table).values(is_anonymous=True))
    return api.as_role("editor")


class TestListContacts:
    def test_a_record_is_flat(self, api: Api) -> None:
        group = make_group(api)
        for label in ("Due Date", "District"):
            api.post("/api/v1/fields.json", {"label": label, "value_type": "T"})
        uuid = write(api, urns=[AMINA, "mailto:amina@example.org"], name="Amina", language="eng")["uuid"]
        write(api, uuid=uuid, group_uuids=[group], fields={"due_date": "soon"})

        record = api.results(PATH)[0]

        assert record.pop("modified_on").endswith("Z")
        assert record == {
            "uuid": uuid,
            "name": "Amina",
            "language": "eng",
            "group_uuids": [group],
            "urns": [AMINA, "mailto:amina@example.org"],
            "fields": {"due_date": "soon", "district": None},
            "blocked": False,
            "failed": False,
            "phone": "+250788000111",
            "groups": ["Nurses"],
        }

    def test_filters_choose_by_uuid_address_and_group(self, api: Api) -> None:
        group = make_group(api)
        amina = write(api, urns=[AMINA], group_uuids=group)["uuid"]
        grace = write(api, urns=[GRACE])["uuid"]

        def find(**query: Any) -> list[str]:
            return [contact["uuid"] for contact in api.results(PATH, **query)]

        assert find(uuid=f"{amina},{new_uuid()}") == [amina]
        assert find(urns="tel:0788000222,nonsense") == [grace]
        assert find(urns="nonsense") == []
        assert api.get(PATH, group_uuids=[group, "nonsense"]).status_code == 400
        assert find(uuid=grace, group_uuids=group) == []

    def test_deleted_contacts_show_only_when_asked_for_and_then_nothing_of_them(self, api: Api) -> None:
        uuid = write(api, urns=[AMINA], name="Amina")["uuid"]
        api.delete(PATH, uuid=uuid)

        record = api.results(PATH, deleted="1")[0]

        assert api.results(PATH) == []
        assert (record["uuid"], record["name"], record["blocked"], record["failed"]) == (uuid, None, None, None)
        assert (record["urns"], record["fields"], record["phone"]) == ([], {}, None)

    def test_a_workspace_that_hides_addresses_shows_and_finds_none(self, api: Api) -> None:
        write(api, urns=[AMINA])
        fresh = hide_addresses(api)

        record = fresh.results(PATH)[0]

        assert (record["urns"], record["phone"]) == ([], None)
        assert fresh.get(PATH, urns=AMINA).status_code == 400


class TestWriteContact:
    def test_addresses_that_nobody_owns_make_a_contact(self, api: Api) -> None:
        record = write(api, urns="tel:0788 000 111", name="Amina")

        assert (record["name"], record["urns"]) == ("Amina", [AMINA])

    def test_addresses_somebody_owns_change_that_contact_and_add_the_others(self, api: Api) -> None:
        uuid = write(api, urns=[AMINA], name="Amina", language="eng")["uuid"]

        record = write(api, urns=[GRACE, AMINA], language=None)

        assert (record["uuid"], record["name"], record["language"]) == (uuid, "Amina", None)
        assert record["urns"] == [AMINA, GRACE]
        assert len(api.results(PATH)) == 1

    def test_with_a_uuid_the_addresses_replace_all(self, api: Api) -> None:
        uuid = write(api, urns=[AMINA])["uuid"]

        assert write(api, uuid=uuid, urns=[GRACE])["urns"] == [GRACE]
        assert write(api, uuid=uuid, name="Grace")["urns"] == [GRACE]

    def test_groups_are_replaced_by_those_given(self, api: Api) -> None:
        nurses, doctors = make_group(api), make_group(api, "Doctors")
        write(api, urns=[AMINA], group_uuids=[nurses])

        assert write(api, urns=[AMINA], group_uuids=[doctors])["groups"] == ["Doctors"]
        assert write(api, urns=[AMINA])["groups"] == ["Doctors"]
        assert write(api, urns=[AMINA], group_uuids=[])["groups"] == []

    def test_fields_are_named_by_key_or_label(self, api: Api) -> None:
        api.post("/api/v1/fields.json", {"label": "Due Date", "value_type": "T"})

        assert write(api, urns=[AMINA], fields={"due date": "soon"})["fields"] == {"due_date": "soon"}
        assert write(api, urns=[AMINA], fields={"due_date": "later"})["fields"] == {"due_date": "later"}
        assert write(api, urns=[AMINA], fields={"due_date": None})["fields"] == {"due_date": None}

    def test_neither_addresses_nor_a_uuid_is_refused(self, api: Api) -> None:
        assert refuse(api, name="Amina") == ["urns"]
        assert refuse(api, urns=[]) == ["urns"]

    def test_addresses_of_several_contacts_are_refused(self, api: Api) -> None:
        amina = write(api, urns=[AMINA])["uuid"]
        write(api, urns=[GRACE])

        assert refuse(api, urns=[AMINA, GRACE]) == ["non_field_errors"]
        assert refuse(api, uuid=amina, urns=[GRACE]) == ["non_field_errors"]
        assert sorted(contact["urns"] for contact in api.results(PATH)) == [[AMINA], [GRACE]]

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"urns": ["tel:nonsense!"]}, "urns"),
            ({"uuid": new_uuid()}, "uuid"),
            ({"urns": [AMINA], "group_uuids": [new_uuid()]}, "group_uuids"),
            ({"urns": [AMINA], "group_uuids": ["Nurses"]}, "group_uuids"),
            ({"urns": [AMINA], "fields": {"shoe_size": "39"}}, "fields"),
            ({"urns": [AMINA], "fields": {"due_date": 7}}, "fields"),
            ({"urns": [AMINA], "language": "xxx"}, "language"),
            ({"urns": [AMINA], "name": "x" * 65}, "name"),
        ],
    )
    def test_a_bad_value_is_named_and_nothing_is_made(self, api: Api, body: dict[str, Any], field: str) -> None:
        assert api.results("/api/v1/groups.json") or make_group(api)

        assert refuse(api, **body) == [field]
        assert api.results(PATH) == []

    def test_a_blocked_contact_cannot_be_put_into_a_group(self, api: Api) -> None:
        group = make_group(api)
        uuid = write(api, urns=[AMINA])["uuid"]
        api.post("/api/v1/contact_actions.json", {"contacts": [uuid], "action": "block"})

        assert refuse(api, uuid=uuid, group_uuids=[group]) == ["non_field_errors"]


class TestDeleteContacts:
    def test_all_that_fit_are_deleted(self, api: Api) -> None:
        group = make_group(api)
        for urn in (AMINA, GRACE):
            write(api, urns=[urn], group_uuids=[group])
        write(api, urns=["tel:+250788000333"])

        assert api.delete(PATH, group_uuids=group).status_code == 204
        assert [contact["urns"] for contact in api.results(PATH)] == [["tel:+250788000333"]]

    def test_a_freed_address_makes_a_new_contact(self, api: Api) -> None:
        uuid = write(api, urns=[AMINA])["uuid"]
        api.delete(PATH, urns=AMINA)

        assert write(api, urns=[AMINA])["uuid"] != uuid

    def test_nobody_fitting_is_a_404_and_no_filter_a_400(self, api: Api) -> None:
        write(api, urns=[AMINA])

        assert api.delete(PATH, uuid=new_uuid()).status_code == 404
        assert api.delete(PATH, urns="nonsense").status_code == 404
        assert api.delete(PATH).status_code == 400
        assert len(api.results(PATH)) == 1
