"""`/api/v2/webhook_subscriptions.json`: which events a workspace tells, and to whom, over HTTP."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from persistence.contacts.bulk import block_contacts
from persistence.deliveries.events import RECORDS_AT_ONCE
from persistence.deliveries.subscriptions import SUBSCRIPTIONS_PER_WORKSPACE
from persistence.stamps import CONTACT_CHANGED, CONTACT_CREATED, CONTACT_DELETED, EVENT_AREAS, MESSAGE_RECEIVED
from persistence.tables.contacts import contact
from persistence.tables.service import workspace_clock
from relayboard.phone.phone import NEW
from testbed.flow_rows import definition, node, say, store_flow
from tests.api import Api
from tests.contract.documents import complaints, document
from tests.factories import make_contact, make_contacts
from tests.phones import claimed_phone
from worker.flows.incoming import begin_incoming
from worker.flows.starts import begin_starts
from worker.jobs import begin_broadcasts, begin_data
from worker.runtime import Runtime, open_http

PATH, RECEIVERS, TYPES = (f"/api/v2/webhook_{name}.json" for name in ("subscriptions", "receivers", "event_types"))
CONTACTS, ACTIONS, DELIVERIES = (f"/api/v2/{name}.json" for name in ("contacts", "contact_actions", "deliveries"))
URL = "https://hooks.example.org/crm"


def subscribe(api: Api, *events: str, url: str = URL) -> dict[str, Any]:
    answer = api.post(PATH, {"url": url, "events": list(events or EVENT_AREAS)})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def told(api: Api, *events: str) -> list[dict[str, Any]]:
    """The bodies of the events so far, the oldest first, those of some types or all."""
    listed = api.all_results(DELIVERIES)[::-1]
    bodies = [api.get("/api/v2/delivery.json", uuid=each["uuid"]).json() for each in listed]
    return [json.loads(each["body"]) for each in bodies if not events or each["event"] in events]


def names(api: Api) -> list[str]:
    return [each["type"] for each in told(api)]


def test_a_subscription_is_a_receiver_whose_secret_is_shown_once(api: Api) -> None:
    made = subscribe(api, MESSAGE_RECEIVED, CONTACT_CREATED)
    (shown,) = api.results(RECEIVERS)

    assert made["secret"].startswith("whsec_")
    assert made["receiver"] == shown["receiver"] == str(made["id"])
    assert (shown["kind"], shown["channel"], shown["resthook"]) == ("subscription", None, None)
    assert (shown["url"], shown["events"], shown["format"]) == (URL, [CONTACT_CREATED, MESSAGE_RECEIVED], "json")
    assert api.results("/api/v2/resthook_subscribers.json") == []
    assert api.delete("/api/v2/resthook_subscribers.json", id=made["id"]).status_code == 404


def test_the_catalogue_has_an_example_of_each_event_that_fits_its_schema(api: Api) -> None:
    types = api.get(TYPES).json()["types"]
    schemas = document("v2/openapi.yaml")["components"]["schemas"]
    fitting = {
        name: key
        for key, each in schemas.items()
        if key.startswith("Workspace") and key.endswith("Event")
        for name in each["properties"]["type"]["enum"]
    }

    assert {each["type"]: each["area"] for each in types} == EVENT_AREAS
    assert [complaints("v2/openapi.yaml", schemas[fitting[each["type"]]], each["body"]) for each in types] == [
        {} for _ in types
    ]


def test_nothing_is_told_before_somebody_subscribes_after_the_end_or_while_it_is_switched_off(api: Api) -> None:
    make_contact(api.database, api.workspace)
    made = subscribe(api, CONTACT_CREATED)
    make_contact(api.database, api.workspace, name="Told")
    api.post(RECEIVERS, {"is_on": False}, receiver=made["receiver"])
    make_contact(api.database, api.workspace)
    api.post(RECEIVERS, {"is_on": True}, receiver=made["receiver"])
    make_contact(api.database, api.workspace, name="Told again")
    assert api.delete(PATH, id=made["id"]).status_code == 204
    make_contact(api.database, api.workspace)

    assert [each["data"]["name"] for each in told(api)] == ["Told", "Told again"]
    assert {each["status"] for each in api.results(DELIVERIES)} == {"failed"}
    assert api.delete(PATH, id=made["id"]).status_code == 404
    with api.database.reading() as tx:
        assert tx.execute(select(workspace_clock.c.told)).scalar_one() is None


def test_an_event_has_an_id_a_type_a_time_its_workspace_and_the_record_as_it_was(api: Api) -> None:
    subscribe(api)
    made = api.post(CONTACTS, {"name": "Amina", "urns": ["tel:+254722000111"]}).json()
    changed = api.post(CONTACTS, {"language": "swa"}, uuid=made["uuid"]).json()
    api.post(CONTACTS, {"language": "swa"}, uuid=made["uuid"])
    api.delete(CONTACTS, uuid=made["uuid"])
    events = told(api)

    assert [each["type"] for each in events] == [CONTACT_CREATED, CONTACT_CHANGED, CONTACT_DELETED]
    assert [each["data"] for each in events] == [made, changed, {"uuid": made["uuid"], "merged_into": None}]
    assert [each["timestamp"] for each in events[:2]] == [made["modified_on"], changed["modified_on"]]
    assert events[1]["timestamp"] < events[2]["timestamp"]
    assert {each["workspace"] for each in events} == {api.workspace.uuid}
    assert {each["id"] for each in events} == {each["uuid"] for each in api.results(DELIVERIES)}


@pytest.fixture
def work(database: Any, settings: Any) -> Callable[[], None]:
    """Lets a worker do what is due of what events tell."""

    def run() -> None:
        runtime = Runtime(settings, database, open_http(settings))
        with runtime.closing:
            for begin in (begin_incoming, begin_broadcasts, begin_starts, begin_data):
                step = begin(runtime)
                while step():
                    pass

    return run


def test_what_people_and_phones_do_is_told_once(api: Api, work: Callable[[], None]) -> None:
    subscribe(api)
    phone = claimed_phone(api)
    phone.receive_sms("+250788000111", "hello")
    phone.sync()
    work()
    (amina,) = api.results(CONTACTS)
    for text in ("Hi", "Bye"):
        api.post("/api/v2/messages.json", {"contact": amina["uuid"], "text": text})
    phone.sync()
    sent, failed = phone.state.ids_in(NEW)
    phone.send_result(sent)
    phone.delivery(sent)
    phone.report("mt_fail", failed)
    phone.sync()
    phone.sync()
    events = told(api)

    assert [each["type"] for each in events] == [
        "contact.created",
        "message.received",
        *["message.sent", "message.failed"],
    ]
    assert [each["data"].get("text") for each in events] == [None, "hello", "Hi", "Bye"]
    assert events[2]["data"]["status"] == "delivered"
    assert events[3]["data"]["status"] == "failed"
    assert {each["contact"]["uuid"] for each in api.results(DELIVERIES)} == {amina["uuid"]}


def test_tickets_tell_that_they_are_opened_assigned_and_closed(api: Api) -> None:
    amina = make_contact(api.database, api.workspace)
    topic = next(each["uuid"] for each in api.results("/api/v2/topics.json"))
    subscribe(api, "ticket.opened", "ticket.assigned", "ticket.closed")
    made = api.post("/api/v2/tickets.json", {"contact": amina, "topic": topic}).json()
    (user, *_) = api.results("/api/v2/users.json")
    act = {"tickets": [made["uuid"]]}
    for change in ({"action": "assign", "assignee": user["email"]}, {"action": "close"}, {"action": "close"}):
        assert api.post("/api/v2/ticket_actions.json", act | change).status_code in (200, 204)
    api.post("/api/v2/ticket_actions.json", act | {"action": "reopen"})
    events = told(api)

    assert [each["type"] for each in events] == ["ticket.opened", "ticket.assigned", "ticket.closed", "ticket.opened"]
    assert [each["data"]["status"] for each in events] == ["open", "open", "closed", "open"]
    assert events[0]["data"] == made
    assert events[1]["data"]["assignee"]["email"] == user["email"]


def test_what_workers_finish_is_told_once(api: Api, work: Callable[[], None]) -> None:
    amina = make_contact(api.database, api.workspace)
    flow = store_flow(api.database, api.workspace, definition("Hi", [node("hi", [say("Hi")])]))
    subscribe(api, *(each for each in EVENT_AREAS if each.endswith((".done", ".completed"))))
    api.post("/api/v2/broadcasts.json", {"contacts": [amina], "text": "Closed on Monday"})
    api.post("/api/v2/flow_starts.json", {"flow": flow, "contacts": [amina]})
    export = api.post("/api/v2/exports.json", {"type": "contacts", "format": "csv"})
    people = b"Phone,Name\n+250788000001,Bosco\n"
    made = api.upload("/api/v2/contact_imports.json", "people.csv", people, "text/csv").json()
    work()
    api.post("/api/v2/contact_import_actions.json", {"import": made["uuid"], "action": "start"})
    work()
    events = {each["type"]: each["data"] for each in told(api)}

    assert export.status_code == 201
    assert sorted(names(api)) == sorted(
        ["broadcast.done", "flow_start.done", "run.completed", "import.done", "export.done"]
    )
    assert {name: data.get("status") or data["exit_type"] for name, data in events.items()} == dict.fromkeys(
        events, "completed"
    )
    assert events["run.completed"]["path"] == []
    assert events["run.completed"]["contact"]["uuid"] == amina
    assert events["export.done"]["download_url"] is None
    assert events["import.done"]["created"] == 1


def test_a_broadcast_that_is_stopped_before_its_time_is_done(api: Api) -> None:
    subscribe(api, "broadcast.done")
    later = (api.database.clock() + timedelta(days=1)).isoformat()
    body = {"contacts": [make_contact(api.database, api.workspace)], "text": "Tomorrow", "scheduled_on": later}
    made = api.post("/api/v2/broadcasts.json", body).json()

    api.post("/api/v2/broadcast_actions.json", {"broadcasts": [made["uuid"]], "action": "stop"})

    (event,) = told(api)
    assert (event["data"]["uuid"], event["data"]["status"]) == (made["uuid"], "interrupted")


def test_many_contacts_changed_at_once_take_a_few_statements_for_each_hundreds(api: Api, statements: list[str]) -> None:
    count = RECORDS_AT_ONCE + 20
    make_contacts(api.database, api.workspace, count)
    with api.database.reading() as tx:
        ids = tx.execute(select(contact.c.id)).scalars().all()

    def block(some: Any) -> int:
        statements.clear()
        with api.database.writing() as tx:
            block_contacts(tx, api.workspace.id, some)
        return len(statements)

    without = block(ids[:1])
    subscribe(api, CONTACT_CHANGED)
    subscribe(api, CONTACT_CHANGED, url=URL + "/2")
    one, many = block(ids[1:2]), block(ids[2:])

    assert len(api.all_results(DELIVERIES)) == 2 * (count - 1)
    assert many - without <= 2 * (one - without)


def test_a_subscription_changes_its_url_and_events_and_what_waits_follows(api: Api) -> None:
    key = subscribe(api, CONTACT_CREATED)["receiver"]
    make_contact(api.database, api.workspace)
    changed = api.post(RECEIVERS, {"url": URL + "/2", "events": [CONTACT_DELETED]}, receiver=key).json()
    uuid = make_contact(api.database, api.workspace)
    api.delete(CONTACTS, uuid=uuid)
    test = api.post("/api/v2/webhook_tests.json", receiver=key).json()["delivery"]

    assert (changed["url"], changed["events"]) == (URL + "/2", [CONTACT_DELETED])
    assert names(api) == [CONTACT_CREATED, CONTACT_DELETED, "test"]
    assert {each["url"] for each in api.results(DELIVERIES)} == {URL + "/2"}
    assert told(api, "test")[0]["id"] == test
    assert api.post("/api/v2/webhook_secrets.json", receiver=key).json()["secret"].startswith("whsec_")


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": URL, "events": []}, "events"),
        ({"url": URL, "events": ["contact.born"]}, "events"),
        ({"url": URL, "events": ["mo_sms"]}, "events"),
        ({"url": "http://10.0.0.1/", "events": [CONTACT_CREATED]}, "url"),
        ({"events": [CONTACT_CREATED]}, "url"),
    ],
)
def test_what_cannot_be_subscribed_is_refused(api: Api, body: dict[str, Any], field: str) -> None:
    key = subscribe(api, CONTACT_CREATED)["receiver"]
    refused = api.post(PATH, body)

    assert refused.status_code == 400
    assert field in refused.text
    assert api.post(RECEIVERS, {"url": None}, receiver=key).status_code == 400
    assert api.post(RECEIVERS, {"events": ["mo_sms"]}, receiver=key).status_code == 400
    assert len(api.results(RECEIVERS)) == 1


def test_a_workspace_has_a_limited_number_of_subscriptions(api: Api) -> None:
    for _ in range(SUBSCRIPTIONS_PER_WORKSPACE):
        subscribe(api, CONTACT_CREATED)

    assert api.post(PATH, {"url": URL, "events": [CONTACT_CREATED]}).status_code == 409


def test_a_limited_token_sees_the_events_of_its_areas_and_changes_no_subscription(api: Api) -> None:
    key = subscribe(api)["receiver"]
    make_contact(api.database, api.workspace)
    flows, contacts = api.limited_to("flows"), api.limited_to("contacts")

    assert flows.results(DELIVERIES) == []
    assert [each["event"] for each in contacts.results(DELIVERIES)] == [CONTACT_CREATED]
    assert flows.results(RECEIVERS) == []
    assert flows.post(RECEIVERS, {"is_on": False}, receiver=key).status_code == 403
    assert api.limited_to("administration").results(RECEIVERS)[0]["receiver"] == key


def test_who_subscribes_may_read_what_the_events_tell(api: Api) -> None:
    rest, enough = api.limited_to("administration", "messages"), api.limited_to("administration", "contacts")
    wanted = {"url": URL, "events": [CONTACT_CREATED]}

    assert [each.post(PATH, wanted).status_code for each in (rest, enough)] == [403, 201]
    key = api.post(PATH, {"url": URL, "events": ["message.received"]}).json()["receiver"]
    for changes in ({"events": [CONTACT_CREATED]}, {"url": "https://elsewhere.example.org/"}):
        assert enough.post(RECEIVERS, changes, receiver=key).status_code == 403
    assert rest.post(RECEIVERS, {"events": [CONTACT_CREATED]}, receiver=key).status_code == 403
    assert rest.post(RECEIVERS, {"url": "https://elsewhere.example.org/"}, receiver=key).status_code == 200
    assert enough.post(RECEIVERS, {"is_on": False}, receiver=key).status_code == 200
