"""Who comes to have what goes or changes at that moment: the change is theirs too, or a mirror would keep it for ever.

Each meeting is made by construction: the first is held just before its commit until the second waits for it. On SQLite
one transaction writes at a time, so there are none.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from persistence.tables.flows import flow
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.contract.services import serve
from tests.factories import make_contact, make_field, make_messages
from tests.handlers.pairs.gate import COMMIT, Meeting
from tests.run_rows import add_flow, uuid_of

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
TOPICS = "/api/v2/topics.json"
LABELS = "/api/v2/labels.json"
FIELDS = "/api/v2/fields.json"
STARTS = "/api/v2/flow_starts.json"
MESSAGES = "/api/v2/messages.json"


@dataclass(slots=True)
class Case:
    """One that has it already, another that comes to have it, and what changes or deletes it."""

    path: str
    come: Callable[[Api, int], object]
    change: Callable[[Api], object]


def group_members(api: Api) -> Case:
    people = [make_contact(api.database, api.workspace) for _ in range(2)]
    uuid = api.post(GROUPS, {"name": "Nurses"}).json()["uuid"]

    def join(api: Api, number: int) -> object:
        body = {"contacts": [people[number]], "action": "add", "group": uuid}
        return api.post("/api/v2/contact_actions.json", body)

    return Case(CONTACTS, join, lambda api: api.delete(GROUPS, uuid=uuid))


def values_of_a_field(api: Api) -> Case:
    people = [make_contact(api.database, api.workspace) for _ in range(2)]
    key = make_field(api.database, api.workspace, "Age", "number")

    def set_value(api: Api, number: int) -> object:
        return api.post(CONTACTS, {"fields": {key: "17 years"}}, uuid=people[number])

    return Case(CONTACTS, set_value, lambda api: api.post(FIELDS, {"name": "Age", "type": "text"}, key=key))


def labeled_messages(api: Api) -> Case:
    ids = make_messages(api.database, api.workspace, make_contact(api.database, api.workspace), 2)
    label = api.post(LABELS, {"name": "Complaint"}).json()["uuid"]

    def put_on(api: Api, number: int) -> object:
        body = {"messages": [ids[number]], "action": "label", "label": label}
        return api.post("/api/v2/message_actions.json", body)

    return Case(MESSAGES, put_on, lambda api: api.delete(LABELS, uuid=label))


def starts_of_a_group(api: Api) -> Case:
    flow_uuid = uuid_of(api.database, flow, add_flow(api.database, api.workspace))
    group = api.post(GROUPS, {"name": "Nurses"}).json()["uuid"]

    def start(api: Api, _number: int) -> object:
        return api.post(STARTS, {"flow": flow_uuid, "groups": [group]})

    return Case(STARTS, start, lambda api: api.delete(GROUPS, uuid=group))


CASES = [
    group_members,
    values_of_a_field,
    labeled_messages,
    starts_of_a_group,
]


@pytest.fixture
def other(database_url: str, tmp_path: Path, api: Api, workspace: Workspace) -> Iterator[Api]:
    """The same workspace by another process."""
    with serve(database_url, tmp_path) as service:
        client = Api(service.client, service.database, workspace, api.token)
        client.results(TOPICS)  # so that the use of the token has been noted
        yield client


@pytest.mark.parametrize("make_case", CASES)
def test_who_comes_to_have_what_changes_at_that_moment_is_news_with_it(
    api: Api, other: Api, make_case: Callable[[Api], Case]
) -> None:
    case = make_case(api)
    case.come(api, 0)

    Meeting(api.database, other.database).run(COMMIT, lambda: case.come(api, 1), lambda: case.change(other))

    records = api.results(case.path)
    assert len(records) == 2
    # The change is the last, and one moment is given to all that it changes.
    assert len({each["modified_on"] for each in records}) == 1
