"""The service follows `not` in the contract, by which fields exclude or need each other. It does not check bodies
against `not` itself: its handlers say which field is wrong.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from openapi.table import follow
from tests.api import Api
from tests.contract.documents import all_operations, document, rules_out
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.contract.services import database_url_for_many_tests, serve

TIMING = {"relative_to": "created_on", "offset": 1, "unit": "D", "delivery_hour": -1}
TIMING_V2 = {**TIMING, "unit": "days"}
NOBODY = "At least one URN, contact or group is required."
ONE_OF_TWO = "Give either a message or a flow."
CONTACT, MESSAGE, TICKET, FLOW, CAMPAIGN = "{contact}", "{message}", "{ticket}", "{flow}", "{campaign}"
RESTHOOK = "{resthook}"
NO_UUID = "0197a6e4-9a01-7c2f-a1d1-2f4c5b6a7081"
WORDS = {MESSAGE: "id", RESTHOOK: "slug"}
PARAMETERS = {"flow_revisions": {"uuid": FLOW}, "flow_texts": {"uuid": FLOW}}
"""What a resource needs in the query."""
BROKEN: list[tuple[str, str, dict[str, Any], str]] = [
    ("v1", "broadcasts", {"text": "Hi"}, NOBODY),
    ("v1", "broadcasts", {"text": "Hi", "groups": [], "urns": []}, NOBODY),
    ("v1", "runs", {"flow_uuid": FLOW, "phone": []}, "At least one phone number, contact or group is required."),
    ("v1", "contacts", {"urns": []}, "A value is required."),
    ("v1", "contacts", {}, "A value is required."),
    ("v1", "contact_actions", {"contacts": [], "action": "block"}, "An empty value is not allowed."),
    ("v1", "contact_actions", {"contacts": [CONTACT], "action": "add", "group": " "}, "needs a group."),
    ("v1", "contact_actions", {"contacts": [CONTACT], "action": "block", "group": "Mothers"}, "takes no group."),
    ("v1", "contact_actions", {"contacts": [CONTACT], "action": "expire", "label_uuid": "x"}, "takes no group."),
    ("v1", "contact_actions", {"contacts": [CONTACT], "action": "delete", "group_uuid": "x"}, "takes no group."),
    ("v1", "message_actions", {"messages": [1], "action": "archive", "label": "Complaint"}, "takes no label."),
    ("v1", "message_actions", {"messages": [1], "action": "delete", "label_uuid": "x"}, "takes no label."),
    ("v1", "message_actions", {"messages": [1], "action": "label", "label": "\x1c"}, "needs a label."),
    ("v1", "message_actions", {"messages": [1], "action": "unlabel", "label_uuid": None}, "needs a label."),
    ("v1", "message_actions", {"messages": [1], "action": "unlabel", "label": " -Sad"}, "cannot begin with + or -."),
    ("v1", "message_actions", {"messages": [1], "action": "label", "label": 'A "B"'}, "no quotation mark"),
    ("v1", "events", {**TIMING, "uuid": CAMPAIGN, "campaign_uuid": CAMPAIGN, "message": "Hi"}, "Give either uuid or"),
    ("v1", "events", {**TIMING, "message": "Hi"}, "A value is required."),
    ("v1", "events", {**TIMING, "campaign_uuid": CAMPAIGN, "message": "Hi", "flow_uuid": FLOW}, ONE_OF_TWO),
    ("v1", "events", {**TIMING, "campaign_uuid": CAMPAIGN, "message": " ", "flow_uuid": None}, ONE_OF_TWO),
    ("v1", "fields", {"label": "Due_Date", "value_type": "D"}, "Only letters, digits, spaces and hyphens"),
    ("v2", "broadcast_previews", {"text": "Hi", "contacts": []}, NOBODY),
    ("v2", "flow_starts", {"flow": FLOW}, NOBODY),
    ("v2", "campaign_events", {**TIMING_V2, "campaign": CAMPAIGN}, ONE_OF_TWO),
    ("v2", "campaign_events", {**TIMING_V2, "campaign": CAMPAIGN, "message": "Hi", "flow": FLOW}, ONE_OF_TWO),
    ("v2", "campaign_events", {**TIMING_V2, "campaign": CAMPAIGN, "message": {"eng": "Hi"}, "flow": FLOW}, ONE_OF_TWO),
    ("v2", "contact_actions", {"contacts": [CONTACT], "action": "remove", "group": None}, "needs a group."),
    ("v2", "contact_actions", {"contacts": [CONTACT], "action": "interrupt", "group": "x"}, "takes no group."),
    ("v2", "contact_actions", {"contacts": [CONTACT], "action": "block", "list_changed": True}, "does not tell what"),
    (
        "v2",
        "contact_actions",
        {"contacts": [CONTACT], "action": "block", "changed_after": "2099-03-04T09:30:00Z"},
        "takes no time",
    ),
    (
        "v2",
        "contact_actions",
        {"contacts": [CONTACT], "action": "archive_messages", "changed_until": "2099-03-04T09:30:00Z"},
        "needs changed_after",
    ),
    ("v2", "contact_jobs", {"action": "block"}, "A query or a group is required"),
    ("v2", "contact_jobs", {"action": "add", "query": "name = a", "group": None}, "needs a group."),
    ("v2", "contact_jobs", {"action": "block", "query": "name = a", "group": "x"}, "takes no group."),
    ("v2", "contact_import_actions", {"import": NO_UUID, "action": "cancel", "group": "x"}, "Only an import that is"),
    ("v2", "contact_import_actions", {"import": NO_UUID, "action": "cancel", "columns": []}, "Only an import that is"),
    ("v2", "contacts", {"urns": [], "add_urns": []}, "Not allowed together with urns."),
    ("v2", "contacts", {"groups": [], "add_groups": []}, "Not allowed together with groups."),
    ("v2", "contacts", {"groups": [], "remove_groups": []}, "Not allowed together with groups."),
    ("v2", "conversations", {"contacts": [CONTACT], "action": "snooze"}, "needs a time"),
    (
        "v2",
        "conversations",
        {"contacts": [CONTACT], "action": "read", "until": "2099-03-04T09:30:00Z"},
        "the others take none",
    ),
    ("v2", "conversations", {"contacts": [CONTACT], "action": "read", "unread_count": 2}, "takes a number"),
    ("v2", "participants", {"state": "here"}, "Name either a contact or a flow."),
    ("v2", "participants", {"state": "here", "contact": CONTACT, "flow": FLOW}, "Name either a contact or a flow."),
    ("v2", "fields", {"type": "text"}, "A value is required."),
    ("v2", "fields", {"label": "Age"}, "A value is required."),
    ("v2", "fields", {"name": "Age?", "type": "text"}, "Only letters, digits, spaces and hyphens"),
    ("v2", "fields", {"label": "Due_Date", "type": "text"}, "Only letters, digits, spaces and hyphens"),
    ("v2", "campaign_actions", {"campaigns": [CAMPAIGN], "action": "archive", "group": "x"}, "takes no group."),
    ("v2", "flow_actions", {"flows": [FLOW], "action": "label"}, "needs a label."),
    ("v2", "flow_actions", {"flows": [FLOW], "action": "archive", "label": "Health"}, "takes no label."),
    ("v2", "flow_actions", {"flows": [FLOW], "action": "label", "label": 'A "B"'}, "no quotation mark"),
    ("v2", "flow_revisions", {"based_on": 0, "definition": {}, "restore": 1}, "Send either a definition"),
    ("v2", "flow_revisions", {"based_on": 0}, "Send either a definition"),
    ("v2", "flow_revisions", {"based_on": 0, "restore": 1, "publish": NO_UUID}, "Send either a definition"),
    ("v2", "flow_revisions", {"based_on": 0, "definition": {}, "publish": NO_UUID}, "Send either a definition"),
    ("v2", "flow_revisions", {"based_on": 0, "draft": True, "restore": 1}, "A draft is a definition."),
    ("v2", "flow_tests", {"definition": {}, "flow": FLOW}, "Send either a definition"),
    ("v2", "flow_texts", {"language": "fra", "based_on": 0}, "Send either texts"),
    ("v2", "flow_texts", {"language": "fra", "based_on": 0, "texts": [], "file": "", "format": "po"}, "Send either"),
    ("v2", "flow_texts", {"language": "fra", "based_on": 0, "file": ""}, "Send either texts"),
    ("v2", "flow_tests", {}, "Send either a definition"),
    ("v2", "simulations", {"definition": {}, "flow": FLOW}, "Send either a definition"),
    ("v2", "simulations", {}, "Send either a definition"),
    ("v2", "simulations", {"flow": FLOW, "contact": CONTACT, "person": {}}, "Send either a contact"),
    ("v2", "simulations", {"flow": FLOW, "session": {}}, "Say how the conversation goes on."),
    ("v2", "simulations", {"flow": FLOW, "resume": {"type": "msg"}}, "send its session."),
    ("v2", "globals", {"name": "Phone?", "value": "1"}, "Only letters, digits, spaces, hyphens and underscores"),
    ("v2", "message_actions", {"messages": [MESSAGE], "action": "archive", "label": "x"}, "takes no label."),
    ("v2", "message_actions", {"messages": [MESSAGE], "action": "delete", "label_name": "x"}, "takes no label."),
    (
        "v2",
        "message_actions",
        {"messages": [MESSAGE], "action": "label", "label": "x", "label_name": "x"},
        "needs either",
    ),
    ("v2", "message_actions", {"messages": [MESSAGE], "action": "unlabel", "label": None}, "needs either"),
    (
        "v2",
        "message_actions",
        {"messages": [MESSAGE], "action": "label", "label_name": "a\\b"},
        "no quotation mark",
    ),
    ("v2", "messages", {"contact": CONTACT, "text": " ", "attachments": []}, "A text, an attachment or a template is"),
    (
        "v2",
        "resthook_subscribers",
        {"resthook": RESTHOOK, "target_url": "https://a:b@example.org/"},
        "user name or password.",
    ),
    ("v2", "delivery_actions", {"action": "resend"}, "needs deliveries."),
    ("v2", "delivery_actions", {"action": "resend_failed", "receiver": "7"}, "needs a time."),
    ("v2", "ticket_actions", {"tickets": [TICKET], "action": "assign"}, "needs an assignee"),
    ("v2", "ticket_actions", {"tickets": [TICKET], "action": "add_note", "note": " "}, "needs a note."),
    ("v2", "ticket_actions", {"tickets": [TICKET], "action": "change_topic", "topic": None}, "needs a topic."),
    ("v2", "user_actions", {"user": TICKET, "action": "change_role"}, "needs a role."),
]
"""Generation, resource, a body that `not` rules out, and what the service says of it."""


@pytest.fixture(scope="module")
def full(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Api, Filled]]:
    """A workspace with records of each kind for all cases: they are refused, so they change nothing."""
    folder = tmp_path_factory.mktemp("rules")
    with database_url_for_many_tests("sqlite", request, folder) as url, serve(url, folder) as service:
        api = service.api(service.new_workspace())
        yield api, fill_workspace(service.database, api.workspace)


def with_records(value: Any, filled: Filled) -> Any:
    """A body with records of the workspace in place of `{contact}` and the like."""
    if isinstance(value, Mapping):
        return {key: with_records(part, filled) for key, part in value.items()}
    if isinstance(value, list):
        return [with_records(part, filled) for part in value]
    if isinstance(value, str) and value.startswith("{"):
        row = filled.first(value.strip("{}"))
        return getattr(row, WORDS.get(value, "uuid"))
    return value


@cache
def body_schema(generation: str, resource: str) -> tuple[str, Any]:
    """The document of a generation and the schema of what is posted to a resource."""
    for operation in all_operations():
        is_meant = operation.root == f"{generation}/openapi.yaml" and operation.path == f"/{resource}.json"
        if is_meant and operation.method == "post":
            schema = operation.request_schemas()["application/json"]
            return operation.root, follow(schema, document(operation.root))
    raise KeyError(resource)


def rules_of(generation: str, resource: str) -> list[tuple[str, Any]]:
    """What is ruled out for the body, and for texts in it: each alternative by its place."""
    root, schema = body_schema(generation, resource)
    parts = {"": schema} | {name: follow(part, document(root)) for name, part in schema["properties"].items()}
    found = []
    for name, part in parts.items():
        rule = part.get("not")
        alternatives = rule.get("anyOf", [rule]) if rule else []
        found += [(f"{name}/{index}", alternative) for index, alternative in enumerate(alternatives)]
    return found


def broken_rules(generation: str, resource: str, body: Mapping[str, Any]) -> Iterator[str]:
    root, _ = body_schema(generation, resource)
    for place, rule in rules_of(generation, resource):
        name = place.partition("/")[0]
        if (not name or name in body) and rules_out(root, rule, body[name] if name else body):
            yield place


@pytest.mark.together
@pytest.mark.parametrize(("generation", "resource", "body", "words"), BROKEN, ids=str)
def test_a_body_that_the_contract_rules_out_is_refused_in_the_words_of_its_rule(
    full: tuple[Api, Filled], generation: str, resource: str, body: dict[str, Any], words: str
) -> None:
    api, filled = full
    body = with_records(body, filled)
    query = with_records(PARAMETERS.get(resource, {}), filled)
    response = api.post(f"/api/{generation}/{resource}.json", body, **query)
    assert list(broken_rules(generation, resource, body))
    assert response.status_code == 400 and words in response.text, response.text


def test_every_rule_between_fields_is_broken_by_a_case() -> None:
    posted = {
        (operation.root.partition("/")[0], operation.path.strip("/").removesuffix(".json"))
        for operation in all_operations()
        if operation.method == "post" and "application/json" in operation.request_schemas()
    }
    ruled = {(*each, place) for each in posted if each[0] in ("v1", "v2") for place, _ in rules_of(*each)}
    broken = {
        (generation, resource, place)
        for generation, resource, body, _ in BROKEN
        for place in broken_rules(generation, resource, body)
    }
    assert len(ruled) > 30 and ruled - broken == set()
