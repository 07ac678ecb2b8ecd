"""`Idempotency-Key`: a repeated request has one effect and the same response."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.factories import make_contact

LABELS, GROUPS, MESSAGES = "/api/v2/labels.json", "/api/v2/groups.json", "/api/v2/messages.json"
KEY = {"Idempotency-Key": "k-1"}
TWINS = 5


def test_simultaneous_twins_have_one_effect_and_get_one_answer(api, database, workspace):
    contact = make_contact(database, workspace, "+250788000111")
    start = threading.Barrier(TWINS)

    def send(_number):
        start.wait()
        return api.post(MESSAGES, {"contact": contact, "text": "Hello"}, headers=KEY)

    with ThreadPoolExecutor(TWINS) as twins:
        answers = list(twins.map(send, range(TWINS)))

    assert [answer.status_code for answer in answers] == [201] * TWINS
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == TWINS - 1
    assert len(api.results(MESSAGES)) == 1


def test_rivals_with_different_requests_under_one_key_have_one_effect(api):
    start = threading.Barrier(TWINS)

    def create(number):
        start.wait()
        return api.post(LABELS, {"name": f"Label {number}"}, headers=KEY).status_code

    with ThreadPoolExecutor(TWINS) as rivals:
        statuses = sorted(rivals.map(create, range(TWINS)))

    assert statuses == [201] + [409] * (TWINS - 1)
    assert len(api.results(LABELS)) == 1


def test_a_key_is_known_to_its_operation_and_workspace_only(api, other_api):
    bodies = [
        api.post(LABELS, {"name": "Complaint"}, headers=KEY),
        api.post(GROUPS, {"name": "Complaint"}, headers=KEY),
        other_api.post(LABELS, {"name": "Complaint"}, headers=KEY),
    ]

    assert [body.status_code for body in bodies] == [201, 201, 201]
    assert not any("Idempotency-Replayed" in body.headers for body in bodies)


def test_an_answer_that_shows_more_than_agents_may_see_is_not_given_to_one(api, database, workspace):
    field = api.post("/api/v2/fields.json", {"name": "Age", "type": "number", "agent_access": "none"}).json()["key"]
    contact = make_contact(database, workspace, "+250788000111")
    asked = {"path": "/api/v2/contacts.json", "body": {"name": "Amina"}, "headers": KEY, "uuid": contact}
    api.post("/api/v2/contacts.json", {"fields": {field: "44"}}, uuid=contact)

    first, agents, again = api.post(**asked), api.as_role("agent").post(**asked), api.post(**asked)

    assert first.json()["fields"] == {field: "44"}
    assert agents.status_code == 409
    assert again.content == first.content


def test_a_refused_request_does_not_use_its_key_up(api):
    refused = api.post(LABELS, {"name": " "}, headers=KEY)

    assert (refused.status_code, api.post(LABELS, {"name": "Complaint"}, headers=KEY).status_code) == (400, 201)


@pytest.mark.parametrize(("hours", "is_replayed"), [(23.9, True), (24.1, False)])
def test_answers_are_kept_for_a_day(api, clock, hours, is_replayed):
    api.post(LABELS, {"name": "Complaint"}, headers=KEY)
    clock.advance(hours=hours)

    answer = api.post(LABELS, {"name": "Complaint"}, headers=KEY)

    assert ("Idempotency-Replayed" in answer.headers) is is_replayed
    assert answer.status_code == (201 if is_replayed else 400)


@pytest.mark.together
@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_dry_run_refuses_the_keys_that_its_deed_refuses(api, key):
    rule = {"old": "+229", "new": "+22901", "country": "BJ"}
    said = [
        api.post("/api/v2/contact_renumberings.json", {**rule, "apply": apply}, {"Idempotency-Key": key})
        for apply in (False, True)
    ]

    assert [each.status_code for each in said] == [400, 400]
    assert said[0].json() == said[1].json()
