"""What `/api/v2/groups.json` shows while contacts join and leave, and while groups are in use."""

from typing import Any

import pytest
from sqlalchemy import insert

from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.campaigns import campaign, trigger, trigger_group
from persistence.tables.contacts import group
from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_named

PATH = "/api/v2/groups.json"
CONTACTS = "/api/v2/contacts.json"
ACTIONS = "/api/v2/contact_actions.json"


@pytest.fixture
def nurses(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Nurses"])[0]


def act(api: Api, action: str, *contacts: str, **more: Any) -> None:
    assert api.post(ACTIONS, {"contacts": list(contacts), "action": action, **more}).status_code == 204


def count(api: Api, uuid: str) -> int:
    return int(api.results(PATH, uuid=uuid)[0]["count"])


def add_campaign(database: Database, workspace: Workspace, uuid: str, *, is_archived: bool) -> None:
    with database.writing() as tx:
        group_id = tx.execute(group.select().where(group.c.uuid == uuid)).one().id
        names = {"name": "Reminders", "name_key": "reminders", "uuid": new_uuid(), "created_on": tx.now}
        row = {"workspace_id": workspace.id, "group_id": group_id, "is_archived": is_archived} | names
        tx.execute(insert(campaign).values(row))


def add_trigger(database: Database, workspace: Workspace, uuid: str, *, is_archived: bool) -> None:
    with database.writing() as tx:
        group_id = tx.execute(group.select().where(group.c.uuid == uuid)).one().id
        times = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now}
        lists: dict[str, Any] = {name: [] for name in ("results", "parent_refs", "dependencies", "issues")}
        shown = {"name": "Registration", "name_key": "registration", "type": "message", "uuid": new_uuid()}
        flow_id = tx.execute(insert(flow).values(shown | lists | times).returning(flow.c.id)).scalar_one()
        row = {"type": "keyword", "flow_id": flow_id, "keywords": ["join"], "is_archived": is_archived} | times
        trigger_id = tx.execute(insert(trigger).values(row | {"uuid": new_uuid()}).returning(trigger.c.id)).scalar_one()
        link = {"workspace_id": workspace.id, "trigger_id": trigger_id, "group_id": group_id}
        tx.execute(insert(trigger_group).values(link))


class TestCountOfMembers:
    def test_it_follows_every_way_in_and_out(
        self, api: Api, database: Database, workspace: Workspace, nurses: str
    ) -> None:
        amina, bosco, zuri = (make_contact(database, workspace, name=name) for name in ("Amina", "Bosco", "Zuri"))
        seen = []
        for action, contacts, more in (
            ("add", (amina, bosco, zuri), {"group": nurses}),
            ("add", (amina,), {"group": nurses}),
            ("remove", (amina, amina), {"group": nurses}),
            ("block", (bosco,), {}),
            ("unblock", (bosco,), {}),
            ("delete", (zuri,), {}),
        ):
            act(api, action, *contacts, **more)
            seen.append(count(api, nurses))

        assert seen == [3, 3, 2, 1, 1, 0]
        assert api.post(CONTACTS, {"groups": ["NURSES"]}, uuid=amina).status_code == 200
        assert count(api, nurses) == 1
        assert [one["uuid"] for one in api.results(CONTACTS, group=nurses)] == [amina]

    def test_a_smart_group_follows_the_contacts_through_block_and_back(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        named = make_named(database, workspace, group, ["Aminas"], query='name = "Amina"')[0]
        amina = api.post(CONTACTS, {"name": "Amina"}).json()["uuid"]
        seen = [count(api, named)]
        for change in ("block", "unblock"):
            act(api, change, amina)
            seen.append(count(api, named))
        api.post(CONTACTS, {"name": "Bosco"}, uuid=amina)

        assert [*seen, count(api, named)] == [1, 0, 1, 0]


class TestRenameGroup:
    @pytest.mark.together
    @pytest.mark.parametrize("name", ["x" * 64, "Nurses", "nURSES", "Straße 7"])
    def test_a_good_name_is_taken_also_its_own_in_another_case(self, api: Api, nurses: str, name: str) -> None:
        response = api.post(PATH, {"name": f" {name} "}, uuid=nurses)

        assert (response.status_code, response.json()["name"]) == (200, name)

    @pytest.mark.together
    @pytest.mark.parametrize("name", ["", "x" * 65, "open TICKETS", 'a"b', None, 7])
    def test_a_bad_name_changes_nothing(self, api: Api, nurses: str, name: object) -> None:
        response = api.post(PATH, {"name": name}, uuid=nurses)

        assert (response.status_code, list(response.json())) == (400, ["name"])
        assert api.results(PATH, uuid=nurses)[0]["name"] == "Nurses"

    @pytest.mark.together
    @pytest.mark.parametrize("query", [{"uuid": "x"}, {"uuid": "00000000-0000-4000-8000-000000000000"}])
    def test_what_names_no_group_changes_none(self, api: Api, nurses: str, query: dict[str, Any]) -> None:
        codes = {api.post(PATH, {"name": "Mine"}, **query).status_code, api.delete(PATH, **query).status_code}

        assert codes == ({400} if query == {"uuid": "x"} else {404})
        assert api.results(PATH, uuid=nurses)[0]["name"] == "Nurses"


class TestDeleteGroup:
    @pytest.mark.parametrize("add", [add_campaign, add_trigger])
    def test_a_group_that_is_at_work_stays(
        self, api: Api, database: Database, workspace: Workspace, nurses: str, add: Any
    ) -> None:
        add(database, workspace, nurses, is_archived=False)

        response = api.delete(PATH, uuid=nurses)

        assert (response.status_code, list(response.json())) == (400, ["detail"])
        assert len(api.results(PATH, uuid=nurses)) == 1

    @pytest.mark.parametrize("add", [add_campaign, add_trigger])
    def test_what_is_archived_keeps_no_group(
        self, api: Api, database: Database, workspace: Workspace, nurses: str, add: Any
    ) -> None:
        add(database, workspace, nurses, is_archived=True)

        assert api.delete(PATH, uuid=nurses).status_code == 204
        assert api.results(PATH, uuid=nurses) == []
