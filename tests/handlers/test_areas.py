"""Areas of tokens: whatever shows or changes a record of an area needs that area, through whichever door."""

import functools
from typing import Any

import pytest
from sqlalchemy import insert, update

from handlers.contract.operations import EACH, OPEN
from handlers.v2.stream import kinds_of
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel_event, gateway_call
from persistence.tables.contacts import contact, contact_note, ticket_event
from persistence.tables.deliveries import delivery
from persistence.tables.flows import flow_revision, flow_run
from persistence.tables.messages import broadcast, message, saved_reply
from persistence.tables.service import archive, global_value
from persistence.tokens import AREAS, Credentials
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.contract.bodies import own_query
from tests.contract.documents import Operation, token_operations
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.definition_files import make_definition
from tests.factories import make_contact

OPERATIONS = [each for each in token_operations() if each.generation in ("v1", "v2") and each.path != "/stream"]
READS = [each for each in OPERATIONS if each.method == "get"]
EVENTS = {"mo_sms": "messages", "mt_sent": "messages", "mo_miss": "channels", "alarm": "channels", "flow": "flows"} | {
    "resthook": "flows"
}
TIME = "2026-03-02T08:00:00.000000Z"
CANARIES: list[tuple[str, Any, dict[str, Any]]] = [
    ("messages", message, {"text": "canary-messages"}),
    ("messages", broadcast, {"text": {"eng": "canary-messages"}}),
    ("messages", saved_reply, {"text": "canary-messages"}),
    ("messages", gateway_call, {"body": "canary-messages"}),
    ("contacts", contact, {"fields": {}, "language": "zza"}),
    ("contacts", contact_note, {"text": "canary-contacts"}),
    ("tickets", ticket_event, {"note": "canary-tickets"}),
    (
        "flows",
        flow_run,
        {"results": {"a": {"name": "A", "value": "canary-flows", "category": "", "node": new_uuid(), "time": TIME}}},
    ),
    ("flows", flow_revision, {"definition": '{"name": "canary-flows"}'}),
    ("flows", global_value, {"value": "canary-flows"}),
    ("channels", channel_event, {"extra": {"who": "canary-channels"}}),
]
"""Values that stand only in records of one area, by their table."""
WORDS = {area: (f"canary-{area}", *(["zza"] if area == "contacts" else [])) for area in AREAS}


def url_of(operation: Operation) -> str:
    return f"/api/{operation.generation}{operation.path}"


def needs(operation: Operation) -> set[str]:
    return {operation.body["x-area"], *operation.body.get("x-shows", ())} - {OPEN, EACH}


def query_of(operation: Operation, filled: Filled) -> dict[str, Any]:
    if operation.path == "/contact_queries.json":
        return {"query": "name != Nobody"}
    return own_query(operation, filled)


def ask(api: Api, operation: Operation, **query: Any) -> Any:
    if operation.method == "post":
        return api.post(url_of(operation), {}, **query)
    return getattr(api, operation.method)(url_of(operation), **query)


@pytest.fixture
def filled(database: Database, workspace: Workspace) -> Filled:
    found = fill_workspace(database, workspace, 1)
    with database.writing() as tx:
        for _, table, values in CANARIES:
            tx.execute(update(table).values(**values))
        tx.execute(update(delivery).values(event="mo_sms", body="text=canary-messages"))
    return found


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # no database is asked who may do what
def test_a_token_with_all_areas_may_do_what_one_without_limits_may(api: Api) -> None:
    whole = api.limited_to(*AREAS)

    # An administrator without limits may do everything (tests/contract/test_roles.py).
    assert [str(each) for each in OPERATIONS if ask(whole, each).status_code == 403] == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # no database is asked who may do what
def test_without_its_area_an_operation_is_refused(api: Api) -> None:
    limited = functools.cache(lambda areas: api.limited_to(*areas))
    for each in OPERATIONS:
        enough = frozenset(needs(each) or {"messages"})
        assert ask(limited(enough), each).status_code != 403, f"{each} with {enough}"
        for area in needs(each):
            assert ask(limited(frozenset(AREAS) - {area}), each).status_code == 403, f"{each} without {area}"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_what_only_an_area_has_is_shown_to_its_tokens_only(api: Api, filled: Filled) -> None:
    whole = {str(each): ask(api, each, **query_of(each, filled)).text for each in READS}
    assert all(any(word in text for text in whole.values()) for area, *_ in CANARIES for word in WORDS[area])

    for area in AREAS:
        rest = api.limited_to(*(each for each in AREAS if each != area))
        for each in (read for read in READS if any(word in whole[str(read)] for word in WORDS[area])):
            shown = ask(rest, each, **query_of(each, filled)).text
            assert not [word for word in WORDS[area] if word in shown], f"{each} without {area}"


@pytest.mark.together
@pytest.mark.parametrize("area", AREAS)
def test_the_stream_gives_the_kinds_whose_lists_the_token_may_read(workspace: Workspace, area: str) -> None:
    lists = {
        "contacts": ["contact", "participant of contact"],
        "messages": ["broadcast", "conversation", "message"],
        "tickets": ["ticket"],
        "flows": ["flow_start", "run"],
        "channels": ["channel"],
    }

    def kinds(role: str, areas: tuple[str, ...] | None) -> list[str]:
        return sorted(kinds_of(Credentials(1, workspace, 1, "a@example.org", role, "read", areas=areas)))

    gone = {
        "contacts": ["contact", "contact_note", "field", "group"],
        "messages": ["broadcast", "label", "saved_reply"],
        "tickets": ["ticket"],
        "flows": ["global", "run", "subscriber"],
        "channels": ["channel"],
        "campaigns": ["campaign_event"],
    }
    told = [*lists.get(area, []), *(f"deletion of {each}" for each in gone.get(area, []))]
    assert kinds("administrator", (area,)) == sorted(told)
    assert kinds("administrator", AREAS) == kinds("administrator", None)
    assert kinds("agent", (area,)) == [each for each in sorted(told) if each in kinds("agent", None)]


def test_the_timeline_leaves_out_what_is_of_other_areas(api: Api, filled: Filled) -> None:
    path, uuid = "/api/v2/contact_timeline.json", filled.first("contact").uuid
    kinds = {
        "messages": {"message"},
        "tickets": {"ticket_event"},
        "channels": {"channel_event"},
        "flows": {"run_started"},
    }

    whole = {each["type"] for each in api.results(path, contact=uuid)}
    assert whole >= {"created", "note"}.union(*kinds.values())
    assert {each["type"] for each in api.limited_to("contacts").results(path, contact=uuid)} == {"created", "note"}
    for area, shown in kinds.items():
        found = api.limited_to("contacts", area).results(path, contact=uuid)
        assert {each["type"] for each in found} == {"created", "note", *shown}
    for area in {*AREAS} - {"contacts"}:
        assert api.limited_to(area).get(path, contact=uuid).status_code == 403


def test_a_copied_contact_of_a_simulation_has_its_tickets_only_with_their_area(
    api: Api, database: Database, workspace: Workspace
) -> None:
    uuid = make_contact(database, workspace)
    assert api.post("/api/v2/tickets.json", {"contact": uuid, "note": "Call back"}).status_code == 201
    says = make_definition({"type": "send_msg", "text": "@(count(contact.tickets))"})
    body = {"definition": says, "contact": uuid}

    for areas, count in ((("flows", "contacts"), 0), (("flows", "contacts", "tickets"), 1)):
        played = api.limited_to(*areas).post("/api/v2/simulations.json", body).json()
        assert len(played["contact"].get("tickets", [])) == count
        (event,) = (each for each in played["events"] if each["type"] == "msg_created")
        assert event["msg"]["text"] == str(count)


def test_exports_are_made_and_read_by_who_may_read_what_they_hold(api: Api) -> None:
    path, kinds = "/api/v2/exports.json", ("contacts", "messages", "runs", "tickets")
    area_of = dict(zip(kinds, ("contacts", "messages", "flows", "tickets"), strict=True))
    made = {kind: api.post(path, {"type": kind, "format": "csv"}).json()["uuid"] for kind in kinds}

    for area in AREAS:
        limited = api.limited_to(area)
        own = [kind for kind in kinds if area_of[kind] == area]
        assert [each["uuid"] for each in limited.results(path)] == [made[kind] for kind in own]
        for kind in kinds:
            assert limited.results(path, uuid=made[kind]) == [] or kind in own
            status = limited.post(path, {"type": kind, "format": "csv"}).status_code
            assert status == (201 if kind in own else 403), (area, kind)


def test_a_kept_answer_is_not_given_to_a_token_of_other_areas(api: Api) -> None:
    path, body = "/api/v2/exports.json", {"type": "messages", "format": "csv"}
    key = {"Idempotency-Key": "export-1"}

    assert api.limited_to("messages").post(path, body, headers=key).status_code == 201
    assert api.limited_to("administration").post(path, body, headers=key).status_code != 201


def test_archives_show_the_kinds_of_the_token(api: Api, database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        for kind in ("message", "run"):
            values = {
                "archive_type": kind,
                "period": "daily",
                "start_date": tx.now.date(),
                "record_count": 1,
                "size": 1,
            }
            tx.execute(insert(archive).values(workspace_id=workspace.id, created_on=tx.now, **values))

    shown = {area: [each["type"] for each in api.limited_to(area).results("/api/v2/archives.json")] for area in AREAS}
    assert {area: kinds for area, kinds in shown.items() if kinds} == {"messages": ["message"], "flows": ["run"]}


@pytest.mark.together
@pytest.mark.parametrize("name", [*EVENTS, "test"])
def test_a_delivery_belongs_to_the_area_of_its_event(api: Api, database: Database, filled: Filled, name: str) -> None:
    uuid, first = filled.first("delivery").uuid, filled.first("delivery")
    has_subscriber = name == "resthook"
    with database.writing() as tx:
        theirs = {"subscriber_id": first.subscriber_id} if has_subscriber else {"subscriber_id": None}
        tx.execute(update(delivery).values(event=name, status="failed", finished_on=tx.now, **theirs))
    action = {"action": "resend", "deliveries": [uuid]}
    since = {"action": "resend_failed", "since": "2020-01-01T00:00:00Z"}

    for area in sorted({*AREAS} - {EVENTS.get(name, "channels")}):
        limited = api.limited_to(area)
        assert limited.results("/api/v2/deliveries.json") == []
        assert limited.get("/api/v2/delivery.json", uuid=uuid).status_code == 404
        assert limited.get("/api/v2/delivery_ledger.json").json()["made"] == 0
        assert limited.post("/api/v2/delivery_actions.json", action).status_code == 400
        assert limited.post("/api/v2/delivery_actions.json", since).json() == {"resent": 0}
    limited = api.limited_to(EVENTS.get(name, "channels"))
    assert [each["uuid"] for each in limited.results("/api/v2/deliveries.json")] == [uuid]
    assert limited.get("/api/v2/delivery.json", uuid=uuid).status_code == 200
    assert limited.get("/api/v2/delivery_ledger.json").json()["made"] == 1


def test_receivers_belong_to_channels_flows_or_administration(api: Api, database: Database, filled: Filled) -> None:
    path, uuid = "/api/v2/webhook_receivers.json", filled.first("channel").uuid
    with database.writing() as tx:
        tx.execute(update(delivery).values(status="failed"))
    subscriber = filled.first("resthook_subscriber").id
    theirs = {"channels": uuid, "flows": str(subscriber), "administration": str(subscriber - 1)}

    for area in AREAS:
        limited = api.limited_to(area)
        assert [each["receiver"] for each in limited.results(path)] == [
            each for of, each in theirs.items() if of == area
        ]
        for of, receiver in theirs.items():
            answers = [
                limited.post(path, {"requests_per_second": 5}, receiver=receiver),
                limited.post("/api/v2/webhook_tests.json", receiver=receiver),
                limited.post("/api/v2/webhook_secrets.json", receiver=receiver),
            ]
            assert [each.status_code == 403 for each in answers] == [of != area] * 3, (area, of)


def test_contacts_are_searched_only_by_who_may_read_them(api: Api, database: Database, workspace: Workspace) -> None:
    uuid = make_contact(database, workspace)
    limited, both = api.limited_to("messages"), api.limited_to("messages", "contacts")
    sent = {"text": {"eng": "Hello"}, "query": "name = Amina"}
    shown = {"text": {"eng": "Hello @contact.name"}, "contacts": [uuid], "contact": uuid}
    conversations, previews = "/api/v2/conversations.json", "/api/v2/broadcast_previews.json"

    assert [each.get(conversations, search="name = Amina").status_code for each in (limited, both)] == [403, 200]
    assert [each.get(conversations).status_code for each in (limited, both)] == [200, 200]
    for body in (sent, shown):
        assert [each.post(previews, body).status_code for each in (limited, both)] == [403, 200]
    assert [each.post("/api/v2/broadcasts.json", sent).status_code for each in (limited, both)] == [403, 201]


def test_tickets_are_shown_beside_conversations_only_to_who_may_read_them(api: Api, filled: Filled) -> None:
    path = "/api/v2/conversations.json"
    limited, both = api.limited_to("messages"), api.limited_to("messages", "tickets")

    assert [each.get(path, assignee="nobody").status_code for each in (limited, both)] == [403, 200]
    shown = [[each["uuid"] for each in some.results(path) if each["ticket"]] for some in (limited, both)]
    assert [bool(each) for each in shown] == [False, True]


def test_senders_of_a_tried_message_are_named_only_by_who_may_read_contacts(
    api: Api, database: Database, workspace: Workspace
) -> None:
    path, senders = (
        "/api/v2/trigger_matches.json",
        [{"contact": make_contact(database, workspace)}, {"urn": "tel:+250788000111"}],
    )
    limited, both = api.limited_to("flows"), api.limited_to("flows", "contacts")

    assert [each.get(path, text="join").status_code for each in (limited, both)] == [200, 200]
    for sender in senders:
        assert [each.get(path, text="join", **sender).status_code for each in (limited, both)] == [403, 200]


@pytest.mark.parametrize(
    ("area", "action", "path"),
    [
        ("contacts", {"type": "add_contact_groups", "groups": [{"uuid": new_uuid(), "name": "New"}]}, "groups"),
        ("contacts", {"type": "set_contact_field", "field": {"key": "new", "name": "New"}, "value": "1"}, "fields"),
        ("messages", {"type": "add_input_labels", "labels": [{"uuid": new_uuid(), "name": "New"}]}, "labels"),
        ("tickets", {"type": "open_ticket", "topic": {"uuid": new_uuid(), "name": "New"}, "note": "Call"}, "topics"),
    ],
)
def test_a_saved_flow_creates_only_what_is_of_the_areas_of_the_token(
    api: Api, area: str, action: dict[str, Any], path: str
) -> None:
    def names() -> list[str]:
        return [each["name"] for each in api.results(f"/api/v2/{path}.json")]

    uuid = api.post("/api/v2/flows.json", {"name": "Welcome"}).json()["uuid"]
    rest, enough = api.limited_to(*({*AREAS} - {area})), api.limited_to("flows", area)
    saved = {"based_on": 1, "definition": make_definition(action)}

    assert rest.post("/api/v2/flow_revisions.json", saved, uuid=uuid).status_code == 403
    assert "New" not in names() and len(api.get("/api/v2/flow_revisions.json", uuid=uuid).json()["revisions"]) == 1
    assert enough.post("/api/v2/flow_revisions.json", saved, uuid=uuid).status_code == 201
    assert "New" in names()


@pytest.mark.together
@pytest.mark.parametrize(
    ("generation", "action", "area"),
    [
        *(("v2", action, "messages") for action in ("archive", "archive_messages", "restore_messages")),
        *(("v1", "archive", "messages"), ("v2", "interrupt", "flows"), ("v1", "expire", "flows")),
        *(("v2", "block", "contacts"), ("v1", "block", "contacts")),
    ],
)
def test_actions_on_contacts_need_the_area_of_what_they_change(
    api: Api, database: Database, workspace: Workspace, generation: str, action: str, area: str
) -> None:
    body = {"contacts": [make_contact(database, workspace)], "action": action}

    for limited in ({"contacts"}, {"contacts", area}, {area}):
        status = api.limited_to(*limited).post(f"/api/{generation}/contact_actions.json", body).status_code
        assert status == (204 if {"contacts", area} <= limited else 403)


def test_definitions_hold_only_parts_of_the_areas(api: Api, filled: Filled) -> None:
    path, campaign = "/api/v2/definitions.json", filled.first("campaign").uuid
    whole = api.get(path, campaign=campaign).json()
    assert whole["campaigns"] and whole["groups"]

    assert api.limited_to("flows").get(path, campaign=campaign).status_code == 403
    some = api.limited_to("flows", "campaigns").get(path, campaign=campaign).json()
    assert some["campaigns"] and not some["groups"] and not some["fields"]
    flows = api.limited_to("flows").get(path, flow=filled.first("flow").uuid).json()
    assert flows["flows"] and not flows["campaigns"] and not flows["groups"]


def test_figures_and_words_name_nothing_of_other_areas(api: Api, filled: Filled) -> None:
    figures, words = "/api/v2/workspace_figures.json", "/api/v2/contact_query_words.json"

    shown = api.limited_to("administration").get(figures).json()
    assert shown["channels"] == shown["silent_phones"] == shown["failing_webhooks"] == []
    assert api.get(words).json()["flows"]
    assert api.limited_to("contacts").get(words).json()["flows"] == []
