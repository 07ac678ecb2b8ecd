"""`contact_actions.json` of both generations over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_messages, make_named
from tests.run_rows import add_flow, add_waiting

V1, V2 = "/api/v1/contact_actions.json", "/api/v2/contact_actions.json"
CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
MESSAGES = "/api/v2/messages.json"
LABELS = "/api/v2/labels.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def reporters(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Reporters"])[0]


def record(api: Api, uuid: str) -> dict[str, Any]:
    return api.results(CONTACTS, uuid=uuid)[0]


def act(api: Api, path: str, action: str, *contacts: str, **more: Any) -> int:
    return int(api.post(path, {"contacts": list(contacts), "action": action, **more}).status_code)


@pytest.mark.parametrize("path", [V1, V2])
class TestBothGenerations:
    def test_added_contacts_are_members_once_and_counted_once(
        self, api: Api, path: str, amina: str, reporters: str
    ) -> None:
        assert act(api, path, "add", amina, amina, group=reporters) == 204
        assert act(api, path, "add", amina, group="rePORTERS") == 204

        assert record(api, amina)["groups"] == [{"uuid": reporters, "name": "Reporters"}]
        assert api.results(GROUPS, uuid=reporters)[0]["count"] == 1

    def test_removed_contacts_are_no_members(self, api: Api, path: str, amina: str, reporters: str) -> None:
        act(api, path, "add", amina, group=reporters)

        assert act(api, path, "remove", amina, group=reporters) == 204

        assert record(api, amina)["groups"] == []
        assert api.results(GROUPS, uuid=reporters)[0]["count"] == 0

    def test_a_blocked_contact_leaves_its_groups_and_does_not_get_them_back(
        self, api: Api, path: str, amina: str, reporters: str
    ) -> None:
        act(api, path, "add", amina, group=reporters)

        assert act(api, path, "block", amina) == 204

        blocked = record(api, amina)
        assert (blocked["status"], blocked["blocked"], blocked["groups"]) == ("blocked", True, [])
        assert api.results(GROUPS, uuid=reporters)[0]["count"] == 0
        assert act(api, path, "unblock", amina) == 204
        active = record(api, amina)
        assert (active["status"], active["blocked"], active["groups"]) == ("active", False, [])

    def test_a_blocked_contact_cannot_join_and_then_nobody_joins(
        self, api: Api, path: str, amina: str, reporters: str
    ) -> None:
        other = api.post(CONTACTS, {"name": "Bosco"}).json()["uuid"]
        act(api, path, "block", amina)

        assert act(api, path, "add", other, amina, group=reporters) == 400
        assert record(api, other)["groups"] == []

    def test_archiving_lowers_the_counts_of_labels(
        self, api: Api, path: str, database: Database, workspace: Workspace, amina: str
    ) -> None:
        ids = make_messages(database, workspace, amina, 2)
        make_named(database, workspace, label, ["Complaint"])
        api.post("/api/v2/message_actions.json", {"messages": ids, "action": "label", "label": "Complaint"})

        act(api, path, "archive", amina)

        assert api.results(LABELS)[0]["count"] == 0

    def test_deleted_contacts_are_empty_and_their_addresses_free(
        self, api: Api, path: str, database: Database, workspace: Workspace, amina: str, reporters: str
    ) -> None:
        message_id = make_messages(database, workspace, amina)[0]
        act(api, path, "add", amina, group=reporters)

        assert act(api, path, "delete", amina) == 204

        gone = api.results(CONTACTS, deleted="true")[0]
        assert (gone["uuid"], gone["name"], gone["urns"], gone["groups"]) == (amina, None, [], [])
        assert api.results(CONTACTS) == []
        assert api.results(MESSAGES) == []
        assert api.results(MESSAGES, id=message_id)[0]["text"] == ""
        assert api.results(GROUPS, uuid=reporters)[0]["count"] == 0
        assert api.post(CONTACTS, {"urns": ["tel:+250788000111"]}).status_code == 201

    @pytest.mark.together
    @pytest.mark.parametrize("action", ["add", "remove"])
    def test_an_action_on_a_group_needs_one(self, api: Api, path: str, amina: str, action: str) -> None:
        response = api.post(path, {"contacts": [amina], "action": action})

        assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])

    @pytest.mark.together
    @pytest.mark.parametrize("action", ["block", "unblock", "archive", "delete"])
    def test_other_actions_take_no_group(self, api: Api, path: str, amina: str, reporters: str, action: str) -> None:
        response = api.post(path, {"contacts": [amina], "action": action, "group": reporters})

        assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])
        assert record(api, amina)["status"] == "active"

    def test_a_smart_group_has_no_members_by_hand(
        self, api: Api, path: str, database: Database, workspace: Workspace, amina: str
    ) -> None:
        smart = make_named(database, workspace, group, ["Adults"], query="age > 17")[0]

        response = api.post(path, {"contacts": [amina], "action": "add", "group": smart})

        assert (response.status_code, list(response.json())) == (400, ["group"])

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("contacts", None),
            ("contacts", []),
            ("contacts", [UNKNOWN]),
            ("contacts", [7]),
            ("contacts", ["nonsense"]),
            ("group", "Doctors"),
            ("action", "explode"),
            ("action", None),
            ("group", UNKNOWN),
            ("group", 7),
        ],
    )
    def test_bad_input_is_refused_by_field(
        self, api: Api, path: str, amina: str, reporters: str, field: str, value: object
    ) -> None:
        response = api.post(path, {"contacts": [amina], "action": "add", "group": reporters} | {field: value})

        assert (response.status_code, list(response.json())) == (400, [field])
        assert record(api, amina)["groups"] == []


@pytest.mark.parametrize(("path", "action"), [(V1, "archive"), (V2, "archive"), (V2, "archive_messages")])
def test_archiving_takes_visible_incoming_messages_only(
    api: Api, path: str, database: Database, workspace: Workspace, amina: str, action: str
) -> None:
    make_messages(database, workspace, amina, 2)
    make_messages(database, workspace, amina, direction="out", status="sent", sent_on=database.clock())

    assert act(api, path, action, amina) == 204

    assert len(api.results(MESSAGES, folder="archived")) == 2
    assert [one["visibility"] for one in api.results(MESSAGES, folder="sent")] == ["visible"]


@pytest.mark.together
@pytest.mark.parametrize(("count", "status"), [(100, 204), (101, 400)])
def test_an_action_takes_at_most_100_contacts(api: Api, amina: str, count: int, status: int) -> None:
    assert act(api, V2, "block", *[amina] * count) == status


def test_generation_2_finds_contacts_by_address(api: Api, amina: str, reporters: str) -> None:
    assert act(api, V2, "add", "tel:+250788000111", group=reporters) == 204
    assert act(api, V2, "add", "tel:+250788999999", group=reporters) == 400

    assert record(api, amina)["groups"] == [{"uuid": reporters, "name": "Reporters"}]


@pytest.mark.together
@pytest.mark.parametrize("action", ["interrupt", "archive_messages"])
def test_words_of_generation_2_take_no_group(api: Api, amina: str, reporters: str, action: str) -> None:
    response = api.post(V2, {"contacts": [amina], "action": action, "group": reporters})

    assert (response.status_code, list(response.json())) == (400, ["non_field_errors"])


@pytest.mark.together
@pytest.mark.parametrize("field", ["label_uuid", "group_uuid"])
def test_generation_1_names_a_group_by_uuid_as_well(api: Api, amina: str, reporters: str, field: str) -> None:
    assert act(api, V1, "add", amina, **{field: reporters}) == 204
    joined = record(api, amina)["groups"]
    assert api.post(V1, {"contacts": amina, "action": "remove", field: reporters}).status_code == 204

    assert (len(joined), record(api, amina)["groups"]) == (1, [])


def test_runs_that_are_made_to_expire_have_expired_in_both_generations(api: Api, amina: str) -> None:
    flow_id = add_flow(api.database, api.workspace)
    add_waiting(api.database, api.workspace, flow_id, id_of(api.database, amina))

    assert act(api, V1, "expire", amina) == 204

    run = api.results("/api/v2/runs.json")[0]
    assert (run["exit_type"], run["exited_on"] is None) == ("expired", False)
    assert api.results("/api/v1/runs.json")[0]["expired_on"] == run["exited_on"]


@pytest.mark.together
@pytest.mark.parametrize("value", [UNKNOWN, "Reporters"])
def test_an_unknown_group_is_a_problem_of_the_field_that_names_it(
    api: Api, amina: str, reporters: str, value: str
) -> None:
    response = api.post(V1, {"contacts": [amina], "action": "add", "label_uuid": value})

    assert (response.status_code, list(response.json())) == (400, ["label_uuid"])
    assert record(api, amina)["groups"] == []


def test_two_names_of_different_groups_are_refused(
    api: Api, database: Database, workspace: Workspace, amina: str, reporters: str
) -> None:
    make_named(database, workspace, group, ["Doctors"])

    assert act(api, V1, "add", amina, group="Doctors", group_uuid=reporters) == 400
