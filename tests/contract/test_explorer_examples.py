"""What the explorer shows first can be executed as it is on the workspace of the demo."""

import pytest

from persistence.channels.channels import set_channel_webhook
from persistence.database import Database
from persistence.fields import create_field
from persistence.users import add_member
from persistence.workspaces.records import Workspace
from persistence.workspaces.sample import CHANNEL
from relayboard.commands.demo import fill_workspace
from tests.api import Api
from tests.channel_rows import add_channel
from tests.contract.documents import Operation, document, token_operations

LACKING = {
    "check_channel": "the channel of the demo is a phone, which has no provider",
    "claim_relayer": "only a phone that waits to be claimed has its code, for minutes",
    "act_on_contact_import": "needs a file that was uploaded just before",
    "act_on_contact_job": "actions on all who match have new UUIDs",
    "act_on_deliveries": "deliveries have new UUIDs",
    "act_on_flow_starts": "flow starts of the demo have new UUIDs",
    "read_delivery": "deliveries have new UUIDs",
}
"""Operations whose first example cannot be carried out, and why; the others are."""
FIRST = [
    each
    for each in token_operations()
    if each.root in ("v1/openapi.yaml", "v2/openapi.yaml")
    and each.method in ("get", "post")
    and "multipart/form-data" not in each.request_schemas()
]
"""Without those that take files, and without what deletes: the records of the other examples would be gone."""


@pytest.fixture
def demo(api: Api, database: Database, workspace: Workspace) -> Api:
    """What `relayboard demo` makes, without the phone that syncs."""
    channel_id = add_channel(database, workspace, address="+250788000001", country="RW")
    with database.writing() as tx:
        create_field(tx, workspace.id, "Due Date", "datetime")
        create_field(tx, workspace.id, "District", "text")
        user_id = add_member(tx, workspace.id, "demo@example.com", "administrator").id
    fill_workspace(database, workspace, channel_id, user_id)
    with database.writing() as tx:
        set_channel_webhook(tx, workspace.id, CHANNEL, "https://hooks.example.org/in")
    return api.as_role("administrator")


def execute(demo: Api, operation: Operation) -> tuple[int, str]:
    """What the explorer does: it fills in no parameters but those that are required, and the first body."""
    content = operation.body.get("requestBody", {}).get("content", {}).get("application/json", {})
    body = next(iter(content["examples"].values()))["value"] if content else None
    query = {part["name"]: part["example"] for part in operation.parameters() if part.get("required")}
    path = document(operation.root)["servers"][0]["url"] + operation.path
    headers = {"Authorization": f"Token {demo.token}"}
    answer = demo.client.request(operation.method.upper(), path, params=query, json=body, headers=headers)
    return answer.status_code, answer.text


# What an operation does is tested on both databases elsewhere.
@pytest.mark.parametrize(
    ("database_url", "generation"), [("postgresql", "v1"), ("sqlite", "v2")], indirect=["database_url"]
)
def test_every_first_example_is_carried_out_on_the_demo_or_says_why_not(demo: Api, generation: str) -> None:
    refused = {}
    for operation in (each for each in FIRST if each.generation == generation):
        status, text = execute(demo, operation)
        if status >= 400:
            refused[operation.body["operationId"]] = text

    assert {name: text for name, text in refused.items() if name not in LACKING} == {}
    here = {each.body["operationId"] for each in FIRST if each.generation == generation}
    assert set(refused) == here & set(LACKING), "a reason that is none any more"
