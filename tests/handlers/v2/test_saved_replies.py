"""`/api/v2/saved_replies.json` over HTTP."""

import pytest

from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages

PATH = "/api/v2/saved_replies.json"
MESSAGES = "/api/v2/messages.json"
HOURS = {"name": "Opening hours", "text": "We are open from 8 to 17."}


def test_a_saved_reply_is_made_changed_and_deleted(api: Api) -> None:
    agent = api.as_role("agent")
    made = agent.post(PATH, HOURS)
    assert made.status_code == 201
    uuid = made.json()["uuid"]

    changed = agent.post(PATH, {"name": "opening hours", "text": "We are closed."}, uuid=uuid)

    assert (changed.status_code, changed.json()["text"]) == (200, "We are closed.")
    assert changed.json()["modified_on"] > made.json()["modified_on"]
    assert api.as_role("viewer").results(PATH) == [changed.json()]
    assert [agent.delete(PATH, uuid=uuid).status_code for _ in range(2)] == [204, 404]


def test_two_saved_replies_have_two_names(api: Api) -> None:
    api.post(PATH, HOURS)

    assert api.post(PATH, HOURS | {"name": "OPENING HOURS"}).status_code == 400
    assert api.as_role("viewer").post(PATH, HOURS | {"name": "Other"}).status_code == 403


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace, "+250788000111")


def test_with_a_saved_reply_the_last_message_is_labeled_and_the_ticket_closed(
    api: Api, database: Database, workspace: Workspace, amina: str
) -> None:
    for text in ("Hello", "When do you open?"):
        make_messages(database, workspace, amina, text=text)
    ticket = api.post("/api/v2/tickets.json", {"contact": amina}).json()["uuid"]
    label = api.post("/api/v2/labels.json", {"name": "Hours"}).json()
    saved = api.post(PATH, HOURS | {"label": "hours", "closes_ticket": True}).json()
    assert (saved["label"], saved["closes_ticket"]) == ({"uuid": label["uuid"], "name": "Hours"}, True)
    body = {"contact": amina, "text": "From 8 to 17.", "saved_reply": saved["uuid"]}

    refused = api.limited_to("messages").post(MESSAGES, body)
    assert (refused.status_code, api.results(MESSAGES, folder="outbox")) == (403, [])
    assert [
        api.as_role("agent").post(MESSAGES, body, headers={"Idempotency-Key": "once"}).status_code for _ in range(2)
    ] == [201, 201]

    labels = {one["text"]: [each["name"] for each in one["labels"]] for one in api.results(MESSAGES, contact=amina)}
    assert labels == {"From 8 to 17.": [], "When do you open?": ["Hours"], "Hello": []}
    assert [one["status"] for one in api.results("/api/v2/tickets.json", uuid=ticket)] == ["closed"]


def test_a_saved_reply_without_a_ticket_or_a_message_to_change_is_sent_all_the_same(api: Api, amina: str) -> None:
    api.post("/api/v2/labels.json", {"name": "Hours"})
    saved = api.post(PATH, HOURS | {"label": "Hours", "closes_ticket": True}).json()["uuid"]

    assert api.post(MESSAGES, {"contact": amina, "text": "Hi", "saved_reply": saved}).status_code == 201
    unknown = api.post(MESSAGES, {"contact": amina, "text": "Hi", "saved_reply": amina})
    assert (unknown.status_code, list(unknown.json())) == (400, ["saved_reply"])


def test_what_goes_with_a_saved_reply_stays_until_it_is_changed_or_its_label_deleted(api: Api) -> None:
    label = api.post("/api/v2/labels.json", {"name": "Hours"}).json()["uuid"]
    saved = api.post(PATH, HOURS | {"label": label, "closes_ticket": True}).json()
    assert api.post(PATH, HOURS | {"label": "nothing"}, uuid=saved["uuid"]).json().keys() == {"label"}

    assert api.post(PATH, HOURS, uuid=saved["uuid"]).json()["label"] == saved["label"]
    api.delete("/api/v2/labels.json", uuid=label)
    left = api.results(PATH)[0]
    assert (left["label"], left["closes_ticket"]) == (None, True)
    assert left["modified_on"] > saved["modified_on"]
