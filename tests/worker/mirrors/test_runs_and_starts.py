"""What mirrors of runs and of flow starts see, with the names of their flows and contacts."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from sqlalchemy import select, update

from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.flow_starts.batches import interrupt_start, lease_start
from persistence.flows.records import archive_flow
from persistence.tables.contacts import contact
from persistence.tables.flows import flow, flow_session
from persistence.workspaces.records import Workspace
from testbed.flow_rows import ask, definition, say, uuid_of
from tests.api import Api
from tests.worker.flows.conftest import Stage
from tests.worker.mirrors.client import Listed, by_name, check_changes, check_mirrors
from worker.flows.starts import begin_starts
from worker.runtime import Runtime

STARTS = "/api/v2/flow_starts.json"
GROUPS = "/api/v2/groups.json"
CONTACT_ACTIONS = {1: "/api/v1/contact_actions.json", 2: "/api/v2/contact_actions.json"}
PEOPLE = 8


def _asking(name: str) -> dict[str, Any]:
    """A flow that asks until the answer is red."""
    word = f"colour of {name}"
    return definition(name, [ask(word, {"red": None}, word, result="Colour", actions=[say("Which colour?")])])


RUNS = [Listed("/api/v2/runs.json"), Listed("/api/v1/runs.json", key="run")]
FLOW_STARTS = [Listed(STARTS)]


class Survey:
    """People who wait in a flow, each with a number and a part in one operation."""

    def __init__(self, api: Api, stage: Stage, runtime: Runtime) -> None:
        self.api, self.stage, self.runtime = api, stage, runtime
        self.database, self.workspace = stage.database, stage.workspace
        for name in ("Survey", "Put away", "Given up"):
            self.bring_in(name)
        self.phones = [f"+25072200010{number}" for number in range(PEOPLE)]
        ids = [stage.add_contact(phone, f"Person {phone[-1]}") for phone in self.phones]
        with self.database.reading() as tx:
            uuids = tx.execute(select(contact.c.uuid).where(contact.c.id.in_(ids)).order_by(contact.c.id)).scalars()
            self.people = list(uuids)
        self.groups = [api.post(GROUPS, {"name": name}).json()["uuid"] for name in ("Nurses", "Teachers")]
        self.start("Survey", *range(PEOPLE - 1), groups=self.groups)
        self.start("Put away", PEOPLE - 1)
        self.work()

    def work(self) -> None:
        Stage.work(self.stage)

    def bring_in(self, name: str) -> None:
        self.database.write(lambda tx: import_definitions(tx, self.workspace, _asking(name)))

    def put_away(self, name: str) -> None:
        with self.database.reading() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid_of(f"flow {name}"))).scalar_one()
        archive_flow(self.database, self.workspace.id, flow_id)

    def start(self, word: str, *numbers: int, **fields: Any) -> str:
        body = {"flow": uuid_of(f"flow {word}"), "contacts": [self.people[each] for each in numbers], **fields}
        answer = self.api.post(STARTS, body)
        assert answer.status_code == 201, answer.text
        uuid: str = answer.json()["uuid"]
        return uuid

    def act(self, generation: int, action: str, number: int, **values: str) -> None:
        body = {"contacts": [self.people[number]], "action": action, **values}
        answer = self.api.post(CONTACT_ACTIONS[generation], body)
        assert answer.status_code == 204, answer.text

    def answer(self, turn: int) -> None:
        self.stage.receive(self.phones[0], "blue" if turn % 3 else "red")
        self.work()
        if turn % 3 == 0:
            self.start("Survey", 0)

    def interrupt(self, turn: int) -> None:
        self.act(2, "interrupt", 1)
        self.start("Survey", 1)

    def expire(self, turn: int) -> None:
        self.act(1, "expire", 2)
        self.start("Survey", 2)

    def block(self, turn: int) -> None:
        self.act(2, "block", 3)
        self.act(2, "unblock", 3)
        self.start("Survey", 3)

    def start_again(self, turn: int) -> None:
        self.start("Survey", 4)
        self.work()

    def start_by_the_first_generation(self, turn: int) -> None:
        body = {"flow_uuid": uuid_of("flow Survey"), "contacts": [self.people[5]]}
        assert self.api.post("/api/v1/runs.json", body).status_code == 201
        self.work()

    def wait_in_vain(self, turn: int) -> None:
        mine = select(contact.c.id).where(contact.c.uuid == self.people[6]).scalar_subquery()

        def be_late(tx: Transaction) -> None:
            tx.execute(update(flow_session).where(flow_session.c.contact_id == mine).values(expires_on=tx.now))

        self.database.write(be_late)
        self.work()
        self.start("Survey", 6)

    def archive_flow(self, turn: int) -> None:
        self.put_away("Put away")
        self.bring_in("Put away")
        self.start("Put away", 7)

    def queue(self, turn: int) -> None:
        self.start("Survey", 4)
        self.database.write(partial(lease_start, workspace_id=self.workspace.id))

    def find_contacts(self, turn: int) -> None:
        self.start("Survey", 4, 5)
        begin_starts(self.runtime)()

    def interrupt_start(self, turn: int) -> None:
        uuid = self.start("Survey", 5, restart_participants=True)
        self.database.write(lambda tx: interrupt_start(tx, self.workspace.id, uuid))

    def start_what_is_put_away(self, turn: int) -> None:
        self.start("Given up", 4)
        self.put_away("Given up")
        self.work()
        self.bring_in("Given up")

    def rename_contact(self, turn: int) -> None:
        body = {"name": f"Person {turn}", "urns": [f"tel:{self.phones[5]}", f"ext:five-{turn}"]}
        assert self.api.post("/api/v2/contacts.json", body, uuid=self.people[5]).status_code == 200

    def rename_flow(self, turn: int) -> None:
        document = {**_asking("Survey"), "name": f"Survey {turn}"}
        self.database.write(lambda tx: import_definitions(tx, self.workspace, document))

    def rename_group(self, turn: int) -> None:
        assert self.api.post(GROUPS, {"name": f"Nurses {turn}"}, uuid=self.groups[0]).status_code == 200

    def delete_group(self, turn: int) -> None:
        assert self.api.delete(GROUPS, uuid=self.groups[1]).status_code == 204
        self.groups[1] = self.api.post(GROUPS, {"name": f"Teachers {turn}"}).json()["uuid"]
        self.start("Survey", 4, groups=[self.groups[1]])


RUN_CHANGES: list[Callable[[Survey, int], None]] = [
    Survey.answer,
    Survey.interrupt,
    Survey.expire,
    Survey.block,
    Survey.start_again,
    Survey.start_by_the_first_generation,
    Survey.wait_in_vain,
    Survey.archive_flow,
]
NAMES: list[Callable[[Survey, int], None]] = [Survey.rename_contact, Survey.rename_flow, Survey.rename_group]
START_CHANGES: list[Callable[[Survey, int], None]] = [
    Survey.queue,
    Survey.find_contacts,
    Survey.interrupt_start,
    Survey.start_what_is_put_away,
    Survey.delete_group,
]


@pytest.fixture
def stage(database: Database, workspace: Workspace, runtime: Runtime) -> Stage:
    return Stage(database, workspace, runtime, clock=None)


@pytest.fixture
def survey(api: Api, stage: Stage, runtime: Runtime) -> Survey:
    return Survey(api, stage, runtime)


def test_each_change_moves_modified_on(api: Api, survey: Survey) -> None:
    check_changes(api, RUNS, by_name(RUN_CHANGES, survey))
    for name in ("Survey", "Put away", "Given up"):
        survey.start(name, 4)
    check_changes(api, FLOW_STARTS, by_name(START_CHANGES, survey))


def test_mirrors_miss_nothing(api: Api, survey: Survey) -> None:
    check_mirrors(
        api, [*RUNS, *FLOW_STARTS], [partial(each, survey) for each in (*RUN_CHANGES, *START_CHANGES, *NAMES)]
    )
