"""Reading `/api/v2/contacts.json` over HTTP."""

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import update

from persistence.database import Database
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.contacts import contact, group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_field, make_named

PATH = "/api/v2/contacts.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
MOMENT = "2026-03-01T10:00:00.123456"


def names(api: Api, **query: Any) -> list[str]:
    return [one["name"] for one in api.results(PATH, **query)]


def hide_addresses(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        tx.execute(update(workspaces).where(workspaces.c.id == workspace.id).values(is_anonymous=True))


def modify_at(database: Database, uuid: str, moment: str) -> None:
    with database.writing() as tx:
        when = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        tx.execute(update(contact).where(contact.c.uuid == uuid).values(modified_on=when))


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def bosco(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000222", name="Bosco")


class TestListContacts:
    def test_a_record_has_all_that_is_known(self, api: Api, database: Database, workspace: Workspace) -> None:
        nurses = make_named(database, workspace, group, ["Nurses"])[0]
        make_field(database, workspace, "Age", "number")
        make_field(database, workspace, "Village")
        body = {"name": "Amina", "language": "kin", "urns": ["tel:0788000111", "telegram:5599"], "groups": [nurses]}
        api.post(PATH, body | {"fields": {"age": "27"}})

        record = api.results(PATH)[0]

        assert record == {
            "uuid": record["uuid"],
            "name": "Amina",
            "status": "active",
            "language": "kin",
            "urns": ["tel:+250788000111", "telegram:5599"],
            "groups": [{"uuid": nurses, "name": "Nurses"}],
            "fields": {"age": "27", "village": None},
            "flow": None,
            "created_on": record["created_on"],
            "modified_on": record["modified_on"],
            "last_seen_on": None,
            "answers_stopped_on": None,
            "blocked": False,
            "stopped": False,
        }

    def test_the_contact_changed_last_comes_first(self, api: Api, amina: str, bosco: str) -> None:
        assert names(api) == ["Bosco", "Amina"]

        api.post(PATH, {"name": "Amina W."}, uuid=amina)

        assert names(api) == ["Amina W.", "Bosco"]
        assert names(api, reverse="true") == ["Bosco", "Amina W."]

    def test_contacts_sorted_by_name_come_in_the_order_of_letters_and_those_without_a_name_last(self, api: Api) -> None:
        in_order = ["amina", "Amina B.", "Bosco", "bosco", "y" * 64, "Zoë", "Ékélé", "ﷺ" * 64]
        for name in [None, *in_order[2:], *in_order[:2]]:
            api.post(PATH, {"name": name})

        # The page after each has a cursor of its own; names that differ in capitals come in the order they were made.
        found = [each["name"] for each in api.all_results(PATH, sort="name", page_size=1)]
        assert found == [*in_order, None]
        assert names(api, sort="name", reverse="true") == found[::-1]
        assert names(api, sort="name", query="name ~ bosco") == ["Bosco", "bosco"]

    @pytest.mark.together
    @pytest.mark.parametrize("urn", ["tel:+250788000111", "tel:0788000111", "tel:250788000111", "TEL:0788 000 111"])
    def test_an_address_is_normalized_before_it_is_looked_for(self, api: Api, amina: str, bosco: str, urn: str) -> None:
        assert names(api, urn=urn) == ["Amina"]

    def test_a_group_is_found_by_uuid_and_by_name_of_any_case(
        self, api: Api, database: Database, workspace: Workspace, amina: str, bosco: str
    ) -> None:
        nurses = make_named(database, workspace, group, ["Nurses"])[0]
        api.post(PATH, {"groups": [nurses]}, uuid=amina)

        assert names(api, group=nurses) == names(api, group="nURSES") == ["Amina"]

    def test_filters_combine(self, api: Api, database: Database, workspace: Workspace, amina: str, bosco: str) -> None:
        nurses = make_named(database, workspace, group, ["Nurses"])[0]
        for uuid in (amina, bosco):
            api.post(PATH, {"groups": [nurses]}, uuid=uuid)

        assert names(api, uuid=amina, group=nurses) == ["Amina"]
        assert names(api, uuid=amina, urn="tel:+250788000111", group=nurses) == ["Amina"]
        assert names(api, uuid=amina, urn="tel:+250788000222") == []
        assert names(api, uuid=amina, deleted="true") == []
        assert names(api, group=nurses, before="2020-01-01") == []

    @pytest.mark.together
    @pytest.mark.parametrize(
        "query",
        [{"uuid": UNKNOWN}, {"urn": "tel:+250788999999"}, {"group": UNKNOWN}, {"group": "nobody"}, {"deleted": "1"}],
    )
    def test_what_names_nobody_gives_an_empty_list(self, api: Api, amina: str, query: dict[str, str]) -> None:
        assert names(api, **query) == []

    @pytest.mark.together
    @pytest.mark.parametrize(
        "query",
        [{"uuid": "x"}, {"urn": "tel:12"}, {"urn": "nonsense"}, {"before": "yesterday"}, {"after": "2026-02-30"}],
    )
    def test_a_malformed_filter_is_refused(self, api: Api, query: dict[str, str]) -> None:
        response = api.get(PATH, **query)

        assert (response.status_code, list(response.json())) == (400, ["detail"])

    def test_a_moment_beyond_a_bound_is_left_out(self, api: Api, database: Database, amina: str) -> None:
        modify_at(database, amina, MOMENT)

        assert names(api, after="2026-03-01T10:00:00.123457") == []
        assert names(api, before="2026-03-01T10:00:00.123455") == []
        assert names(api, before="2026-03-01T10:00:00.123") == []

    def test_of_deleted_contacts_only_the_times_remain(self, api: Api, amina: str, bosco: str) -> None:
        api.delete(PATH, uuid=amina)

        record = api.results(PATH, deleted="true")[0]

        assert names(api) == ["Bosco"]
        assert {name: value for name, value in record.items() if value not in (None, [], {})}.keys() == {
            "uuid",
            "created_on",
            "modified_on",
        }

    def test_contacts_that_are_not_active_are_in_the_list(self, api: Api, amina: str) -> None:
        api.post("/api/v2/contact_actions.json", {"contacts": [amina], "action": "block"})

        record = api.results(PATH)[0]

        assert (record["status"], record["blocked"], record["stopped"]) == ("blocked", True, False)

    def test_agents_see_only_the_fields_open_to_them(self, api: Api, database: Database, workspace: Workspace) -> None:
        for name, access in (("Age", "view"), ("Diagnosis", "none"), ("Village", "edit")):
            make_field(database, workspace, name, access=access)
        api.post(PATH, {"fields": {"age": "27", "diagnosis": "malaria", "village": "Gisozi"}})

        assert api.as_role("agent").results(PATH)[0]["fields"] == {"age": "27", "village": "Gisozi"}
        assert api.results(PATH)[0]["fields"]["diagnosis"] == "malaria"


class TestAnonymousWorkspaces:
    def test_addresses_are_masked_behind_their_scheme(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        hide_addresses(database, workspace)

        hidden = api.as_role("viewer").results(PATH)[0]

        assert hidden["urns"] == ["tel:********"]

    def test_addresses_are_given_to_new_contacts_but_never_changed(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        hide_addresses(database, workspace)
        editor = api.as_role("editor")

        new = editor.post(PATH, {"urns": ["tel:+250788000333"]})
        changed = editor.post(PATH, {"urns": ["tel:+250788000444"]}, uuid=amina)

        assert (new.status_code, new.json()["urns"]) == (201, ["tel:********"])
        assert (changed.status_code, list(changed.json())) == (400, ["urns"])
