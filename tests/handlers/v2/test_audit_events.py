"""`/api/v2/audit_events.json`: who changed what, written with the change."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import bindparam, func, select
from starlette.testclient import TestClient

from persistence.accounts.invitations import invite
from persistence.accounts.signing_in import clear_two_factor
from persistence.audit import BY_COMMAND, Actor, Witness
from persistence.channels.channels import create_gateway
from persistence.channels.settings import new_gateway_secret, read_gateway_secret
from persistence.database import Database, Transaction
from persistence.errors import Refused
from persistence.media.store import delete_media
from persistence.resthooks import ensure_resthook
from persistence.statements import update
from persistence.tables.complete import metadata
from persistence.tables.flows import flow
from persistence.tables.messages import label, message
from persistence.tables.policies import policy_of
from persistence.tables.service import audit_event
from persistence.tokens import create_token, revoke_token
from persistence.users import add_member, change_role, find_member, remove_member
from persistence.workspaces.records import Workspace
from relayboard.base.settings import Settings
from testbed.tokens import SECRET_KEY, make_token
from tests.accounts import ACCOUNT, EMAIL, LABELS, PASSWORD, SESSIONS, Browser, add_person, serving
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import make_contact, make_messages
from tests.run_rows import add_flow, uuid_of

PATH = "/api/v2/audit_events.json"
COMMAND = Actor(BY_COMMAND, command="user change")


def told(api: Api, **query: Any) -> list[tuple[Any, ...]]:
    """Resource, action, record and changes of each event, the oldest first."""
    found = api.results(PATH, **query)[::-1]
    return [(each["resource"], each["action"], each["record"]["name"], each["changes"]) for each in found]


@pytest.fixture
def client(database: Database, settings: Settings, workspace: Workspace) -> Iterator[TestClient]:
    with serving(database, settings) as client:
        yield client


@pytest.fixture
def head(client: TestClient, database: Database, workspace: Workspace) -> Api:
    return Api(client, database, workspace, make_token(database, workspace, "administrator"))


def test_what_a_token_does_is_told_with_its_public_part(head: Api) -> None:
    uuid = head.post(LABELS, {"name": "Urgent"}).json()["uuid"]
    head.post(LABELS, {"name": "Very urgent"}, uuid=uuid)
    head.delete(LABELS, uuid=uuid)

    assert told(head) == [
        ("labels", "created", "Urgent", {"name": [None, "Urgent"]}),
        ("labels", "changed", "Very urgent", {"name": ["Urgent", "Very urgent"]}),
        ("labels", "deleted", "Very urgent", {"name": ["Very urgent", None]}),
    ]
    event = head.results(PATH)[0]
    assert (event["via"], event["token"], event["command"]) == ("token", head.token[3:15], None)
    assert (event["user"], event["address"]) == (f"administrator@{head.workspace.uuid[:8]}.example.org", "testclient")
    assert event["record"]["uuid"] == uuid


def test_what_changes_nothing_is_not_told(head: Api) -> None:
    uuid = head.post(LABELS, {"name": "Urgent"}).json()["uuid"]
    head.post(LABELS, {"name": "Urgent"}, uuid=uuid)
    head.post(LABELS, {"name": " "})
    head.post("/api/v2/contacts.json", {"name": "Amina"})

    assert len(told(head)) == 1


def test_a_new_field_is_told_once_with_what_agents_may_do(head: Api) -> None:
    head.post("/api/v2/fields.json", {"name": "Age", "type": "number", "agent_access": "none"})

    changes = {"name": [None, "Age"], "type": [None, "number"], "agent_access": [None, "none"]}
    assert told(head) == [("fields", "created", "Age", changes)]


def test_people_and_their_accounts(head: Api, client: TestClient, database: Database) -> None:
    add_person(database, head.workspace)
    amina = Browser(client)
    amina.sign_in()
    amina.post(ACCOUNT, {"first_name": "Amina", "old_password": PASSWORD, "password": "another long sentence"})
    amina.post("/api/v2/account_actions.json", {"action": "set_up_two_factor", "password": "another long sentence"})
    amina.delete(SESSIONS)

    assert told(head) == [
        ("sessions", "created", EMAIL, {"method": [None, "password"]}),
        ("users", "changed", EMAIL, {"first_name": ["", "Amina"]}),
        ("account", "changed", EMAIL, {"password": ["hidden", "hidden"]}),
        ("sessions", "deleted", EMAIL, {"method": ["password", None]}),
    ]
    assert {(each["via"], each["user"]) for each in head.results(PATH)} == {("session", EMAIL)}


def test_users_tokens_and_invitations(head: Api, database: Database, settings: Settings) -> None:
    workspace = head.workspace
    with database.writing() as tx:
        tx.witness = Witness(COMMAND)
        add_member(tx, workspace.id, EMAIL, "viewer")
        change_role(tx, workspace.id, EMAIL, "editor")
        user_id = find_member(tx, workspace.id, EMAIL)
        assert user_id is not None
        key = create_token(tx, workspace.id, user_id, SECRET_KEY)
        revoke_token(tx, workspace.id, key[3:15])
        clear_two_factor(tx, user_id)
        remove_member(tx, workspace.id, EMAIL)
        invite(tx, workspace, EMAIL, "agent", "http://testserver", settings)

    events = told(head)
    assert [each[:3] for each in events] == [
        ("users", "created", EMAIL),
        ("users", "changed", EMAIL),
        ("tokens", "created", key[3:15]),
        ("tokens", "deleted", key[3:15]),
        ("users", "deleted", EMAIL),
        ("invitations", "created", EMAIL),
    ]
    assert events[1][3] == {"role": ["viewer", "editor"]}
    assert {(each["via"], each["command"], each["user"]) for each in head.results(PATH)} == {
        ("command", "user change", None)
    }


def test_deleted_contacts_and_messages_are_told_one_by_one(head: Api) -> None:
    made = [head.post("/api/v2/contacts.json", {"name": name}).json()["uuid"] for name in ("Amina", "Joel")]
    head.delete("/api/v2/contacts.json", uuid=made[0])
    head.post("/api/v2/contact_actions.json", {"contacts": made[1:], "action": "delete"})

    assert told(head) == [("contacts", "deleted", "", None)] * 2
    assert {each["record"]["uuid"] for each in head.results(PATH)} == set(made)


def test_what_somebody_asked_for_is_found_by_its_own_uuid(head: Api) -> None:
    contact = head.post("/api/v2/contacts.json", {"name": "Amina"}).json()["uuid"]
    people = b"Phone\n+250788000001\n"
    asked = {
        "contact_imports": head.upload("/api/v2/contact_imports.json", "people.csv", people, "text/csv"),
        "exports": head.post("/api/v2/exports.json", {"type": "contacts", "format": "csv"}),
        "data_requests": head.post("/api/v2/data_requests.json", {"contact": contact, "type": "copy"}),
    }
    body = {"import": asked["contact_imports"].json()["uuid"], "action": "cancel"}
    assert head.post("/api/v2/contact_import_actions.json", body).status_code == 200

    found = {name: told(head, record=answer.json()["uuid"]) for name, answer in asked.items()}
    assert {name: {each[0] for each in events} for name, events in found.items()} == {name: {name} for name in asked}
    assert [each[1] for each in found["contact_imports"]] == ["created", "changed"]


def test_each_change_of_a_trigger_is_told(head: Api, database: Database) -> None:
    uuid = uuid_of(database, flow, add_flow(database, head.workspace))
    made = head.post("/api/v2/triggers.json", {"type": "catch_all", "flow": uuid}).json()
    head.post("/api/v2/triggers.json", {"archived": True}, uuid=made["uuid"])
    head.delete("/api/v2/triggers.json", uuid=made["uuid"])

    seen = [each["action"] for each in head.all_results(PATH) if each["resource"] == "triggers"]
    assert sorted(seen) == ["changed", "created", "deleted"]


def test_each_kind_of_change_through_the_api_is_told(head: Api, database: Database) -> None:
    """A new, a changed and a deleted record of each resource that the API changes."""
    made: dict[str, Any] = {}

    def post(resource: str, body: dict[str, Any], **query: Any) -> dict[str, Any]:
        response = head.post(f"/api/v2/{resource}.json", body, **query)
        assert response.status_code in (200, 201, 204), (resource, response.text)
        return dict(response.json()) if response.content else {}

    expected = []
    for resource in ("labels", "groups", "topics", "globals", "fields", "optins"):
        more = {"globals": {"value": "1"}, "fields": {"value_type": "text"}}.get(resource, {})
        made[resource] = post(resource, {"name": "First", **more})
        expected.append((resource, "created"))
    for resource in ("labels", "groups", "topics"):
        post(resource, {"name": "Second"}, uuid=made[resource]["uuid"])
        expected.append((resource, "changed"))
    post("fields", {"name": "Second", "value_type": "numeric"}, key=made["fields"]["key"])
    post("globals", {"value": "2"}, key=made["globals"]["key"])
    campaign = post("campaigns", {"name": "Births", "group": made["groups"]["uuid"]})
    post("campaigns", {"name": "Later births", "group": made["groups"]["uuid"]}, uuid=campaign["uuid"])
    event = {"relative_to": "created_on", "offset": 1, "unit": "days", "delivery_hour": 9, "message": "Hello"}
    fired = post("campaign_events", {**event, "campaign": campaign["uuid"]})
    head.delete("/api/v2/campaign_events.json", uuid=fired["uuid"])
    expected += [("fields", "changed"), ("globals", "changed"), ("campaigns", "created"), ("campaigns", "changed")]
    expected += [("campaign_events", "created"), ("campaign_events", "deleted")]
    post("invitations", {"email": "joel@example.org", "role": "viewer"})
    (open_one,) = head.results("/api/v2/invitations.json")
    head.delete("/api/v2/invitations.json", uuid=open_one["uuid"])
    expected += [("invitations", "created"), ("invitations", "deleted")]
    with database.writing() as tx:
        ensure_resthook(tx, head.workspace.id, "new-birth")
    subscribed = post("resthook_subscribers", {"resthook": "new-birth", "target_url": "https://example.org/x"})
    head.delete("/api/v2/resthook_subscribers.json", id=subscribed["id"])
    expected += [("resthook_subscribers", "created"), ("resthook_subscribers", "deleted")]
    file = head.upload("/api/v2/media.json", "photo.jpg", b"\xff\xd8\xff\xe0 a photo", "image/jpeg").json()
    with database.writing() as tx:
        tx.witness = Witness(COMMAND)
        delete_media(tx, head.workspace.id, file["uuid"])
        gateway = create_gateway(
            tx,
            head.workspace.id,
            "external",
            name="Hub",
            address="8181",
            schemes=["tel"],
            country="RW",
            config={"send_url": "https://sms.example.org/"},
            secret=new_gateway_secret(),
        )
    post("channel_settings", {"messages_per_second": 2.5}, uuid=gateway)
    expected += [("media", "deleted"), ("channels", "created"), ("channels", "changed")]
    for resource in ("labels", "groups"):
        head.delete(f"/api/v2/{resource}.json", uuid=made[resource]["uuid"])
    for resource in ("globals", "fields"):
        head.delete(f"/api/v2/{resource}.json", key=made[resource]["key"])

    seen = {(each["resource"], each["action"]) for each in head.all_results(PATH)}
    assert set(expected) - seen == set()
    assert {("labels", "deleted"), ("globals", "deleted"), ("fields", "deleted")} <= seen


def test_deeds_of_people_that_make_work_are_told(head: Api, database: Database, workspace: Workspace) -> None:
    kept, other, third = (make_contact(database, workspace, name=name) for name in ("Amina", "Joel", "Grace"))
    registration = uuid_of(database, flow, add_flow(database, workspace))
    posts: list[tuple[str, dict[str, Any]]] = [
        ("exports", {"type": "messages", "format": "csv"}),
        ("data_requests", {"type": "copy", "contact": third}),
        ("broadcasts", {"text": {"eng": "Hello"}, "contacts": [kept]}),
        ("flow_starts", {"flow": registration, "contacts": [kept]}),
        ("contact_merges", {"contact": kept, "other": other}),
    ]
    for resource, body in posts:
        response = head.post(f"/api/v2/{resource}.json", body)
        assert response.status_code in (200, 201), (resource, response.text)
    (sent,) = head.results("/api/v2/broadcasts.json")
    head.post("/api/v2/broadcast_actions.json", {"action": "stop", "broadcasts": [sent["uuid"]]})
    head.upload("/api/v2/contact_imports.json", "people.csv", b"Name,Phone\nAmina,+250788000111\n", "text/csv")

    assert told(head) == [
        ("exports", "created", "messages", {"type": [None, "messages"], "format": [None, "csv"]}),
        ("data_requests", "created", "copy", {"type": [None, "copy"], "contact": [None, third]}),
        ("broadcasts", "created", "", {"status": [None, "pending"]}),
        ("flow_starts", "created", "", {"start_type": [None, "api"]}),
        ("contacts", "deleted", "", None),
        ("contacts", "merged", "", {"merged": [None, other]}),
        ("broadcasts", "changed", "", {"status": ["pending", "interrupted"]}),
        ("contact_imports", "created", "people.csv", {"status": [None, "reading"]}),
    ]
    assert {each["user"] for each in head.results(PATH)} == {f"administrator@{workspace.uuid[:8]}.example.org"}
    assert head.results(PATH, action="merged")[0]["record"]["uuid"] == kept


def test_who_reads_the_secret_of_a_gateway_is_told(head: Api, database: Database) -> None:
    facts = {"name": "Hub", "address": "8181", "schemes": ["tel"], "country": "RW"}
    with database.writing() as tx:
        config = {"send_url": "https://sms.example.org/"}
        secret = new_gateway_secret()
        gateway = create_gateway(tx, head.workspace.id, "external", **facts, config=config, secret=secret)
    add_channel(database, head.workspace)

    shown = head.results("/api/v2/channel_settings.json")
    assert secret in [each["secret"] for each in shown] and len(shown) == 2
    with database.writing() as tx:
        tx.witness = Witness(Actor(BY_COMMAND, command="channel secret"))
        assert read_gateway_secret(tx, head.workspace.id, gateway) == secret

    events = head.results(PATH, action="read")
    assert [(each["record"]["uuid"], each["via"]) for each in events] == [(gateway, "command"), (gateway, "token")]
    assert secret not in json.dumps(events)


def test_a_failed_sign_in_is_told_where_the_account_is(
    head: Api, client: TestClient, database: Database, other_workspace: Workspace
) -> None:
    add_person(database, head.workspace)
    other = Api(client, database, other_workspace, make_token(database, other_workspace, "administrator"))

    statuses = [Browser(client).sign_in(email, "not my password").status_code for email in (EMAIL.upper(), "x@y.zz")]

    assert statuses == [403, 403]
    assert (told(head), told(other)) == ([("sessions", "failed", EMAIL, None)], [])
    (event,) = head.results(PATH)
    assert (event["user"], event["via"], event["address"]) == (None, "session", "testclient")


def test_who_accepts_an_invitation_is_told_as_a_new_user(
    head: Api, client: TestClient, database: Database, settings: Settings
) -> None:
    with database.writing() as tx:
        made = invite(tx, head.workspace, EMAIL, "agent", "http://testserver", settings)
    guest = Browser(client)
    answer = guest.post(
        "/api/v2/invitation_sessions.json", {"invitation": made.link.rpartition("/")[2], "password": PASSWORD}
    )

    assert answer.status_code == 201
    assert {(each["resource"], each["action"], each["user"], each["via"]) for each in head.results(PATH)} == {
        ("invitations", "deleted", EMAIL, "session"),
        ("users", "created", EMAIL, "session"),
        ("account", "changed", EMAIL, "session"),
        ("sessions", "created", EMAIL, "session"),
    }


AUDITED = {each.name: rule for each in metadata.sorted_tables if (rule := policy_of(each).audited) is not None}


def test_channels_flows_and_triggers_are_watched_too() -> None:
    told_resources = {rule.resource for rule in AUDITED.values()}

    assert {"users", "tokens", "channels", "flows", "triggers", "resthook_subscribers", "workspace"} <= told_resources


@pytest.mark.parametrize("name", AUDITED)
def test_the_columns_that_are_watched_exist(name: str) -> None:
    rule = AUDITED[name]

    assert {*rule.columns, *([rule.name] if rule.name else [])} <= {each.key for each in metadata.tables[name].c}


@pytest.mark.parametrize("name", AUDITED)
def test_no_secret_is_shown(name: str) -> None:
    shown = " ".join(AUDITED[name].shown)

    assert not any(word in shown for word in ("secret", "hash", "config", "url", "value"))


def test_a_secret_is_only_named(head: Api) -> None:
    head.post("/api/v2/globals.json", {"name": "Key", "value": "swordfish"})

    assert told(head)[0][3] == {"value": [None, "hidden"]}
    assert "swordfish" not in json.dumps(head.results(PATH))


def test_the_event_goes_with_its_change(head: Api, database: Database) -> None:
    def fail(tx: Transaction) -> None:
        tx.witness = Witness(COMMAND)
        add_member(tx, head.workspace.id, EMAIL, "viewer")
        raise Refused("It was not meant.")

    with pytest.raises(Refused):
        database.write(fail)

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(audit_event)).scalar_one() == 0


def test_the_service_itself_is_not_told(head: Api, database: Database) -> None:
    with database.writing() as tx:
        add_member(tx, head.workspace.id, EMAIL, "viewer")

    assert told(head) == []


def test_filters_and_walls(head: Api, client: TestClient, database: Database, other_workspace: Workspace) -> None:
    other = Api(client, database, other_workspace, make_token(database, other_workspace, "administrator"))
    uuid = head.post(LABELS, {"name": "A"}).json()["uuid"]
    head.post("/api/v2/topics.json", {"name": "B"})
    who = f"Administrator@{head.workspace.uuid[:8]}.example.org"

    assert len(told(head, user=who)) == 2
    assert [each[2] for each in told(head, resource="topics")] == ["B"]
    assert [each[2] for each in told(head, record=uuid)] == ["A"]
    assert told(head, action="deleted") == told(other) == told(other, record=uuid) == []


def test_a_user_of_two_workspaces_is_told_in_both(
    client: TestClient, head: Api, database: Database, other_workspace: Workspace
) -> None:
    for each in (head.workspace, other_workspace):
        add_person(database, each)
    other = Api(client, database, other_workspace, make_token(database, other_workspace, "administrator"))

    Browser(client).sign_in()

    assert told(head) == told(other) == [("sessions", "created", EMAIL, {"method": [None, "password"]})]


def test_each_row_of_a_bulk_update_is_told_by_what_it_gets(api: Api, database: Database, workspace: Workspace) -> None:
    amina = make_contact(database, workspace, "+250788000001")
    kept, gone = make_messages(database, workspace, amina, 2)
    first, second = (api.post("/api/v2/labels.json", {"name": name}).json()["uuid"] for name in ("Sad", "Glad"))
    database.witness = Witness(COMMAND)
    one = (message.c.workspace_id == workspace.id) & (message.c.id == bindparam("which"))
    named = (label.c.workspace_id == workspace.id) & (label.c.uuid == bindparam("which"))
    with database.writing() as tx:
        rows = [{"which": kept, "new": "archived"}, {"which": gone, "new": "deleted"}]
        tx.execute(update(message).where(one).values(visibility=bindparam("new")), rows)
        rows = [{"which": first, "new": "Blue"}, {"which": second, "new": "Glad"}]
        tx.execute(update(label).where(named).values(name=bindparam("new")), rows)

    events = [(each["resource"], each["action"], each["changes"]) for each in api.results(PATH, resource="messages")]
    renamed = [each["changes"] for each in api.results(PATH, resource="labels") if each["action"] == "changed"]
    assert (events, renamed) == ([("messages", "deleted", None)], [{"name": ["Sad", "Blue"]}])
