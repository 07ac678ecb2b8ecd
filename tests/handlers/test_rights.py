"""Rights belong to the deed, not to the door: what a role may not do by one operation it can do by none."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from handlers.contract.operations import load_contract, may_use
from handlers.v2.contacts import LISTED_BY as OF_TIMELINE
from handlers.v2.deletions import LISTED_BY as OF_DELETIONS
from handlers.v2.stream import LISTED_BY as OF_STREAM
from handlers.v2.stream import kinds_of
from persistence.contacts.participants import CONVERSATIONS, FLOWS
from persistence.database import Database
from persistence.stream import kind_right
from persistence.tokens import Credentials, find_credentials
from persistence.users import ROLES
from persistence.workspaces.records import Workspace
from testbed.tokens import SECRET_KEY
from tests.api import Api
from tests.contract.bodies import fields_of
from tests.contract.documents import token_operations
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.contract.test_roles import ALLOWED
from tests.factories import make_contact, make_messages

# That the service allows what ALLOWED says is asked of each operation by tests/contract/test_roles.py.
# No database is asked who may do what.
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
OF_V1 = ("administrator", "editor", "surveyor")
"""Generation 1 is closed to the others as a whole."""
TWINS: dict[str, str | None] = {
    "list_relayers": "list_channels",
    "claim_relayer": None,
    "release_relayers": "release_channel",
    "list_calls": "list_channel_events",
    "list_events": "list_campaign_events",
    "write_event": "write_campaign_event",
    "delete_events": "delete_campaign_event",
    "delete_contacts": "delete_contact",
    "start_runs": "create_flow_start",
}
"""Operations of generation 1 whose deed has another name in generation 2."""
DEEDS: dict[tuple[str, str], list[str]] = {
    ("act_on_contacts", "add"): ["write_contact"],
    ("act_on_contacts", "remove"): ["write_contact"],
    ("act_on_contacts", "block"): [],
    ("act_on_contacts", "unblock"): [],
    ("act_on_contacts", "interrupt"): [],
    ("act_on_contacts", "answer_again"): [],
    ("act_on_contacts", "expire"): [],
    ("act_on_contacts", "archive"): [],
    ("act_on_contacts", "archive_messages"): [],
    ("act_on_contacts", "restore_messages"): [],
    ("act_on_contacts", "delete"): ["delete_contact"],
    ("create_contact_job", "add"): ["write_contact"],
    ("create_contact_job", "remove"): ["write_contact"],
    **{
        ("create_contact_job", action): []
        for action in ("block", "unblock", "interrupt", "archive_messages", "restore_messages", "answer_again")
    },
    ("create_contact_job", "delete"): ["delete_contact"],
    ("act_on_contact_job", "cancel"): [],
    ("act_on_messages", "label"): ["write_label"],
    ("act_on_messages", "unlabel"): [],
    ("act_on_messages", "archive"): [],
    ("act_on_messages", "unarchive"): [],
    ("act_on_messages", "restore"): [],
    ("act_on_messages", "delete"): [],
    ("act_on_messages", "resend"): ["create_message"],
    ("act_on_contact_import", "start"): ["write_contact", "write_group", "write_field"],
    ("act_on_contact_import", "cancel"): [],
    ("act_on_contact_import", "read"): [],
    ("act_on_contact_import", "take_back"): ["delete_contact", "write_contact"],
    **{("act_on_tickets", action): [] for action in ("assign", "add_note", "change_topic", "close", "reopen")},
    **{("act_on_deliveries", action): [] for action in ("resend", "resend_failed")},
    ("act_on_user", "change_role"): [],
    ("act_on_user", "remove"): [],
    ("act_on_broadcasts", "stop"): [],
    ("act_on_flows", "archive"): ["write_trigger"],
    **{("act_on_flows", action): [] for action in ("restore", "label", "unlabel")},
    **{("act_on_campaigns", action): ["write_campaign"] for action in ("archive", "restore")},
    **{("act_on_flow_starts", action): ["create_flow_start"] for action in ("interrupt", "interrupt_runs")},
    **{("act_on_conversations", action): ["list_conversations"] for action in ("read", "unread", "snooze", "unsnooze")},
}
"""The deeds of each action for which there is an operation of its own."""
WHOLE = {
    "merge_contacts": ["delete_contact", "write_contact"],
    "upload_contact_import": ["write_contact"],
    "send_channel_test": ["create_message"],
    "create_broadcast": ["create_message"],
    "create_data_request": ["list_contacts", "delete_contact", "list_messages", "list_runs", "list_tickets"],
    "create_export": ["list_contacts", "list_messages", "list_runs", "list_tickets"],
    "list_archives": ["list_messages", "list_runs"],
    "read_calendar": ["list_broadcasts", "list_campaigns", "list_flows"],
    "read_flow_figures": ["list_flows"],
    "read_flow_results": ["list_runs", "list_contacts"],
    "read_campaign_figures": ["list_campaigns"],
    "read_contact_schedule": ["list_campaigns", "list_contacts"],
    "read_flow_revisions": ["list_flows"],
    "read_flow_texts": ["list_flows"],
    "read_broadcast_progress": ["list_broadcasts"],
}
"""What operations do or show besides their own deed."""


def actions() -> Iterator[tuple[str, str, str]]:
    """Generation, operation and each action that its body may ask for."""
    for each in token_operations():
        for action in fields_of(each).get("action", {}).get("enum", ()):
            yield each.generation, each.body["operationId"], action


@pytest.fixture
def as_role(api: Api) -> Callable[[str], Api]:
    made: dict[str, Api] = {}
    return lambda role: made.setdefault(role, api.as_role(role))


def who(api: Api) -> Credentials:
    with api.database.reading() as tx:
        found = find_credentials(tx, api.token, SECRET_KEY)
    assert found is not None
    return found


def test_generation_1_allows_what_generation_2_allows() -> None:
    older = {name for generation, name in ALLOWED if generation == "v1"}
    assert older == {name.rpartition(".")[2] for name in load_contract("v1")}
    for operation in older:
        allowed, twin = {*ALLOWED["v1", operation]}, TWINS.get(operation, operation)
        assert allowed <= {*OF_V1} and (twin is None or allowed == {*OF_V1} & {*ALLOWED["v2", twin]}), operation


def test_an_operation_does_nothing_that_its_own_operation_refuses() -> None:
    for operation, deeds in WHOLE.items():
        for deed in deeds:
            assert {*ALLOWED["v2", operation]} <= {*ALLOWED["v2", deed]}, (operation, deed)


@on_sqlite
def test_an_action_is_refused_like_the_operation_of_its_deed(
    api: Api, as_role: Callable[[str], Api], database: Database, workspace: Workspace
) -> None:
    found = list(actions())
    assert {(operation, action) for _, operation, action in found} == {*DEEDS}
    group = api.post("/api/v2/groups.json", {"name": "Mothers"}).json()["uuid"]
    for generation, operation, action in found:
        if operation not in ("act_on_contacts", "act_on_messages"):
            continue
        path = f"/api/{generation}/{'contact' if operation == 'act_on_contacts' else 'message'}_actions.json"
        uuid = ""
        for role in ROLES:
            uuid = uuid or make_contact(database, workspace)
            body: dict[str, Any] = {"action": action, "contacts": [uuid]}
            if action in ("add", "remove"):
                body["group" if generation == "v2" else "group_uuid"] = group
            if operation == "act_on_messages":
                (message_id,) = make_messages(database, workspace, uuid)
                body = {"action": action, "messages": [message_id]}
                if action in ("label", "unlabel"):
                    body["label_name" if generation == "v2" else "label"] = "Urgent"
            status = as_role(role).post(path, body).status_code
            deeds = [operation, *DEEDS[operation, action]]
            may = all(role in ALLOWED["v2", deed] for deed in deeds) and (generation == "v2" or role in OF_V1)
            # A message that came in is not sent again; who may not do that learns nothing of it.
            done = 400 if action == "resend" else 204
            assert status == (done if may else 403), (generation, action, role, status)
            uuid = "" if may else uuid


@on_sqlite
def test_an_agent_deletes_no_contacts_and_changes_nothing_by_trying(
    api: Api, database: Database, workspace: Workspace
) -> None:
    uuid = make_contact(database, workspace)
    agent, path = api.as_role("agent"), "/api/v2/contact_actions.json"

    assert agent.post(path, {"action": "delete", "contacts": [uuid]}).status_code == 403
    assert [each["uuid"] for each in api.results("/api/v2/contacts.json")] == [uuid]


@on_sqlite
@pytest.mark.parametrize("role", ROLES)
def test_a_door_shows_only_what_the_role_may_list(
    api: Api, database: Database, workspace: Workspace, role: str
) -> None:
    filled: Filled = fill_workspace(database, workspace, 1)
    person = api.as_role(role)
    credentials = who(person)

    streamed = OF_STREAM | {kind_right("deletion", kind): listing for kind, listing in OF_DELETIONS.items()}
    shared = (
        {CONVERSATIONS: "list_participants", FLOWS: "list_flows"} if may_use(credentials, "list_participants") else {}
    )
    streamed |= {kind_right("participant", kind): listing for kind, listing in shared.items()}
    assert kinds_of(credentials) == {kind for kind, listing in streamed.items() if may_use(credentials, listing)}
    timeline = person.get("/api/v2/contact_timeline.json", contact=filled.first("contact").uuid)
    if timeline.status_code == 200:
        shown = {each["type"] for each in timeline.json()["results"]}
        assert shown <= {kind for kind, listing in OF_TIMELINE.items() if may_use(credentials, listing)}
        assert shown >= {"created", "note", "message", "ticket_event"}
    words = person.get("/api/v2/contact_query_words.json")
    assert words.status_code == 403 or bool(words.json()["flows"]) == may_use(credentials, "list_flows")
    definitions = person.get("/api/v2/definitions.json", flow=filled.first("flow").uuid, dependencies="all")
    if definitions.status_code == 200:
        assert bool(definitions.json()["campaigns"]) <= may_use(credentials, "list_campaigns")
        status = person.get("/api/v2/definitions.json", campaign=filled.first("campaign").uuid).status_code
        assert (status == 403) != may_use(credentials, "list_campaigns")
