"""What a workspace that hides addresses refuses to tell through the bodies of requests."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.smart_groups import create_query_group
from persistence.workspaces import create_workspace
from tests.api import Api, make_token
from tests.campaign_rows import make_flow
from tests.factories import make_contact, make_field

AMINA = "tel:+250788000111"


@pytest.fixture
def anonymous(api: Api, database: Database) -> Api:
    with database.writing() as tx:
        workspace = create_workspace(tx, "Private", country="RW", is_anonymous=True)
    make_contact(database, workspace, "+250788000111")
    return Api(api.client, database, workspace, make_token(database, workspace, "editor"))


@pytest.mark.parametrize(
    ("path", "field", "body"),
    [
        ("messages", "contact", {"contact": AMINA, "text": "Hi"}),
        ("contact_actions", "contacts", {"contacts": [AMINA], "action": "interrupt"}),
        ("broadcasts", "contacts", {"contacts": [AMINA], "text": {"eng": "Hi"}}),
        ("flow_starts", "contacts", {"contacts": [AMINA]}),
    ],
)
@pytest.mark.parametrize("known", [True, False])
def test_no_body_names_a_contact_by_its_address(
    anonymous: Api, database: Database, path: str, field: str, body: dict[str, Any], known: bool
) -> None:
    if path == "flow_starts":
        body = {**body, "flow": make_flow(database, anonymous.workspace, "Registration")}
    if not known:
        body = {**body, field: "tel:+250788000999" if field == "contact" else ["tel:+250788000999"]}

    response = anonymous.post(f"/api/v2/{path}.json", body)

    assert response.status_code == 400
    assert response.json() == {field: ["Contacts cannot be named by URN in an anonymous workspace."]}


def test_a_broadcast_to_an_address_does_not_show_whose_it_is(anonymous: Api) -> None:
    record = anonymous.post("/api/v2/broadcasts.json", {"urns": [AMINA], "text": {"eng": "Hi"}}).json()

    assert (record["urns"], record["contacts"]) == ([], [])


def test_a_field_of_a_group_whose_query_names_addresses_is_not_deleted(anonymous: Api, database: Database) -> None:
    key = make_field(database, anonymous.workspace, "Age", "number")
    with database.writing() as tx:
        create_query_group(tx, anonymous.workspace, "Grown-ups", "age > 18 AND tel ~ 788")

    response = anonymous.delete("/api/v2/fields.json", key=key)

    assert (response.status_code, response.json()) == (400, {"detail": 'The group "Grown-ups" uses this field.'})
