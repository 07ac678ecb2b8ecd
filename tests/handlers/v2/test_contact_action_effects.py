"""The effects of `/api/v2/contact_actions.json` on flows, labels, times of change and other contacts."""

from typing import Any

import pytest

from persistence.changes import change_messages
from persistence.database import Database
from persistence.tables.contacts import group
from persistence.tables.messages import label, message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.contract.filled_workspace import fill_workspace
from tests.factories import make_contact, make_messages, make_named

PATH = "/api/v2/contact_actions.json"
CONTACTS, CONVERSATIONS = "/api/v2/contacts.json", "/api/v2/conversations.json"
LABELS = "/api/v2/labels.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
ACTIONS = [
    "add",
    "remove",
    "block",
    "unblock",
    "interrupt",
    "archive_messages",
    "archive",
    "restore_messages",
    "delete",
]


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def nurses(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Nurses"])[0]


def act(api: Api, action: str, *contacts: str, **more: Any) -> int:
    return int(api.post(PATH, {"contacts": list(contacts), "action": action, **more}).status_code)


def record(api: Api, uuid: str) -> dict[str, Any]:
    return api.results(CONTACTS, uuid=uuid)[0]


class TestActOnContacts:
    @pytest.mark.parametrize("action", ["interrupt", "block"])
    def test_a_contact_taken_out_of_its_flow_waits_in_none(
        self, api: Api, database: Database, workspace: Workspace, action: str
    ) -> None:
        waiting, other = (str(row.uuid) for row in fill_workspace(database, workspace).rows["contact"])
        assert record(api, waiting)["flow"] is not None

        assert act(api, action, waiting) == 204

        runs = {one["contact"]["uuid"]: one["exit_type"] for one in api.results("/api/v2/runs.json")}
        assert (record(api, waiting)["flow"], runs[waiting]) == (None, "interrupted")
        assert record(api, other)["flow"] is not None
        assert runs[other] is None

    def test_a_deleted_contact_takes_its_runs_and_its_marks_with_it(
        self, api: Api, database: Database, workspace: Workspace
    ) -> None:
        first, _ = (str(row.uuid) for row in fill_workspace(database, workspace).rows["contact"])
        before = {one["name"]: one["count"] for one in api.results("/api/v2/groups.json")}

        assert act(api, "delete", first) == 204

        for path in ("runs", "tickets", "channel_events", "messages"):
            named = [one["contact"]["uuid"] for one in api.results(f"/api/v2/{path}.json")]
            assert named and first not in named, path
        after = {one["name"]: one["count"] for one in api.results("/api/v2/groups.json")}
        assert sum(before.values()) - sum(after.values()) == 1

    @pytest.mark.parametrize("action", ["archive_messages", "delete"])
    def test_labels_no_longer_count_what_went_away_and_still_count_the_rest(
        self, api: Api, database: Database, workspace: Workspace, amina: str, action: str
    ) -> None:
        bosco = make_contact(database, workspace, "+250788000222", name="Bosco")
        ids = [*make_messages(database, workspace, amina, 3), *make_messages(database, workspace, bosco, 2)]
        make_named(database, workspace, label, ["Complaint"])
        labeling = {"messages": ids, "action": "label", "label": "Complaint"}
        api.post("/api/v2/message_actions.json", labeling)
        api.post("/api/v2/message_actions.json", {"messages": ids[:1], "action": "archive"})

        assert act(api, action, amina) == 204

        assert api.results(LABELS)[0]["count"] == 2

    def test_an_agent_brings_a_whole_conversation_back_with_its_labels_counts_and_place(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        bosco = make_contact(database, workspace, "+250788000222", name="Bosco")
        theirs, others = make_messages(database, workspace, amina, 3), make_messages(database, workspace, bosco, 2)
        make_named(database, workspace, label, ["Complaint"])
        ids = [*theirs, *others]
        api.post("/api/v2/message_actions.json", {"messages": ids, "action": "label", "label": "Complaint"})
        api.post("/api/v2/message_actions.json", {"messages": theirs[:1], "action": "delete"})
        agent = api.as_role("agent")
        assert act(agent, "archive_messages", amina, bosco) == 204
        assert api.results(LABELS)[0]["count"] == 0

        assert [act(agent, "restore_messages", amina) for _ in range(2)] == [204, 204]

        assert api.results(LABELS)[0]["count"] == 2
        assert {each["id"] for each in api.results("/api/v2/messages.json", folder="inbox")} == {*theirs[1:]}
        placed = {each["uuid"]: each["unread_count"] for each in agent.results(CONVERSATIONS, folder="inbox")}
        assert placed == {amina: 2}
        assert [each["uuid"] for each in agent.results(CONVERSATIONS, folder="archived")] == [bosco]

    def test_what_an_action_lists_as_changed_is_taken_back_and_nothing_that_was_so_before(
        self, api: Api, database: Database, workspace: Workspace, amina: str, nurses: str
    ) -> None:
        bosco = make_contact(database, workspace, "+250788000222", name="Bosco")
        ids = [*make_messages(database, workspace, amina, 3), *make_messages(database, workspace, bosco, 2)]
        api.post("/api/v2/message_actions.json", {"messages": ids[:1], "action": "archive"})
        act(api, "add", amina, group=nurses)

        def changed(action: str, **more: Any) -> dict[str, Any]:
            asked = {"contacts": [amina, bosco], "action": action, "list_changed": True, **more}
            found: dict[str, Any] = api.post(PATH, asked).json()
            return found

        archived = changed("archive_messages")
        assert [archived["changed"], changed("archive")["changed"]] == [[amina, bosco], []]
        assert [changed("add", group=nurses)["changed"] for _ in range(2)] == [[bosco], []]
        assert changed("remove", group=nurses)["changed"] == [amina, bosco]
        assert act(api, "restore_messages", amina, bosco, changed_after=archived["changed_after"]) == 204

        def inbox() -> set[int]:
            return {each["id"] for each in api.results("/api/v2/messages.json", folder="inbox")}

        assert inbox() == {*ids[1:]}
        restored = changed("restore_messages")
        came = make_messages(database, workspace, bosco, 1)
        with database.writing() as tx:
            change_messages(tx, workspace.id, came, {"contact_id": message.c.contact_id})
        assert (restored["changed"], inbox()) == ([amina], {*ids, *came})
        times = {name: restored[name] for name in ("changed_after", "changed_until")}
        assert act(api, "archive_messages", amina, bosco, **times) == 204
        assert inbox() == {*ids[1:], *came}

    @pytest.mark.together
    @pytest.mark.parametrize("action", ACTIONS)
    def test_one_unknown_contact_refuses_the_whole_action(self, api: Api, amina: str, nurses: str, action: str) -> None:
        before = record(api, amina)
        more = {"group": nurses} if action in ("add", "remove") else {}

        response = api.post(PATH, {"contacts": [amina, UNKNOWN], "action": action, **more})

        assert (response.status_code, list(response.json())) == (400, ["contacts"])
        assert record(api, amina) == before

    def test_a_deleted_contact_is_unknown_to_every_action(self, api: Api, amina: str, nurses: str) -> None:
        act(api, "delete", amina)

        for action in ACTIONS:
            more = {"group": nurses} if action in ("add", "remove") else {}
            assert act(api, action, amina, **more) == 400, action

    @pytest.mark.together
    @pytest.mark.parametrize(
        ("before", "action"),
        [("add", "add"), ("unblock", "unblock"), ("block", "block"), ("unblock", "interrupt"), ("remove", "remove")],
    )
    def test_what_changes_nothing_leaves_the_time_of_change(
        self, api: Api, amina: str, nurses: str, before: str, action: str
    ) -> None:
        groups = {name: {"group": nurses} if name in ("add", "remove") else {} for name in (before, action)}
        act(api, before, amina, **groups[before])
        was = record(api, amina)

        assert act(api, action, amina, **groups[action]) == 204
        assert record(api, amina) == was

    def test_what_is_sent_to_a_blocked_contact_fails_and_after_unblocking_it_is_queued(
        self, api: Api, database: Database, workspace: Workspace, amina: str
    ) -> None:
        add_channel(database, workspace)
        statuses = []
        for action in ("block", "unblock"):
            act(api, action, amina)
            statuses.append(api.post("/api/v2/messages.json", {"contact": amina, "text": "hi"}).json()["status"])

        assert statuses == ["failed", "queued"]
