"""What mirrors of contacts see: every change, with a later `modified_on`, whoever else writes."""

from typing import Any

import pytest

from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.groups.smart_groups import create_query_group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_field
from worker.jobs import begin_groups

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""On SQLite one transaction writes at a time, so these meetings cannot be made."""

CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
ACTIONS = "/api/v2/contact_actions.json"


def shown(api: Api, uuid: str) -> dict[str, Any]:
    return api.results(CONTACTS, uuid=uuid)[0]


class TestContacts:
    """Whatever changes what a contact's record shows moves its `modified_on`."""

    def test_evaluating_a_smart_group_changes_the_time_of_its_members_only(
        self, api: Api, database: Database, workspace: Workspace, runtime: Any
    ) -> None:
        amina, ben = make_contact(database, workspace), make_contact(database, workspace, name="Ben")
        before = {uuid: shown(api, uuid) for uuid in (amina, ben)}
        api.database.write(lambda tx: _add_query_group(tx, workspace, "name ~ amina"))
        step = begin_groups(runtime)
        while step():
            pass

        assert shown(api, amina)["groups"] != before[amina]["groups"]
        assert shown(api, amina)["modified_on"] > before[amina]["modified_on"]
        assert shown(api, ben) == before[ben]

    def test_deleting_a_group_changes_the_time_of_its_members_only(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        amina, ben = make_contact(database, workspace), make_contact(database, workspace, name="Ben")
        uuid = api.post(GROUPS, {"name": "Reporters"}).json()["uuid"]
        api.post(ACTIONS, {"contacts": [amina], "action": "add", "group": uuid})
        before = {uuid: shown(api, uuid) for uuid in (amina, ben)}

        api.delete(GROUPS, uuid=uuid)

        assert shown(api, amina)["groups"] != before[amina]["groups"]
        assert shown(api, amina)["modified_on"] > before[amina]["modified_on"]
        assert shown(api, ben) == before[ben]

    @pytest.mark.parametrize("change", ["type", "delete"])
    def test_changing_a_field_changes_the_time_of_contacts_with_a_value_only(
        self, api: Api, database: Database, workspace: Workspace, change: str
    ) -> None:
        key = make_field(database, workspace, "Age", "number")
        with_value = api.post(CONTACTS, {"name": "Amina", "fields": {key: "17 years"}}).json()["uuid"]
        without = api.post(CONTACTS, {"name": "Ben"}).json()["uuid"]
        before = {uuid: shown(api, uuid) for uuid in (with_value, without)}

        if change == "type":
            api.post("/api/v2/fields.json", {"name": "Age", "type": "text"}, key=key)
        else:
            api.delete("/api/v2/fields.json", key=key)

        assert shown(api, with_value)["fields"] != before[with_value]["fields"]
        assert shown(api, with_value)["modified_on"] > before[with_value]["modified_on"]
        assert shown(api, without)["modified_on"] == before[without]["modified_on"]


def _add_query_group(tx: Transaction, workspace: Workspace, query: str) -> int:
    return create_query_group(tx, workspace, "Aminas", query)


class TestQueryGroups:
    def test_a_group_follows_the_type_of_a_field_that_its_query_reads(
        self, api: Api, database: Database, workspace: Workspace, runtime: Any
    ) -> None:
        key = make_field(database, workspace, "Code", "text")
        amina = api.post(CONTACTS, {"name": "Amina", "fields": {key: "20.0"}}).json()["uuid"]
        with database.writing() as tx:
            _add_query_group(tx, workspace, "fields.code = 20")
        step = begin_groups(runtime)
        while step():
            pass
        assert shown(api, amina)["groups"] == []

        api.post("/api/v2/fields.json", {"name": "Code", "type": "number"}, key=key)
        assert api.results(GROUPS, name="Aminas")[0]["status"] == "initializing"
        while step():
            pass

        assert [each["name"] for each in shown(api, amina)["groups"]] == ["Aminas"]
        assert api.results(GROUPS, name="Aminas")[0]["status"] == "ready"

    def test_a_type_that_does_not_fit_the_query_leaves_nobody_until_it_fits_again(
        self, api: Api, database: Database, workspace: Workspace, runtime: Any
    ) -> None:
        key = make_field(database, workspace, "Age", "number")
        amina = api.post(CONTACTS, {"name": "Amina", "fields": {key: "20"}}).json()["uuid"]
        with database.writing() as tx:
            _add_query_group(tx, workspace, "fields.age > 18")
        step, members = begin_groups(runtime), []
        for kind in ("number", "text", "number"):
            api.post("/api/v2/fields.json", {"name": "Age", "type": kind}, key=key)
            while step():
                pass
            members.append([each["name"] for each in shown(api, amina)["groups"]])

        assert members == [["Aminas"], [], ["Aminas"]]
        assert api.delete("/api/v2/fields.json", key=key).status_code == 400


class TestLateCommits:
    @ON_POSTGRESQL
    def test_a_change_that_is_seen_late_is_newer_than_what_was_seen_before(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        slow, quick = make_contact(database, workspace), make_contact(database, workspace)
        with database.writing() as late:
            _rename(late, workspace, [id_of(database, slow)], "Slow")
            with database.writing() as soon:
                _rename(soon, workspace, [id_of(database, quick)], "Quick")
            newest = max(record["modified_on"] for record in api.all_results(CONTACTS))

        assert "Slow" in [record["name"] for record in api.all_results(CONTACTS, after=newest)]


def _rename(tx: Transaction, workspace: Workspace, contact_ids: list[int], name: str) -> None:
    for contact_id in sorted(contact_ids):
        change_contact(tx, workspace, contact_id, ContactChange(name=name))
