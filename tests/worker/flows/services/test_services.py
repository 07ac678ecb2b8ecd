"""Calls of flows to other systems: webhooks, resthooks, and the flow event of the API (flow format, webhooks)."""

import json
from ipaddress import ip_network
from typing import Any

import pytest
from sqlalchemy import select, update

from flows.urns import Urn
from persistence.resthooks import create_subscriber, ensure_resthook
from persistence.tables.channels import channel
from persistence.tables.contacts import contact
from persistence.tables.deliveries import delivery, resthook_event, resthook_subscriber
from persistence.tables.flows import flow_run
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.worker.flows.conftest import Stage
from tests.worker.receivers import Receiver, Reply, receiving
from worker.flows.services.services import UrnClaims, find_blocked
from worker.http.safe_http import RESPONSE_LIMIT_BYTES
from worker.webhooks.dispatcher import begin_webhooks
from worker.webhooks.signing import is_signed

AMINA = "+254722000111"


def call(receiver: Receiver, **fields: Any) -> dict[str, Any]:
    return {"type": "call_webhook", "uuid": uuid_of("call"), "method": "POST", "url": receiver.url, **fields}


def survey(*after: dict[str, Any]) -> dict[str, Any]:
    """A flow that asks for an age and then does something."""
    nodes = [
        ask("age", {"x": "then"}, "then", result="Age", actions=[say("How old are you?")]),
        node("then", after),
    ]
    return definition("Survey", nodes)


def answer(stage: Stage, flow: dict[str, Any]) -> int:
    """Amina is started and answers; returns her id."""
    amina = stage.add_contact(AMINA, "Amina")
    stage.start(store_flow(stage.database, stage.workspace, flow), amina)
    stage.work()
    stage.receive(AMINA, "37")
    stage.work()
    return amina


def test_a_post_without_a_body_of_its_own_carries_the_flow_event(stage: Stage, receiver: Receiver) -> None:
    answer(stage, survey(call(receiver)))

    (request,) = receiver.received
    event = json.loads(request.body)
    (run,) = stage.rows(flow_run)
    assert request.headers["content-type"] == "application/json"
    assert event["flow"] == {"name": "Survey", "uuid": uuid_of("flow Survey"), "revision": 1}
    assert (event["contact"]["name"], event["contact"]["urn"]) == ("Amina", f"tel:{AMINA}")
    assert event["channel"]["name"] == "Front desk"
    assert event["run"]["uuid"] == run.uuid
    assert [sorted(step) for step in event["path"]] == [
        ["arrived_on", "exit_uuid", "node_uuid"],
        ["arrived_on", "node_uuid"],
    ]
    assert event["results"]["age"] == {
        "node_uuid": uuid_of("age"),
        "name": "Age",
        "category": "Other",
        "value": "37",
        "input": "37",
        "created_on": event["results"]["age"]["created_on"],
    }


def test_the_answer_is_there_for_the_flow_and_may_be_a_message_to_send(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(200, b'{"text": "From outside", "points": 12}')

    amina = answer(stage, survey(call(receiver, result_name="Call"), say("You have @webhook.json.points points")))

    assert stage.sent_to(amina)[1:] == ["You have 12 points", "From outside"]
    (run,) = stage.rows(flow_run)
    assert (run.results["call"]["value"], run.results["call"]["category"]) == ("200", "Success")


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_that_is_too_large_is_a_connection_error(stage: Stage, receiver: Receiver, status: int) -> None:
    receiver.respond = lambda _request: Reply(status, b'{"x": "%s"}' % (b"y" * RESPONSE_LIMIT_BYTES))

    amina = answer(stage, survey(call(receiver, result_name="Call"), say("Status @webhook.status")))

    (run,) = stage.rows(flow_run)
    assert (run.results["call"]["value"], run.results["call"]["category"]) == ("0", "Failure")
    assert stage.sent_to(amina)[1:] == ["Status 0"]
    assert len(receiver.received) == 1


def test_an_answer_just_small_enough_is_read(stage: Stage, receiver: Receiver) -> None:
    padding = b"y" * (RESPONSE_LIMIT_BYTES - len(b'{"x": 7, "y": ""}'))
    receiver.respond = lambda _request: Reply(200, b'{"x": 7, "y": "%s"}' % padding)

    amina = answer(stage, survey(call(receiver, result_name="Call"), say("It is @webhook.json.x")))

    (run,) = stage.rows(flow_run)
    assert (run.results["call"]["value"], run.results["call"]["category"]) == ("200", "Success")
    assert stage.sent_to(amina)[1:] == ["It is 7"]


def test_a_subscriber_with_a_large_answer_was_told_though_the_flow_fails(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(200, b"y" * (RESPONSE_LIMIT_BYTES + 1))
    subscribe_to(stage, "new-mother", receiver.url)

    answer(stage, survey(resthook("new-mother")))

    (run,) = stage.rows(flow_run)
    assert (run.results["hook"]["value"], run.results["hook"]["category"]) == ("0", "Failure")
    assert stage.rows(delivery) == []


@pytest.mark.parametrize(
    ("blocked", "is_blocked"),
    [("example.com", True), ("com", True), ("a.example.com", True), ("b.example.com", False), ("ample.com", False)],
)
def test_a_blocked_domain_is_blocked_with_all_below_it(blocked: str, is_blocked: bool) -> None:
    for host in ("a.example.com", "A.Example.COM", "a.example.com."):
        assert find_blocked(f"http://{host}:1/x", {blocked}) == ("a.example.com" if is_blocked else "")


def test_the_channels_receiver_hears_of_flow_events_too(stage: Stage, receiver: Receiver) -> None:
    with stage.database.writing() as tx:
        tx.execute(update(channel).values(webhook_url="http://127.0.0.1:9/hook", webhook_events=["flow"]))

    answer(stage, survey(call(receiver)))

    (queued,) = stage.rows(delivery)
    assert (queued.event, queued.content_type) == ("flow", "application/json")
    assert json.loads(queued.body) == {"event": "flow"} | json.loads(receiver.received[0].body)


def test_a_resthook_is_noted_once_and_every_subscriber_is_told(stage: Stage, receiver: Receiver) -> None:
    with receiving() as other:
        for url in (receiver.url, other.url):
            subscribe_to(stage, "new-mother", url)
        answer(stage, survey(resthook("new-mother")))

    (event,) = stage.rows(resthook_event)
    bodies = [json.loads(each.received[0].body) for each in (receiver, other)]
    assert bodies == [event.data, event.data]
    assert event.data["input"] == {"urn": f"tel:{AMINA}", "text": "37", "attachments": []}
    assert stage.rows(delivery) == []


def test_a_subscriber_that_is_gone_is_removed(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(410)
    subscribe_to(stage, "new-mother", receiver.url)

    answer(stage, survey(resthook("new-mother")))

    assert stage.rows(resthook_subscriber) == []
    assert len(stage.rows(resthook_event)) == 1


def test_a_subscriber_that_was_not_reached_gets_the_event_later(stage: Stage, receiver: Receiver) -> None:
    receiver.respond = lambda _request: Reply(500)
    subscribe_to(stage, "new-mother", receiver.url)
    answer(stage, survey(resthook("new-mother")))
    (queued,) = stage.rows(delivery)
    before = len(receiver.received)

    receiver.respond = lambda _request: Reply(200)
    step = begin_webhooks(stage.runtime)
    while step():
        pass

    assert queued.status == "pending"
    assert receiver.wait_for(before + 1)
    assert json.loads(receiver.received[-1].body) == json.loads(receiver.received[0].body)


def test_a_call_to_a_subscriber_is_signed_with_its_secret(stage: Stage, receiver: Receiver) -> None:
    subscribe_to(stage, "new-mother", receiver.url)
    with stage.database.reading() as tx:
        (secret,) = tx.execute(select(resthook_subscriber.c.webhook_secret)).scalars()

    answer(stage, survey(resthook("new-mother")))

    (request,) = receiver.received
    assert is_signed(request.headers, request.body, secret, stage.database.clock())


def resthook(slug: str) -> dict[str, Any]:
    return {"type": "call_resthook", "uuid": uuid_of(slug), "resthook": slug, "result_name": "Hook"}


def subscribe_to(stage: Stage, slug: str, url: str) -> None:
    with stage.database.writing() as tx:
        ensure_resthook(tx, stage.workspace.id, slug)
        create_subscriber(tx, stage.workspace.id, slug, url, allowed_networks=[ip_network("127.0.0.0/8")])


def test_an_address_is_free_for_its_owner_and_where_nobody_has_it(stage: Stage) -> None:
    amina, ben = stage.add_contact(AMINA), stage.add_contact("+254722000222")
    uuids = {row.id: row.uuid for row in stage.rows(contact)}
    claims = UrnClaims(stage.database, stage.workspace.id)

    assert [claims.claim(uuids[each], Urn("tel", AMINA)) for each in (amina, ben)] == [True, False]
    assert claims.claim(uuids[ben], Urn("tel", "+254722000333"))
