"""What mirrors of tickets see, with the names of contacts, topics and users."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import select

from persistence.accounts.accounts import change_names
from persistence.database import Database, Transaction
from persistence.tables.accounts import user
from persistence.workspaces.records import Workspace
from testbed.tokens import make_token
from tests.api import Api
from tests.factories import id_of, make_contact
from tests.ticket_rows import add_ticket
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors

PATH = "/api/v2/tickets.json"
ACTIONS = "/api/v2/ticket_actions.json"
CONTACTS = "/api/v2/contacts.json"
TOPICS = "/api/v2/topics.json"
LISTS = [Listed(PATH)]
COUNT = 6


class Desk:
    """Tickets of several contacts, with a topic that has some of them."""

    def __init__(self, api: Api, database: Database, workspace: Workspace) -> None:
        self.api, self.database, self.workspace = api, database, workspace
        self.people = [make_contact(database, workspace) for _ in range(COUNT)]
        self.tickets = [add_ticket(database, workspace, id_of(database, uuid)) for uuid in self.people]
        self.agent = f"agent@{workspace.uuid[:8]}.example.org"
        make_token(database, workspace, "agent")
        self.topics = [api.post(TOPICS, {"name": name}).json()["uuid"] for name in ("Water", "Food")]
        self.act("change_topic", 5, topic=self.topics[1])

    def act(self, action: str, *numbers: int, **values: str | None) -> None:
        body = {"tickets": [self.tickets[number] for number in numbers], "action": action, **values}
        answer = self.api.post(ACTIONS, body)
        assert answer.status_code in (200, 204), answer.text

    def assign(self, turn: int) -> None:
        self.act("assign", 0, 1, assignee=self.agent if turn % 2 else None)

    def add_note(self, turn: int) -> None:
        self.act("add_note", 1, 2, note=f"note {turn}")

    def change_topic(self, turn: int) -> None:
        self.act("change_topic", 2, 3, topic=self.topics[0] if turn % 2 else self.topics[1])

    def close(self, turn: int) -> None:
        self.act("close" if turn % 2 else "reopen", 3, 4)

    def rename_topic(self, turn: int) -> None:
        assert self.api.post(TOPICS, {"name": f"Food {turn}"}, uuid=self.topics[1]).status_code == 200

    def rename_contact(self, turn: int) -> None:
        assert self.api.post(CONTACTS, {"name": f"Person {turn}"}, uuid=self.people[5]).status_code == 200

    def rename_user(self, turn: int) -> None:
        self.act("assign", 5, assignee=self.agent)

        def rename(tx: Transaction) -> None:
            agent_id = tx.execute(select(user.c.id).where(user.c.email == self.agent)).scalar_one()
            change_names(tx, agent_id, {"last_name": f"Agent {turn}"})

        self.database.write(rename)

    def open_another(self, turn: int) -> None:
        add_ticket(self.database, self.workspace, id_of(self.database, make_contact(self.database, self.workspace)))


OPERATIONS: list[Callable[[Desk, int], None]] = [
    Desk.assign,
    Desk.add_note,
    Desk.change_topic,
    Desk.close,
    Desk.open_another,
]
NAMES: list[Callable[[Desk, int], None]] = [Desk.rename_topic, Desk.rename_contact, Desk.rename_user]


@pytest.fixture
def desk(api: Api, database: Database, workspace: Workspace) -> Desk:
    return Desk(api, database, workspace)


def test_each_change_moves_modified_on(api: Api, desk: Desk) -> None:
    check_changes(api, LISTS, by_name(OPERATIONS, desk))


def test_a_mirror_misses_nothing(api: Api, desk: Desk) -> None:
    check_mirrors(api, LISTS, [partial(operation, desk) for operation in (*OPERATIONS, *NAMES)])
