"""What mirrors of contacts see of every change, their own and that of what they show: groups, fields and flows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select

from persistence.contacts.urns import note_seen
from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database
from persistence.definitions.importing import import_definitions
from persistence.groups.smart_groups import create_query_group
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from testbed.flow_rows import ask, definition, say, uuid_of
from tests.api import Api
from tests.factories import make_field
from tests.worker.flows.conftest import Stage
from tests.worker.mirrors.client import Listed, Record, by_name, check_changes, check_mirrors
from worker.jobs import begin_groups
from worker.runtime import Runtime

CONTACTS = "/api/v2/contacts.json"
GROUPS = "/api/v2/groups.json"
FIELDS = "/api/v2/fields.json"
ACTIONS = "/api/v2/contact_actions.json"


def _given_values(record: Record) -> dict[str, Any]:
    """All contacts show each field of the workspace; only values are theirs."""
    return {"fields": {key: value for key, value in record["fields"].items() if value is not None}}


def _given_values_of_v1(record: Record) -> dict[str, Any]:
    """Names of groups are beside their UUIDs there."""
    return {**_given_values(record), "groups": []}


LISTS = [
    Listed(CONTACTS, elsewhere=_given_values),
    Listed("/api/v1/contacts.json", elsewhere=_given_values_of_v1),
]
COUNT = 8


class People:
    """Contacts who are in a group, have a value of a field and wait in a flow."""

    def __init__(self, api: Api, stage: Stage, runtime: Runtime) -> None:
        self.api, self.stage, self.runtime = api, stage, runtime
        self.database, self.workspace = stage.database, stage.workspace
        self.phones = [f"+25072200010{number}" for number in range(COUNT)]
        self.ids = [stage.add_contact(phone, f"Person {phone[-1]}") for phone in self.phones]
        with self.database.reading() as tx:
            mine = select(contact.c.uuid).where(contact.c.id.in_(self.ids)).order_by(contact.c.id)
            self.uuids = list(tx.execute(mine).scalars())
        self.groups = [self.make_group(name) for name in ("Nurses", "Teachers", "Drivers")]
        self.age = make_field(self.database, self.workspace, "Age", "number")
        self.bring_in("Survey")
        body = {"flow": uuid_of("flow survey"), "contacts": self.uuids[:2]}
        assert api.post("/api/v2/flow_starts.json", body).status_code == 201
        self.set_ages(0)
        self.stage.work()

    def bring_in(self, name: str) -> None:
        question = ask("colour", {"red": None}, "colour", actions=[say("Which colour?")])
        document = {**definition("survey", [question]), "name": name}
        self.database.write(lambda tx: import_definitions(tx, self.workspace, document))

    def make_group(self, name: str) -> str:
        uuid: str = self.api.post(GROUPS, {"name": name}).json()["uuid"]
        self.act("add", 0, 1, 2, group=uuid)
        return uuid

    def act(self, action: str, *numbers: int, **values: str) -> None:
        body = {"contacts": [self.uuids[each] for each in numbers], "action": action, **values}
        answer = self.api.post(ACTIONS, body)
        assert answer.status_code == 204, answer.text

    def change(self, number: int, **values: Any) -> None:
        answer = self.api.post(CONTACTS, values, uuid=self.uuids[number])
        assert answer.status_code == 200, answer.text

    def rename(self, turn: int) -> None:
        for number in range(3):
            self.change(number, name=f"Renamed {turn}")

    def rename_together(self, turn: int) -> None:
        def write(tx: Any) -> None:
            for contact_id in self.ids[2:5]:
                change_contact(tx, self.workspace, contact_id, ContactChange(name=f"All {turn}"))

        self.database.write(write)

    def set_urns(self, turn: int) -> None:
        self.change(
            5, urns=[f"tel:{self.phones[5]}", f"mailto:person{turn}@example.org"], language=["eng", "kin"][turn % 2]
        )

    def set_ages(self, turn: int) -> None:
        for number in range(4):
            self.change(number, fields={self.age: str(turn * 10 + number)})

    def leave_and_join(self, turn: int) -> None:
        self.act("remove" if turn % 2 else "add", 1, 2, group=self.groups[0])

    def rename_group(self, turn: int) -> None:
        assert self.api.post(GROUPS, {"name": f"Nurses {turn}"}, uuid=self.groups[0]).status_code == 200

    def delete_group(self, turn: int) -> None:
        assert self.api.delete(GROUPS, uuid=self.groups[1]).status_code == 204
        self.groups[1] = self.make_group(f"Teachers {turn}")

    def change_type(self, turn: int) -> None:
        kind = "text" if turn % 2 else "number"
        assert self.api.post(FIELDS, {"name": "Age", "type": kind}, key=self.age).status_code == 200

    def delete_field(self, turn: int) -> None:
        name = f"Extra {turn}"
        key = self.api.post(FIELDS, {"name": name, "type": "text"}).json()["key"]
        self.change(4, fields={key: "x"})
        assert self.api.delete(FIELDS, key=key).status_code == 204

    def evaluate_group(self, turn: int) -> None:
        query = f'name ~ "Renamed {turn}" OR name ~ Person'
        self.database.write(lambda tx: create_query_group(tx, self.workspace, f"Grown up {turn}", query))
        step = begin_groups(self.runtime)
        while step():
            pass

    def block(self, turn: int) -> None:
        self.act("block" if turn % 2 else "unblock", 6)

    def hear(self, turn: int) -> None:
        self.database.write(lambda tx: note_seen(tx, self.workspace.id, [self.ids[7]]))

    def rename_flow(self, turn: int) -> None:
        self.bring_in(["Survey", "SURVEY", "Another survey"][turn % 3])

    def go_through_flow(self, turn: int) -> None:
        body = {"flow": uuid_of("flow survey"), "contacts": [self.uuids[3]]}
        assert self.api.post("/api/v2/flow_starts.json", body).status_code == 201
        self.stage.work()
        if turn % 2 == 0:
            self.act("interrupt", 3)

    def delete(self, turn: int) -> None:
        made = self.api.post(CONTACTS, {"name": f"Short {turn}"}).json()["uuid"]
        assert self.api.delete(CONTACTS, uuid=made).status_code == 204
        self.api.post(CONTACTS, {"name": f"New {turn}"})


OPERATIONS: list[Callable[[People, int], None]] = [
    People.rename,
    People.rename_together,
    People.set_urns,
    People.set_ages,
    People.leave_and_join,
    People.delete_group,
    People.change_type,
    People.delete_field,
    People.evaluate_group,
    People.block,
    People.hear,
    People.go_through_flow,
    People.delete,
]
NAMES: list[Callable[[People, int], None]] = [People.rename_group, People.rename_flow]


@pytest.fixture
def stage(database: Database, workspace: Workspace, runtime: Runtime) -> Stage:
    return Stage(database, workspace, runtime, clock=None)


@pytest.fixture
def people(api: Api, stage: Stage, runtime: Runtime) -> People:
    return People(api, stage, runtime)


def test_each_change_moves_modified_on(api: Api, people: People) -> None:
    check_changes(api, LISTS, by_name(OPERATIONS, people))


def test_mirrors_miss_nothing(api: Api, people: People) -> None:
    check_mirrors(api, LISTS, [partial(each, people) for each in (*OPERATIONS, *NAMES)])
