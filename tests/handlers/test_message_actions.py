"""`message_actions.json` of both generations over HTTP."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.labels import create_label
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages, make_named

V1, V2 = "/api/v1/message_actions.json", "/api/v2/message_actions.json"
BOTH = pytest.mark.parametrize("path", [V1, V2])
BY_UUID, BY_NAME = {V1: "label_uuid", V2: "label"}, {V1: "label", V2: "label_name"}
"""What each generation calls a label that is there, and one that is made if it is missing."""
RESTORE = {V1: "unarchive", V2: "restore"}
MESSAGES = "/api/v2/messages.json"
LABELS = "/api/v2/labels.json"
UNKNOWN = "00000000-0000-4000-8000-000000000000"
WRONG: dict[str, list[tuple[dict[str, Any], str]]] = {
    V1: [
        ({"label_uuid": UNKNOWN}, "label_uuid"),
        ({"label_uuid": "Complaint"}, "label_uuid"),
        ({"label_uuid": None}, "non_field_errors"),
        ({"label_uuid": None, "label": "+Complaint"}, "label"),
        ({"label_uuid": None, "label": 'a"b'}, "label"),
        ({"action": "shred"}, "action"),
        ({"action": "archive"}, "non_field_errors"),
        ({"action": "archive", "label_uuid": None, "label": "Complaint"}, "non_field_errors"),
    ],
    V2: [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [True]}, "messages"),
        ({"messages": [{"id": 1}]}, "messages"),
        ({"action": None}, "action"),
        ({"action": "explode"}, "action"),
        ({"label": UNKNOWN}, "label"),
        ({"label": "nobody"}, "label"),
        ({"label": 7}, "label"),
        ({"label": None}, "non_field_errors"),
        ({"label_name": "Complaint"}, "non_field_errors"),
        ({"label": None, "label_name": 'say "hi"'}, "label_name"),
        ({"label": None, "label_name": "x" * 65}, "label_name"),
        ({"action": "archive"}, "non_field_errors"),
        ({"action": "delete", "label": None, "label_name": "x"}, "non_field_errors"),
    ],
}
"""Changes of a good request that labels, and the field at fault."""


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


@pytest.fixture
def ids(database: Database, workspace: Workspace, amina: str) -> list[int]:
    return make_messages(database, workspace, amina, 3)


@pytest.fixture
def outgoing(database: Database, workspace: Workspace, amina: str) -> list[int]:
    return make_messages(database, workspace, amina, direction="out", status="queued")


@pytest.fixture
def complaint(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, label, ["Complaint"])[0]


def act(api: Api, path: str, action: str, messages: list[Any], **more: Any) -> int:
    return api.post(path, {"messages": messages, "action": action, **more}).status_code


def counts(api: Api) -> dict[str, int]:
    return {one["name"]: one["count"] for one in api.results(LABELS)}


def found(api: Api, **query: Any) -> list[int]:
    return [one["id"] for one in api.results(MESSAGES, **query)]


class TestLabeling:
    @BOTH
    def test_messages_bear_a_label_once(self, api: Api, ids: list[int], complaint: str, path: str) -> None:
        assert act(api, path, "label", [*ids[:2], ids[0]], **{BY_UUID[path]: complaint}) == 204
        assert act(api, path, "label", ids[:1], label="cOMPLAINT") == 204

        assert found(api, label=complaint) == found(api, label="complaint") == ids[1::-1]
        assert counts(api) == {"Complaint": 2}
        assert api.results(MESSAGES, id=ids[0])[0]["labels"] == [{"uuid": complaint, "name": "Complaint"}]

    @BOTH
    def test_a_label_comes_off(self, api: Api, ids: list[int], complaint: str, path: str) -> None:
        named = {BY_UUID[path]: complaint}
        act(api, path, "label", ids, **named)

        assert act(api, path, "unlabel", ids[:2], **named) == 204
        assert act(api, path, "unlabel", ids[1:2], label="complaint") == 204

        assert found(api, label=complaint) == ids[2:]
        assert counts(api) == {"Complaint": 1}

    @BOTH
    def test_a_label_by_name_is_made_where_it_is_missing_but_not_to_come_off(
        self, api: Api, ids: list[int], path: str
    ) -> None:
        assert act(api, path, "unlabel", ids, **{BY_NAME[path]: "Praise"}) == 204
        assert counts(api) == {}

        assert act(api, path, "label", ids, **{BY_NAME[path]: "Praise"}) == 204
        assert counts(api) == {"Praise": 3}

    def test_in_generation_1_a_uuid_counts_before_a_name(self, api: Api, ids: list[int], complaint: str) -> None:
        assert act(api, V1, "label", ids, label_uuid=complaint, label="Praise") == 204

        assert counts(api) == {"Complaint": 3}

    def test_messages_are_named_by_number_as_text_and_by_uuid_too(
        self, api: Api, ids: list[int], complaint: str
    ) -> None:
        uuid = api.results(MESSAGES, id=ids[1])[0]["uuid"]

        assert act(api, V2, "label", [str(ids[0]), uuid.upper()], label=complaint) == 204

        assert found(api, label=complaint) == ids[1::-1]

    def test_only_what_changes_moves_the_time_of_change(self, api: Api, ids: list[int], complaint: str) -> None:
        before = api.results(MESSAGES, id=ids[0])[0]["modified_on"]
        act(api, V2, "label", ids[:1], label=complaint)
        changed = api.results(MESSAGES, id=ids[0])[0]["modified_on"]
        act(api, V2, "label", ids[:1], label=complaint)

        assert before < changed == api.results(MESSAGES, id=ids[0])[0]["modified_on"]

    def test_a_full_workspace_gets_no_label_by_name(
        self, api: Api, database: Database, workspace: Workspace, ids: list[int]
    ) -> None:
        with database.writing() as tx:
            for number in range(250):
                create_label(tx, workspace.id, f"Label {number}")

        assert act(api, V2, "label", ids, label_name="One more") == 409
        assert act(api, V2, "label", ids, label_name="LABEL 7") == 204


class TestMoving:
    @BOTH
    def test_archived_messages_are_counted_by_no_label_until_they_are_restored(
        self, api: Api, ids: list[int], complaint: str, path: str
    ) -> None:
        act(api, V2, "label", ids, label=complaint)

        assert act(api, path, "archive", ids[:2]) == act(api, path, "archive", ids[:2]) == 204
        assert counts(api) == {"Complaint": 1}
        assert found(api, folder="archived") == ids[1::-1]
        assert act(api, path, RESTORE[path], ids) == act(api, path, RESTORE[path], ids) == 204
        assert counts(api) == {"Complaint": 3}
        assert found(api, folder="archived") == []

    def test_an_archived_message_is_labeled_without_being_counted(
        self, api: Api, ids: list[int], complaint: str
    ) -> None:
        act(api, V2, "archive", ids[:1])

        act(api, V2, "label", ids[:2], label=complaint)

        assert counts(api) == {"Complaint": 1}
        assert act(api, V2, "restore", ids[:1]) == 204
        assert counts(api) == {"Complaint": 2}

    @BOTH
    def test_a_deleted_message_is_empty_and_in_no_list(
        self, api: Api, ids: list[int], complaint: str, path: str
    ) -> None:
        act(api, V2, "label", ids, label=complaint)

        assert act(api, path, "delete", ids[:1]) == 204

        gone = api.results(MESSAGES, id=ids[0])[0]
        assert (gone["visibility"], gone["text"], gone["attachments"], gone["labels"]) == ("deleted", "", [], [])
        assert found(api, label=complaint) == found(api) == ids[:0:-1]
        assert counts(api) == {"Complaint": 2}


class TestActOnMessages:
    def test_missing_messages_are_reported_and_the_others_done(self, api: Api, ids: list[int], complaint: str) -> None:
        missing: list[Any] = [999_999, UNKNOWN, "nonsense", "99999999999"]

        response = api.post(V2, {"messages": [ids[0], *missing], "action": "label", "label": complaint})

        assert (response.status_code, response.json()) == (200, {"failures": missing})
        assert found(api, label=complaint) == ids[:1]

    @pytest.mark.parametrize("action", ["archive", "restore", "delete"])
    def test_a_deleted_message_is_missing_from_then_on(self, api: Api, ids: list[int], action: str) -> None:
        act(api, V2, "delete", ids[:1])

        response = api.post(V2, {"messages": ids[:2], "action": action})

        assert (response.status_code, response.json()) == (200, {"failures": ids[:1]})

    def test_generation_1_passes_over_what_is_missing_deleted_or_outgoing(
        self, api: Api, ids: list[int], outgoing: list[int]
    ) -> None:
        act(api, V1, "delete", ids[:1])
        everything = [*ids, *outgoing, 999_999]

        assert act(api, V1, "label", everything, label="Complaint") == 204
        assert found(api, label="Complaint") == ids[:0:-1]
        assert act(api, V1, "archive", everything) == 204
        assert found(api, folder="archived") == ids[:0:-1]
        assert act(api, V1, "unarchive", everything) == act(api, V1, "delete", everything) == 204
        assert [(one["id"], one["visibility"]) for one in api.results(MESSAGES)] == [(outgoing[0], "visible")]

    @pytest.mark.together
    @pytest.mark.parametrize("action", ["label", "unlabel", "archive", "restore", "delete"])
    def test_an_outgoing_message_refuses_the_whole_action_in_generation_2(
        self, api: Api, ids: list[int], outgoing: list[int], complaint: str, action: str
    ) -> None:
        more = {"label": "Complaint"} if "label" in action else {}

        response = api.post(V2, {"messages": [*ids, *outgoing], "action": action, **more})

        assert (response.status_code, list(response.json())) == (400, ["messages"])
        assert {one["visibility"] for one in api.results(MESSAGES)} == {"visible"}
        assert counts(api) == {"Complaint": 0}

    @BOTH
    def test_bad_input_is_refused_by_field_and_nothing_is_done(
        self, api: Api, ids: list[int], complaint: str, path: str
    ) -> None:
        good = {"messages": ids, "action": "label", BY_UUID[path]: complaint}

        for change, field in WRONG[path]:
            response = api.post(path, good | change)
            assert (response.status_code, list(response.json())) == (400, [field]), change

        assert counts(api) == {"Complaint": 0}
        assert len(found(api, folder="inbox")) == 3

    @pytest.mark.parametrize(("count", "status"), [(100, 204), (101, 400)])
    def test_an_action_takes_at_most_100_messages(
        self, api: Api, database: Database, workspace: Workspace, amina: str, count: int, status: int
    ) -> None:
        many = make_messages(database, workspace, amina, count)

        assert act(api, V2, "archive", many) == status
        assert len(found(api, folder="archived")) == (count if status == 204 else 0)


class TestSendingAgain:
    @pytest.mark.parametrize(("status", "reason"), [("failed", "gateway_failed"), ("wired", "uncertain")])
    def test_what_failed_or_is_uncertain_is_sent_again_once_as_a_new_message(
        self, api: Api, database: Database, workspace: Workspace, amina: str, status: str, reason: str
    ) -> None:
        content = {"direction": "out", "text": "Your results are here.", "quick_replies": [{"text": "Thanks"}]}
        (old,) = make_messages(database, workspace, amina, status=status, failed_reason=reason, **content)
        assert api.results(MESSAGES, id=old)[0]["failed_reason"] == reason

        assert act(api, V2, "resend", [old, old]) == 204
        again = api.post(V2, {"messages": [old], "action": "resend"})

        new, former = api.results(MESSAGES, contact=amina)
        assert (former["id"], former["status"], former["failed_reason"]) == (old, status, "resent")
        assert (new["text"], new["quick_replies"]) == (former["text"], former["quick_replies"])
        assert (again.status_code, again.json()) == (400, {"messages": [f"Message {old} was sent again before."]})

    def test_one_that_cannot_be_sent_again_keeps_the_others_from_it(
        self, api: Api, database: Database, workspace: Workspace, amina: str, ids: list[int]
    ) -> None:
        outgoing = {"direction": "out", "text": "Hello"}
        (failed,) = make_messages(database, workspace, amina, status="failed", **outgoing)
        (sent,) = make_messages(database, workspace, amina, status="wired", **outgoing)

        for other in (sent, ids[0]):
            assert act(api, V2, "resend", [failed, other]) == 400
        assert len(api.results(MESSAGES, contact=amina)) == 5

        missing = api.post(V2, {"messages": [failed, UNKNOWN], "action": "resend"})
        assert (missing.status_code, missing.json()) == (200, {"failures": [UNKNOWN]})
        assert len(api.results(MESSAGES, contact=amina)) == 6
