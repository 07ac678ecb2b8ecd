"""Templates are sent by API, broadcasts and flows, and outside of the hours after a person's message nothing else."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest

from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.contacts.urns import ensure_owners
from persistence.sql.columns import time_text
from persistence.tables.messages import message
from testbed.flow_rows import definition, node, say, store_flow
from testbed.gateways import SECRET, states_of
from testbed.running import wait_until
from tests.api import Api
from tests.channel_rows import add_channel
from tests.conftest import Clock
from tests.providers import Channel, Provider, add_whatsapp, root_of, whatsapp_message
from tests.worker.receivers import Receiver, Reply, receiving
from worker.channels.sending import begin_sending
from worker.channels.templates import begin_templates
from worker.flows.starts import begin_starts
from worker.jobs import begin_broadcasts
from worker.runtime import Runtime

HI = {"type": "BODY", "text": "Hi {{1}}, at {{2}}"}
REMINDER = {"id": "1", "name": "reminder", "language": "en_US", "status": "APPROVED", "components": [HI]}
RAPPEL = REMINDER | {"id": "2", "language": "fr", "components": [{"type": "BODY", "text": "Bonjour {{1}}, à {{2}}"}]}
ANN = "whatsapp:250788123123"
PREVIEWS = "/api/v2/broadcast_previews.json"
Send = Callable[[int], list[Any]]


@pytest.fixture
def provider() -> Iterator[Receiver]:
    played = Provider(templates=[REMINDER, RAPPEL])
    with receiving(played) as running:
        played.root = root_of(running)
        yield running


@pytest.fixture
def whatsapp(api: Api, provider: Receiver, runtime: Runtime) -> Channel:
    made = add_whatsapp(api.database, api.workspace, provider)
    begin_templates(runtime)()
    with api.database.writing() as tx:
        ensure_owners(tx, api.workspace.id, [Urn("whatsapp", "250788123123")])
    return made


@pytest.fixture
def sent(provider: Receiver, runtime: Runtime) -> Send:
    """What the provider has got, as soon as it is so many messages."""

    def read(number: int) -> list[Any]:
        begin_sending(runtime)
        assert isinstance(provider.respond, Provider)
        calls = provider.respond.calls
        wait_until(lambda: sum(name == "messages" for name, _ in calls) >= number, "the messages")
        return [body for name, body in calls if name == "messages"]

    return read


def write(api: Api, whatsapp: Channel, clock: Clock) -> None:
    """Ann writes now."""
    body, headers = whatsapp_message("wamid.in", text={"body": "Hello"})
    api.client.post(whatsapp.path, content=body, headers=headers)
    with api.database.writing() as tx:
        tx.execute(message.update().values(created_on=clock.moment))


def route(api: Api) -> dict[str, Any]:
    """How a message to Ann would go."""
    contact = api.results("/api/v2/contacts.json", urn=ANN)[0]["uuid"]
    response = api.get("/api/v2/contact_routes.json", contact=contact)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def values_of(body: dict[str, Any]) -> list[str]:
    return [each["text"] for part in body["template"]["components"] for each in part["parameters"]]


def test_a_template_goes_to_who_never_wrote(api: Api, whatsapp: Channel, sent: Send) -> None:
    wish = {"template": "Reminder", "template_variables": ["Ann", "9"]}

    response = api.post("/api/v2/messages.json", {"contact": ANN, **wish})

    assert (response.status_code, response.json()["text"]) == (201, "Hi Ann, at 9")
    (body,) = sent(1)
    assert (body["template"]["name"], body["template"]["language"]) == ("reminder", {"code": "en_US"})
    assert values_of(body) == ["Ann", "9"]


def test_a_template_has_the_language_of_the_contact(api: Api, whatsapp: Channel, sent: Send) -> None:
    (english,) = route(api)["templates"]
    api.post("/api/v2/contacts.json", {"language": "fra"}, urn=ANN)
    (french,) = route(api)["templates"]
    uuid = english.pop("uuid")
    assert english == {"name": "reminder", "locale": "eng-US", "content": "Hi {{1}}, at {{2}}", "variable_count": 2}
    assert french["content"] == "Bonjour {{1}}, à {{2}}"

    api.post("/api/v2/messages.json", {"contact": ANN, "template": uuid, "template_variables": ["Ann", "9"]})

    assert sent(1)[0]["template"]["language"] == {"code": "fr"}


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ({"template": "reminder", "template_variables": ["Ann"]}, "has more variables than values"),
        ({"template": "nobody's"}, "nobody's"),
        ({"template": "e3c8a6b1-0f4d-4b6e-8a9c-5d1e7f2b3a40"}, "e3c8a6b1"),
        ({"template": ""}, "template"),
    ],
)
def test_a_template_that_cannot_be_sent_is_refused(
    api: Api, whatsapp: Channel, template: dict[str, Any], reason: str
) -> None:
    response = api.post("/api/v2/messages.json", {"contact": ANN, **template})

    assert (response.status_code, reason in response.text) == (400, True), response.text
    assert api.results("/api/v2/messages.json") == []


def test_a_text_to_who_has_not_written_for_a_day_is_refused_before_it_is_sent(
    api: Api, whatsapp: Channel, sent: Send, clock: Clock
) -> None:
    never = api.post("/api/v2/messages.json", {"contact": ANN, "text": "Are you well?"})
    closed = route(api)
    write(api, whatsapp, clock)
    end = clock.moment + timedelta(days=1)
    clock.moment += timedelta(hours=23, minutes=59)
    opened = route(api)
    soon = api.post("/api/v2/messages.json", {"contact": ANN, "text": "Are you well?"})
    clock.moment += timedelta(minutes=1)
    assert (route(api), closed["takes_text"], closed["takes_text_until"]) == (closed, False, None)
    assert opened == closed | {"takes_text": True, "takes_text_until": time_text(end)}
    late = api.post("/api/v2/messages.json", {"contact": ANN, "text": "Are you well?"})

    assert [each.status_code for each in (never, soon, late)] == [400, 201, 400]
    assert "only a template now" in late.text
    assert len(sent(1)) == 1


def test_a_broadcast_goes_as_template_where_there_is_one_and_otherwise_as_text(
    api: Api, whatsapp: Channel, sent: Send, runtime: Runtime
) -> None:
    wish = {"template": "reminder", "template_variables": ["@contact.urn", "9"]}
    ann = api.results("/api/v2/contacts.json", urn=ANN)[0]["uuid"]
    made, text = (
        api.post(PREVIEWS, {"text": "Come at 9", "urns": [ANN], "contact": ann, **each}).json()["message"]
        for each in (wish, {})
    )
    values = ["whatsapp:250788123123", "9"]
    assert (made["text"], made["failed_reason"]) == ("Hi whatsapp:250788123123, at 9", None)
    assert made["template"] == {"name": "reminder", "language": "en_US", "variables": values}
    assert (text["text"], text["template"], text["failed_reason"]) == ("Come at 9", None, "window_closed")
    created = api.post("/api/v2/broadcasts.json", {"text": "Come at 9", "urns": [ANN], **wish})
    assert created.status_code == 201, created.text
    kept = created.json()["template"]
    assert (kept["name"], kept["variables"]) == ("reminder", wish["template_variables"])
    plain = api.post("/api/v2/broadcasts.json", {"text": "Come at 9", "urns": [ANN]})
    assert plain.status_code == 201

    step = begin_broadcasts(runtime)
    while step():
        pass

    (body,) = sent(1)
    assert values_of(body) == values
    told = {(each["text"][:8], each["failed_reason"]) for each in api.results("/api/v2/messages.json")}
    assert told == {("Hi whats", None), ("Come at ", "window_closed")}


def test_a_message_of_a_template_is_sent_again_as_that_template_and_empty_when_it_is_deleted(
    api: Api, whatsapp: Channel, sent: Send, clock: Clock, provider: Receiver
) -> None:
    wish = {"template": "reminder", "template_variables": ["Ann", "9"]}
    first = api.post("/api/v2/messages.json", {"contact": ANN, **wish}).json()
    sent(1)
    with api.database.writing() as tx:
        tx.execute(message.update().values(status="failed", failed_reason="gateway_failed"))
    resent = api.post("/api/v2/message_actions.json", {"messages": [first["id"]], "action": "resend"})

    assert resent.status_code in (200, 204), resent.text
    assert [values_of(each) for each in sent(2)] == [["Ann", "9"]] * 2


def test_a_channel_without_templates_sends_the_text(api: Api, whatsapp: Channel) -> None:
    add_channel(api.database, api.workspace)
    wish = {"template": "reminder", "template_variables": ["Ann", "9"]}
    by_phone = {"contact": "tel:+250788123999", **wish}
    api.post("/api/v2/contacts.json", {"urns": ["tel:+250788123999"]})

    refused = api.post("/api/v2/messages.json", by_phone)
    taken = api.post("/api/v2/messages.json", by_phone | {"text": "Come at 9"})

    assert (refused.status_code, taken.status_code, taken.json()["text"]) == (400, 201, "Come at 9")
    its = api.get("/api/v2/contact_routes.json", contact=taken.json()["contact"]["uuid"]).json()
    assert (its["takes_text"], its["takes_text_until"], its["templates"]) == (True, None, [])
    assert sorted(its) == ["channel", "failed_reason", "takes_text", "takes_text_until", "templates"]


@pytest.mark.parametrize("is_approved", [True, False])
def test_a_flow_sends_its_template_and_fails_at_once_without_one(
    api: Api, whatsapp: Channel, sent: Send, runtime: Runtime, is_approved: bool
) -> None:
    reference = {"uuid": api.results("/api/v2/templates.json")[0]["uuid"], "name": "reminder"}
    action = say("Come at 9") | ({"template": reference, "template_variables": ["Ann", "9"]} if is_approved else {})
    store_flow(api.database, api.workspace, definition("reminder", [node("a", [action])]))
    flow = api.results("/api/v2/flows.json")[0]["uuid"]
    started = api.post("/api/v2/flow_starts.json", {"flow": flow, "urns": [ANN]})
    assert started.status_code == 201, started.text

    step = begin_starts(runtime)
    while step():
        pass

    (told,) = [each for each in api.results("/api/v2/messages.json") if each["direction"] == "out"]
    if is_approved:
        assert (told["text"], values_of(sent(1)[0])) == ("Hi Ann, at 9", ["Ann", "9"])
    else:
        assert (told["text"], told["status"], told["failed_reason"]) == ("Come at 9", "failed", "window_closed")


def test_a_template_that_its_provider_knows_by_an_id_is_sent_by_that(
    api: Api, receiver: Receiver, runtime: Runtime
) -> None:
    approved = {"type": "whatsapp", "name": "reminder", "status": "approved"}
    listed = {"sid": "HX1", "language": "en", "types": {"twilio/text": {"body": "Hi {{1}}"}}} | {
        "approval_requests": approved
    }
    receiver.respond = lambda request: Reply(
        200, orjson.dumps({"contents": [listed], "meta": {}} if request.path.startswith("/v1/") else {"sid": "SM1"})
    )
    config = {
        "account_sid": "AC1",
        "auth_token": "token",
        "api_url": root_of(receiver),
        "content_url": root_of(receiver),
    }
    options: dict[str, Any] = {"schemes": ["whatsapp"], "config": config, "secret": SECRET}
    with api.database.writing() as tx:
        create_gateway(tx, api.workspace.id, "twilio", name="Twilio", address="+14155238886", **options)
        ensure_owners(tx, api.workspace.id, [Urn("whatsapp", "250788123123")])
    begin_templates(runtime)()

    made = api.post(
        "/api/v2/messages.json", {"contact": ANN, "template": "reminder", "template_variables": ["Ann"]}
    ).json()
    begin_sending(runtime)
    wait_until(lambda: states_of(api.database, [made["id"]]) == [("wired", None)], "it to be sent")

    got = parse_qs(receiver.received[-1].body.decode())
    assert (made["text"], got["ContentSid"], got["ContentVariables"]) == ("Hi Ann", ["HX1"], ['{"1":"Ann"}'])
    assert "Body" not in got
