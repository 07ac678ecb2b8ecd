"""What is seen of messages, asked for by their changes: no change leaves `modified_on` where it was."""

from collections.abc import Callable
from functools import partial

import pytest
from sqlalchemy import update

from persistence.database import Database, Transaction, utc_now
from persistence.messages.actions import UNSENT_FOR, fail_old_messages
from persistence.relayers.relayers import release_channels
from persistence.tables.channels import channel
from persistence.tables.messages import QUEUED, message
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages
from tests.phones import claimed_phone
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors

MESSAGES = "/api/v2/messages.json"
LABELS = "/api/v2/labels.json"
ACTIONS = "/api/v2/message_actions.json"
CONTACT_ACTIONS = "/api/v2/contact_actions.json"


LISTS = [Listed(MESSAGES, after="modified_after")]


class Inbox:
    """Incoming messages with labels, and a phone that sends what is written."""

    def __init__(self, api: Api, database: Database, workspace: Workspace) -> None:
        self.api, self.database, self.workspace = api, database, workspace
        self.amina = make_contact(database, workspace, "+250722000100")
        self.ids = make_messages(database, workspace, self.amina, 6)
        self.labels = [self.make_label(name, 0, 1) for name in ("Complaint", "Question")]
        self.phone = claimed_phone(api)
        self.write()

    def make_label(self, name: str, *numbers: int) -> str:
        uuid: str = self.api.post(LABELS, {"name": name}).json()["uuid"]
        self.act("label", *numbers, label=uuid)
        return uuid

    def act(self, action: str, *numbers: int, **values: str) -> None:
        body = {"messages": [self.ids[each] for each in numbers], "action": action, **values}
        answer = self.api.post(ACTIONS, body)
        assert answer.status_code in (200, 204), answer.text

    def write(self, uuid: str | None = None) -> None:
        assert self.api.post(MESSAGES, {"contact": uuid or self.amina, "text": "Hello"}).status_code == 201

    def label(self, turn: int) -> None:
        self.act("label" if turn % 2 else "unlabel", 2, 3, label=self.labels[0])

    def rename_label(self, turn: int) -> None:
        assert self.api.post(LABELS, {"name": f"Complaint {turn}"}, uuid=self.labels[0]).status_code == 200

    def delete_label(self, turn: int) -> None:
        assert self.api.delete(LABELS, uuid=self.labels[1]).status_code == 204
        self.labels[1] = self.make_label(f"Question {turn}", 0, 1)

    def rename(self, turn: int) -> None:
        body = {"name": f"Amina {turn}"}
        assert self.api.post("/api/v2/contacts.json", body, uuid=self.amina).status_code == 200

    def archive(self, turn: int) -> None:
        self.act("archive" if turn % 2 else "restore", 1, 4)

    def send(self, turn: int) -> None:
        self.write()
        self.phone.sync()
        self.phone.send_waiting()
        self.phone.sync()

    def block(self, turn: int) -> None:
        person = make_contact(self.database, self.workspace, f"+2507220002{turn:02}")
        self.write(person)
        body = {"contacts": [person], "action": "block"}
        assert self.api.post(CONTACT_ACTIONS, body).status_code == 204

    def delete(self, turn: int) -> None:
        self.act("delete", 5)
        self.ids[5] = make_messages(self.database, self.workspace, self.amina)[0]


OPERATIONS: list[Callable[[Inbox, int], None]] = [
    Inbox.label,
    Inbox.delete_label,
    Inbox.archive,
    Inbox.send,
    Inbox.block,
    Inbox.delete,
]
NAMES: list[Callable[[Inbox, int], None]] = [Inbox.rename_label, Inbox.rename]


@pytest.fixture
def inbox(api: Api, database: Database, workspace: Workspace) -> Inbox:
    return Inbox(api, database, workspace)


def test_each_change_moves_modified_on(api: Api, inbox: Inbox) -> None:
    check_changes(api, LISTS, by_name(OPERATIONS, inbox))


def test_what_ends_messages_moves_their_modified_on(api: Api, inbox: Inbox) -> None:
    def make_old(tx: Transaction) -> None:
        tx.execute(update(message).where(message.c.status == QUEUED).values(created_on=utc_now() - 2 * UNSENT_FOR))

    def give_up_old(tx: Transaction) -> None:
        fail_old_messages(tx, 100)

    def release_phone(tx: Transaction) -> None:
        release_channels(tx, inbox.workspace.id, channel.c.address.is_not(None))

    for change in (give_up_old, release_phone):
        inbox.write()
        inbox.database.write(make_old)
        check_changes(api, LISTS, {change.__name__: partial(inbox.database.write, change)})


def test_no_change_is_taken_back(api: Api, inbox: Inbox) -> None:
    check_mirrors(api, LISTS, [partial(operation, inbox) for operation in (*OPERATIONS, *NAMES)])
