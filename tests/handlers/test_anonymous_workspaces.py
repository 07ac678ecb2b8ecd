"""What an anonymous workspace refuses to tell, in both generations."""

from typing import Any

import pytest

from flows.urns import read_urn
from persistence.contacts.owners import find_owners
from persistence.database import Database
from persistence.groups.smart_groups import create_query_group
from persistence.sql.columns import new_uuid
from persistence.workspaces.writes import create_workspace
from testbed.tokens import make_token
from tests.api import Api
from tests.definition_files import make_file
from tests.factories import make_contact, make_field
from tests.run_rows import add_flow

KNOWN, FREE = "tel:+250788000111", "tel:+250788000999"
OWNER, STRANGER = "the owner", "a stranger"


@pytest.fixture
def anonymous(api: Api, database: Database) -> Api:
    with database.writing() as tx:
        workspace = create_workspace(tx, "Private", country="RW", is_anonymous=True)
    make_contact(database, workspace, KNOWN[4:])
    make_contact(database, workspace, "+250788000222", name="Stranger")
    add_flow(database, workspace, uuid=FLOW)
    return Api(api.client, database, workspace, make_token(database, workspace, "editor"))


def people(api: Api) -> list[str]:
    return sorted(one["name"] for one in api.results("/api/v2/contacts.json"))


HIDDEN = "Contacts cannot be named by URN in an anonymous workspace."
FIXED = "URNs cannot be changed in an anonymous workspace."
TAKEN = "This URN belongs to another contact."
FLOW = "5c6e1d7c-5b0d-4b83-8f1c-1a4b4c4a7c55"
FILTERS = [
    ("GET", "v1/contacts", {"urns": KNOWN}),
    ("DELETE", "v1/contacts", {"urns": KNOWN}),
    ("GET", "v1/messages", {"urn": KNOWN}),
    ("GET", "v1/messages", {"urns": KNOWN}),
    ("GET", "v1/calls", {"phone": KNOWN[4:]}),
    ("GET", "v2/contacts", {"urn": KNOWN}),
    ("POST", "v2/contacts", {"urn": KNOWN}),
    ("DELETE", "v2/contacts", {"urn": KNOWN}),
]
BODIES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("v1/contact_actions", {"contacts": [KNOWN], "action": "expire"}, {"contacts": [HIDDEN]}),
    ("v1/contact_actions", {"contacts": KNOWN, "action": "expire"}, {"contacts": [HIDDEN]}),
    ("v1/broadcasts", {"urns": [KNOWN], "text": "Hi"}, {"urns": [HIDDEN]}),
    ("v1/broadcasts", {"urns": KNOWN, "text": "Hi"}, {"urns": [HIDDEN]}),
    ("v1/broadcasts", {"contacts": [KNOWN], "text": "Hi"}, {"contacts": [HIDDEN]}),
    ("v1/runs", {"phone": [KNOWN[4:]], "flow_uuid": FLOW}, {"phone": [HIDDEN]}),
    ("v1/runs", {"phone": KNOWN[4:], "flow_uuid": FLOW}, {"phone": [HIDDEN]}),
    ("v1/runs", {"contact": KNOWN, "flow_uuid": FLOW}, {"contact": [HIDDEN]}),
    ("v1/runs", {"contacts": [KNOWN], "flow_uuid": FLOW}, {"contacts": [HIDDEN]}),
    ("v1/contacts", {"uuid": OWNER, "urns": [KNOWN]}, {"urns": [FIXED]}),
    ("v1/contacts", {"uuid": STRANGER, "urns": [KNOWN]}, {"urns": [FIXED]}),
    ("v2/messages", {"contact": KNOWN, "text": "Hi"}, {"contact": [HIDDEN]}),
    ("v2/contact_actions", {"contacts": [KNOWN], "action": "interrupt"}, {"contacts": [HIDDEN]}),
    ("v2/broadcasts", {"urns": [KNOWN], "text": {"eng": "Hi"}}, {"urns": [HIDDEN]}),
    ("v2/broadcasts", {"contacts": [KNOWN], "text": {"eng": "Hi"}}, {"contacts": [HIDDEN]}),
    ("v2/flow_starts", {"urns": [KNOWN], "flow": FLOW}, {"urns": [HIDDEN]}),
    ("v2/flow_starts", {"contacts": [KNOWN], "flow": FLOW}, {"contacts": [HIDDEN]}),
]


def replace(value: Any, meanings: dict[str, str]) -> Any:
    """A body or query with other words in place of some."""
    if isinstance(value, dict):
        return {name: replace(one, meanings) for name, one in value.items()}
    if isinstance(value, list):
        return [replace(one, meanings) for one in value]
    return meanings.get(value, value)


@pytest.mark.together
@pytest.mark.parametrize("address", [KNOWN, FREE])
@pytest.mark.parametrize(("method", "path", "query"), FILTERS)
def test_no_address_can_be_asked_for(anonymous: Api, method: str, path: str, query: Any, address: str) -> None:
    query = replace(query, {KNOWN: address, KNOWN[4:]: address[4:]})

    response = anonymous.client.request(
        method, f"/api/{path}.json", params=query, headers={"Authorization": f"Token {anonymous.token}"}
    )

    assert (response.status_code, list(response.json())) == (400, ["detail"])
    assert people(anonymous) == ["Amina", "Stranger"]


@pytest.mark.together
@pytest.mark.parametrize("address", [KNOWN, FREE])
@pytest.mark.parametrize(("path", "body", "error"), BODIES)
def test_nobody_is_named_by_an_address(
    anonymous: Api, path: str, body: dict[str, Any], error: dict[str, Any], address: str
) -> None:
    uuids = {one["name"]: one["uuid"] for one in anonymous.results("/api/v2/contacts.json")}
    meanings = {OWNER: uuids["Amina"], STRANGER: uuids["Stranger"], KNOWN: address, KNOWN[4:]: address[4:]}

    response = anonymous.post(f"/api/{path}.json", replace(body, meanings))

    assert (response.status_code, response.json()) == (400, error)
    assert people(anonymous) == ["Amina", "Stranger"]


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_addresses_make_new_contacts_and_only_those_that_nobody_has(anonymous: Api, generation: str) -> None:
    path = f"/api/{generation}/contacts.json"
    taken = anonymous.post(path, {"urns": [FREE, KNOWN], "name": "Thief"})
    made = anonymous.post(path, {"urns": [FREE], "name": "Grace"})

    assert (taken.status_code, taken.json()) == (400, {"urns": {"1": [TAKEN]}})
    assert made.status_code == 201
    assert FREE not in made.text and "788000999" not in made.text
    assert people(anonymous) == ["Amina", "Grace", "Stranger"]


def test_the_empty_list_shown_for_hidden_addresses_takes_none_away(anonymous: Api, database: Database) -> None:
    (record,) = [one for one in anonymous.results("/api/v1/contacts.json") if one["name"] == "Amina"]

    response = anonymous.post("/api/v1/contacts.json", {**record, "name": "Amina W"})

    assert response.status_code == 201, response.text
    with database.reading() as tx:
        owners = find_owners(tx, anonymous.workspace.id, [read_urn(KNOWN)])
    assert [owner.name for owner in owners.values()] == ["Amina W"]


def test_a_field_of_a_group_whose_query_names_addresses_is_not_deleted(anonymous: Api, database: Database) -> None:
    key = make_field(database, anonymous.workspace, "Age", "number")
    with database.writing() as tx:
        create_query_group(tx, anonymous.workspace, "Grown-ups", "age > 18 AND tel ~ 788", sees_urns=True)

    response = anonymous.delete("/api/v2/fields.json", key=key)

    assert (response.status_code, response.json()) == (
        400,
        {"detail": 'The query of the group "Grown-ups" uses this field: change or delete the group first.'},
    )


@pytest.mark.parametrize(
    "query", ["tel = +250788000111", "tel ~ 788", 'urn != "tel:+250788000111"', "name = a OR tel ~ 788"]
)
def test_members_of_a_new_group_do_not_tell_whose_an_address_is(anonymous: Api, database: Database, query: str) -> None:
    path, refusal = "/api/v2/groups.json", "annot query on redacted URNs"
    with database.writing() as tx:
        create_query_group(tx, anonymous.workspace, "Made by the operator", "tel ~ 788", sees_urns=True)
    made = anonymous.results(path, name="Made by the operator")[0]
    named = anonymous.post(path, {"name": "Named", "query": "name ~ amina"}).json()
    file = make_file(groups=[{"uuid": new_uuid(), "name": "Brought", "query": query}])

    answers = [
        anonymous.post(path, {"name": "New", "query": query}),
        anonymous.post(path, {"name": "Named", "query": query}, uuid=named["uuid"]),
        anonymous.post("/api/v2/definitions.json", {"document": file}),
    ]

    assert all(answer.status_code == 400 and refusal in answer.text for answer in answers), answers
    kept = anonymous.post(path, {"name": "By the operator", "query": made["query"]}, uuid=made["uuid"])
    assert (kept.status_code, kept.json()["query"]) == (200, made["query"])
    assert anonymous.post(path, {"name": "Reached", "query": 'tel != ""'}).status_code == 201
