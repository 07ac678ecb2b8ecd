"""What pollers are told: with which time to ask next, and what is gone."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.groups.groups import delete_group as delete_group_of
from persistence.relayers.relayers import release_channels
from persistence.resthooks import ensure_resthook
from persistence.tables.accounts import token
from persistence.tables.channels import channel
from persistence.tokens import public_part
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact, make_field, make_messages
from tests.run_rows import add_flow, add_run
from tests.ticket_rows import add_ticket

NEXT = "Next-Modified-After"
DELETIONS = "/api/v2/deletions.json"
CONTACTS, MESSAGES, CHANNELS = (f"/api/v2/{name}.json" for name in ("contacts", "messages", "channels"))
FOLLOWED = ("messages", "broadcasts", "channels", "contacts", "runs", "flows", "flow_starts", "tickets", "globals")


def told(api: Api, **query: Any) -> list[tuple[str, str | None]]:
    return [(each["type"], each["uuid"] or each["key"]) for each in api.all_results(DELETIONS, **query)]


@pytest.mark.together
@pytest.mark.parametrize("name", [*FOLLOWED, "deletions"])
def test_a_list_says_with_which_time_to_ask_next(api: Api, database: Database, workspace: Workspace, name: str) -> None:
    make_messages(database, workspace, make_contact(database, workspace))
    newest = api.all_results(CONTACTS)[0]["modified_on"]

    assert api.get(f"/api/v2/{name}.json").headers[NEXT] >= newest


def test_all_pages_of_a_walk_say_the_same_though_more_comes_meanwhile(
    api: Api, database: Database, workspace: Workspace
) -> None:
    contact = make_contact(database, workspace)
    make_messages(database, workspace, contact, 300)
    first = api.get(MESSAGES)
    make_messages(database, workspace, contact)
    second = api.follow(first.json()["next"])
    back = api.follow(second.json()["previous"])
    late = api.results(MESSAGES, modified_after=second.headers[NEXT])

    assert first.headers[NEXT] == second.headers[NEXT] == back.headers[NEXT]
    assert api.all_results(MESSAGES)[0] in late


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_transaction_that_commits_after_the_answer_is_told_next_time(
    api: Api, database: Database, workspace: Workspace, clock: Any
) -> None:
    slow, quick = (make_contact(database, workspace) for _ in range(2))
    with database.writing() as tx:
        change_contact(tx, workspace, id_of(database, slow), ContactChange(name="Slow"))
        clock.advance(seconds=30)
        assert api.post(CONTACTS, {"name": "Quick"}, uuid=quick).status_code == 200
        asked_on = api.get(CONTACTS).headers[NEXT]

    assert "Slow" in [each["name"] for each in api.results(CONTACTS, after=asked_on)]


def test_a_deleted_message_comes_with_the_changes_and_in_no_other_list(
    api: Api, database: Database, workspace: Workspace
) -> None:
    number = make_messages(database, workspace, make_contact(database, workspace))[0]
    asked_on = api.get(MESSAGES).headers[NEXT]
    body = {"messages": [number], "action": "delete"}
    assert api.post("/api/v2/message_actions.json", body).status_code in (200, 204)

    found = api.results(MESSAGES, modified_after=asked_on)
    assert [(each["id"], each["visibility"], each["text"]) for each in found] == [(number, "deleted", "")]
    assert api.results(MESSAGES) == []


def delete_group(api: Api) -> str:
    uuid: str = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]
    assert api.delete("/api/v2/groups.json", uuid=uuid).status_code == 204
    return uuid


def delete_label(api: Api) -> str:
    uuid: str = api.post("/api/v2/labels.json", {"name": "Question"}).json()["uuid"]
    assert api.delete("/api/v2/labels.json", uuid=uuid.upper()).status_code == 204
    return uuid


def delete_field(api: Api) -> str:
    key = make_field(api.database, api.workspace, "Age", "number")
    assert api.delete("/api/v2/fields.json", key=key).status_code == 204
    return key


def delete_global(api: Api) -> str:
    key: str = api.post("/api/v2/globals.json", {"name": "Clinic", "value": "1"}).json()["key"]
    assert api.delete("/api/v2/globals.json", key=key).status_code == 204
    return key


def delete_note(api: Api) -> str:
    contact = make_contact(api.database, api.workspace)
    uuid: str = api.post("/api/v2/contact_notes.json", {"contact": contact, "text": "Called"}).json()["uuid"]
    assert api.delete("/api/v2/contact_notes.json", uuid=uuid).status_code == 204
    return uuid


def delete_saved_reply(api: Api) -> str:
    uuid: str = api.post("/api/v2/saved_replies.json", {"name": "Hours", "text": "8 to 5"}).json()["uuid"]
    assert api.delete("/api/v2/saved_replies.json", uuid=uuid).status_code == 204
    return uuid


def delete_subscriber(api: Api) -> str:
    api.database.write(lambda tx: ensure_resthook(tx, api.workspace.id, "new-case"))
    body = {"resthook": "new-case", "target_url": "https://example.org/hook"}
    number: int = api.post("/api/v2/resthook_subscribers.json", body).json()["id"]
    assert api.delete("/api/v2/resthook_subscribers.json", id=number).status_code == 204
    return str(number)


def release_channel(api: Api) -> str:
    channel_id = add_channel(api.database, api.workspace)
    uuid: str = api.results(CHANNELS)[0]["uuid"]
    api.database.write(lambda tx: release_channels(tx, api.workspace.id, channel.c.id == channel_id))
    return uuid


@pytest.mark.parametrize(
    ("kind", "delete"),
    [
        ("group", delete_group),
        ("label", delete_label),
        ("field", delete_field),
        ("global", delete_global),
        ("channel", release_channel),
        ("contact_note", delete_note),
        ("saved_reply", delete_saved_reply),
        ("subscriber", delete_subscriber),
    ],
)
def test_what_is_deleted_is_told_with_its_type(api: Api, kind: str, delete: Callable[[Api], str]) -> None:
    asked_on = api.get(DELETIONS).headers[NEXT]
    reference = delete(api)

    assert told(api, after=asked_on) == [(kind, reference)]
    assert told(api, type=kind) == [(kind, reference)]
    assert told(api, type="none") == []


@pytest.mark.together
@pytest.mark.parametrize(
    ("kind", "delete"),
    [
        ("group", delete_group),
        ("label", delete_label),
        ("subscriber", delete_subscriber),
        ("contact_note", delete_note),
    ],
)
@pytest.mark.parametrize("areas", [None, ["contacts"]])
@pytest.mark.parametrize("role", ["administrator", "viewer", "agent", "surveyor"])
def test_each_role_and_token_is_told_of_what_it_may_list(
    api: Api, database: Database, kind: str, delete: Callable[[Api], str], role: str, areas: list[str] | None
) -> None:
    reference, key = delete(api), api.as_role(role).token
    with database.writing() as tx:
        tx.execute(update(token).where(token.c.public == public_part(key)).values(areas=areas))
    caller = api.with_token(key)
    lists = {"subscriber": "resthook_subscribers"}.get(kind, f"{kind}s")
    needed = {"contact": make_contact(database, api.workspace)} if kind == "contact_note" else {}
    may_list = caller.get(f"/api/v2/{lists}.json", **needed).status_code == 200

    shown = told(caller, type=kind)
    assert ((kind, reference) in shown, bool(shown)) == (may_list, may_list)


def test_a_deleted_contact_goes_with_its_runs_and_tickets(api: Api, database: Database, workspace: Workspace) -> None:
    uuid = make_contact(database, workspace)
    ticket = add_ticket(database, workspace, id_of(database, uuid))
    add_run(database, workspace, add_flow(database, workspace), id_of(database, uuid))
    run = api.results("/api/v2/runs.json")[0]["uuid"]
    assert api.delete(CONTACTS, uuid=uuid).status_code == 204

    assert sorted(told(api)) == [("contact", uuid), ("run", run), ("ticket", ticket)]


def test_a_merged_contact_says_who_it_is_now(api: Api, database: Database, workspace: Workspace) -> None:
    kept, other = (make_contact(database, workspace) for _ in range(2))
    assert api.post("/api/v2/contact_merges.json", {"contact": kept, "other": other}).is_success

    assert [(each["uuid"], each["merged_into"]) for each in api.results(DELETIONS)] == [(other, kept)]


def test_what_is_taken_back_is_not_told(api: Api, database: Database, workspace: Workspace) -> None:
    uuid = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]

    def delete_in_vain(tx: Transaction) -> None:
        delete_group_of(tx, workspace.id, uuid)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        database.write(delete_in_vain)

    assert told(api) == []


def test_tickets_are_found_by_the_time_of_their_change(api: Api, database: Database, workspace: Workspace) -> None:
    first, second = (
        add_ticket(database, workspace, id_of(database, make_contact(database, workspace))) for _ in range(2)
    )
    moments = {each["uuid"]: each["modified_on"] for each in api.results("/api/v2/tickets.json")}
    assert api.post(
        "/api/v2/ticket_actions.json", {"tickets": [first], "action": "add_note", "note": "Called"}
    ).is_success

    assert [each["uuid"] for each in api.results("/api/v2/tickets.json", before=moments[second])] == [second]
    newest = api.get("/api/v2/tickets.json").headers[NEXT]
    assert [each["uuid"] for each in api.results("/api/v2/tickets.json", after=newest)] == [first]
