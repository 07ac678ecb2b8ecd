"""Events of flows and resthooks match the published contract for every contact."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import update

from flows.urns import Urn
from persistence.channels.channels import set_channel_webhook
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.incoming import Received, store_received
from persistence.resthooks import ensure_resthook
from persistence.tables.accounts import workspace as workspaces
from persistence.tables.channels import channel
from persistence.tables.deliveries import delivery, resthook_event
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.api import Api
from tests.contract.documents import complaints
from tests.factories import id_of, make_contact
from tests.worker.flows.conftest import Stage
from tests.worker.receivers import Receiver

AMINA = "+254722000111"
ROOT = "v2/openapi.yaml"
SCHEMAS = "#/components/schemas/"


@pytest.fixture
def told(stage: Stage, receiver: Receiver) -> Callable[[], tuple[dict[str, Any], dict[str, Any]]]:
    """The last flow event and the last resthook event."""

    with stage.database.writing() as tx:
        ensure_resthook(tx, stage.workspace.id, "new-mother")

    def read() -> tuple[dict[str, Any], dict[str, Any]]:
        return json.loads(receiver.received[-1].body), stage.rows(resthook_event)[-1].data

    return read


def calls(receiver: Receiver) -> list[dict[str, Any]]:
    call = {"type": "call_webhook", "uuid": uuid_of("call"), "method": "POST", "url": receiver.url}
    return [call, {"type": "call_resthook", "uuid": uuid_of("hook"), "resthook": "new-mother"}]


def survey(receiver: Receiver) -> dict[str, Any]:
    """A flow that asks for an age and then tells of it."""
    question = ask("age", {"x": "then"}, "then", result="Age", actions=[say("How old are you?")])
    return definition("Survey", [question, node("then", calls(receiver))])


def answer_with_picture(stage: Stage) -> None:
    urn = Urn("tel", AMINA)
    with stage.database.writing() as tx:
        owner = ensure_owners(tx, stage.workspace.id, [urn], channel_id=stage.channel_id)[urn.identity]
        picture = {"content_type": "image/jpeg", "url": "https://example.org/map.jpg"}
        store_received(
            tx, stage.workspace.id, stage.channel_id, [Received(owner, "37", tx.now, "report", attachments=(picture,))]
        )
    stage.work()


def hide_addresses(stage: Stage) -> None:
    with stage.database.writing() as tx:
        tx.execute(update(workspaces).values(is_anonymous=True))
    stage.workspace = replace(stage.workspace, is_anonymous=True)


def check_shapes(flow_event: dict[str, Any], resthook_body: dict[str, Any]) -> None:
    assert complaints(ROOT, {"$ref": f"{SCHEMAS}FlowEvent"}, flow_event) == {}
    assert complaints(ROOT, {"$ref": f"{SCHEMAS}ResthookEventBody"}, resthook_body) == {}


def test_an_answer_comes_with_its_address_and_files(stage: Stage, receiver: Receiver, told: Any) -> None:
    stage.start(store_flow(stage.database, stage.workspace, survey(receiver)), stage.add_contact(AMINA, "Amina"))
    stage.work()
    answer_with_picture(stage)

    check_shapes(*told())
    for event in told():
        assert (event["contact"]["name"], event["contact"]["urn"]) == ("Amina", f"tel:{AMINA}")
        assert event["input"] == {
            "urn": f"tel:{AMINA}",
            "text": "37",
            "attachments": ["image/jpeg:https://example.org/map.jpg"],
        }


def test_a_contact_without_name_and_address_has_neither(
    stage: Stage, receiver: Receiver, told: Any, database: Database, api: Api
) -> None:
    nobody = id_of(database, make_contact(database, stage.workspace, name=""))
    made = definition("Silent", [node("then", calls(receiver))])
    stage.start(store_flow(stage.database, stage.workspace, made), nobody)
    stage.work()

    check_shapes(*told())
    for event in told():
        assert (event["contact"]["name"], "urn" in event["contact"]) == (None, False)
        assert (event["channel"], event["input"]) == (None, None)
    assert api.results("/api/v2/resthook_events.json")[0]["data"] == told()[1]


def test_where_addresses_are_hidden_no_event_names_one(stage: Stage, receiver: Receiver, told: Any) -> None:
    hide_addresses(stage)
    stage.start(store_flow(stage.database, stage.workspace, survey(receiver)), stage.add_contact(AMINA, "Amina"))
    stage.work()
    answer_with_picture(stage)

    check_shapes(*told())
    for event in told():
        assert AMINA not in json.dumps(event)
        assert (event["input"]["urn"], event["input"]["text"]) == (None, "37")


@pytest.mark.parametrize(("events", "is_told"), [(None, True), (["flow"], True), (["mo_sms", "alarm"], False)])
def test_a_channel_may_choose_to_hear_of_flows(
    stage: Stage, receiver: Receiver, events: list[str] | None, is_told: bool
) -> None:
    (row,) = stage.rows(channel)
    with stage.database.writing() as tx:
        set_channel_webhook(tx, stage.workspace.id, row.uuid, "http://127.0.0.1:9/hook", events)
    stage.start(store_flow(stage.database, stage.workspace, survey(receiver)), stage.add_contact(AMINA, "Amina"))
    stage.work()
    stage.receive(AMINA, "37")
    stage.work()

    bodies = [json.loads(each.body) for each in stage.rows(delivery) if each.event == "flow"]
    assert [body["event"] for body in bodies] == (["flow"] if is_told else [])
    assert all(complaints(ROOT, {"$ref": f"{SCHEMAS}FlowEvent"}, body) == {} for body in bodies)
    assert "event" not in json.loads(receiver.received[-1].body)
