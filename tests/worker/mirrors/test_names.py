"""A record shows names of others. When one changes, only its own record is news: mirrors join by UUID."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from persistence.accounts.accounts import change_names
from persistence.contacts.urns import normalize_numbers
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.fields import create_field, delete_field
from persistence.relayers.relayers import claim_phone
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import user
from persistence.tables.channels import channel
from persistence.tables.contacts import contact_urn
from persistence.tables.messages import message
from persistence.templates import Translation, set_translation
from persistence.workspaces.records import Workspace
from testbed.flow_rows import uuid_of
from testbed.tokens import make_token
from tests.api import Api
from tests.factories import make_contact, make_messages
from tests.ticket_rows import add_ticket
from tests.worker.flows.conftest import Stage
from tests.worker.mirrors.client import Record, settle
from tests.worker.mirrors.test_runs_and_starts import _asking as asking
from worker.runtime import Runtime

PATHS = {
    "runs": ("/api/v2/runs.json", "uuid", "after"),
    "runs of v1": ("/api/v1/runs.json", "run", "after"),
    "starts": ("/api/v2/flow_starts.json", "uuid", "after"),
    "tickets": ("/api/v2/tickets.json", "uuid", None),
    "messages": ("/api/v2/messages.json", "uuid", "modified_after"),
    "broadcasts": ("/api/v2/broadcasts.json", "uuid", "modified_after"),
    "templates": ("/api/v2/templates.json", "uuid", None),
    "contacts": ("/api/v2/contacts.json", "uuid", "after"),
    "flows": ("/api/v2/flows.json", "uuid", "after"),
}
ACTIONS = "/api/v2/contact_actions.json"


class Scene:
    """Amina, who is in a flow and in everything that shows a contact, and another contact, who stays as he is."""

    def __init__(self, api: Api, stage: Stage) -> None:
        self.api, self.stage, self.runtime = api, stage, stage.runtime
        self.database, self.workspace = stage.database, stage.workspace
        self.bring_in("Survey", "Survey")
        self.amina_id = stage.add_contact("+250722000101", "Amina")
        self.amina = api.results("/api/v2/contacts.json", urn="tel:+250722000101")[0]["uuid"]
        self.group = api.post("/api/v2/groups.json", {"name": "Nurses"}).json()["uuid"]
        chosen = {"contacts": [self.amina], "groups": [self.group]}
        assert api.post(PATHS["starts"][0], {"flow": uuid_of("flow Survey"), **chosen}).status_code == 201
        assert api.post(PATHS["broadcasts"][0], {"text": {"eng": "Hi"}, "base_language": "eng", **chosen}).is_success
        stage.work()
        make_messages(self.database, self.workspace, self.amina, 3)
        make_messages(self.database, self.workspace, make_contact(self.database, self.workspace, "+250722000102"), 2)
        make_token(self.database, self.workspace, "agent")
        with self.database.reading() as tx:
            self.agent_id = tx.execute(select(user.c.id).where(user.c.email.like("agent@%"))).scalar_one()
        add_ticket(self.database, self.workspace, self.amina_id, assignee_id=self.agent_id)
        with self.database.writing() as tx:
            uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == stage.channel_id)).scalar_one()
            tx.execute(update(message).values(channel_id=stage.channel_id))
            tx.execute(update(channel).values(claim_code="123456789", device_uuid=new_uuid()))
            set_translation(tx, self.workspace.id, "welcome", Translation(uuid, "eng", "Hello"))
            local = {"workspace_id": self.workspace.id, "contact_id": self.amina_id, "scheme": "tel"}
            tx.execute(insert(contact_urn).values(path="0722000103", priority=-1, **local))
        settle(self.database)

    def bring_in(self, word: str, name: str) -> None:
        document = {**asking(word), "name": name}
        self.database.write(lambda tx: import_definitions(tx, self.workspace, document))

    def change_amina(self, **body: Any) -> None:
        assert self.api.post("/api/v2/contacts.json", body, uuid=self.amina).status_code == 200

    def rename_user(self) -> None:
        self.database.write(lambda tx: change_names(tx, self.agent_id, {"first_name": "Grace"}))

    def rename_group(self) -> None:
        assert self.api.post("/api/v2/groups.json", {"name": "Teachers"}, uuid=self.group).status_code == 200

    def delete_group(self) -> None:
        assert self.api.delete("/api/v2/groups.json", uuid=self.group).status_code == 204

    def claim_again(self) -> None:
        def claim(tx: Transaction) -> int:
            return claim_phone(tx, self.workspace, "123456789", "+250788000000", "Back office").channel_id

        self.database.write(claim)

    def end_run(self) -> None:
        assert self.api.post(ACTIONS, {"contacts": [self.amina], "action": "interrupt"}).status_code == 204

    def delete_amina(self) -> None:
        assert self.api.delete("/api/v2/contacts.json", uuid=self.amina).status_code == 204

    def make_field(self) -> None:
        self.database.write(lambda tx: create_field(tx, self.workspace.id, "Village", "text"))

    def drop_field(self) -> None:
        self.database.write(lambda tx: delete_field(tx, self.workspace, "village"))

    def normalize(self) -> None:
        assert self.database.write(lambda tx: normalize_numbers(tx, self.workspace.id, "RW")) == 1

    def say_name(self) -> None:
        """A flow names the contact."""
        self.stage.receive("+250722000101", "blue")


@dataclass(frozen=True, slots=True)
class Change:
    """What is done, and whose records are news with it."""

    do: Callable[[Scene], object]
    seen: str

    @property
    def names(self) -> set[str]:
        return {each.strip() for each in self.seen.split(",")} - {""}


CHANGES = {
    "a contact gets another name": Change(lambda scene: scene.change_amina(name="Amina Uwase"), "contacts"),
    "a number becomes international": Change(Scene.normalize, "contacts"),
    "a contact gets another number": Change(lambda scene: scene.change_amina(urns=["tel:+250722000109"]), "contacts"),
    "a flow gets another name": Change(lambda scene: scene.bring_in("Survey", "Poll"), "flows"),
    "a user gets another name": Change(Scene.rename_user, ""),
    "a group gets another name": Change(Scene.rename_group, ""),
    "a phone gets another name": Change(Scene.claim_again, ""),
    "a field is new": Change(Scene.make_field, ""),
    "a field is deleted": Change(Scene.drop_field, ""),
    "a run ends": Change(Scene.end_run, "runs, contacts, flows"),
    "a group is deleted": Change(Scene.delete_group, "starts, broadcasts"),
    "a contact is deleted": Change(Scene.delete_amina, "flows, tickets, runs, messages, contacts"),
}
"""In this order, in one workspace."""


def read_all(api: Api) -> dict[str, dict[str, Record]]:
    found = {name: {str(each[key]): each for each in api.all_results(path)} for name, (path, key, _) in PATHS.items()}
    found["messages"] = {key: record for key, record in found["messages"].items()}
    return found


@pytest.fixture
def stage(database: Database, workspace: Workspace, runtime: Runtime) -> Stage:
    return Stage(database, workspace, runtime, clock=None)


def test_a_name_that_changes_moves_nothing_that_shows_it(api: Api, stage: Stage) -> None:
    scene = Scene(api, stage)
    before = read_all(api)

    for word, change in CHANGES.items():
        asked_on = max(
            each["modified_on"] for records in before.values() for each in records.values() if "modified_on" in each
        )
        change.do(scene)
        settle(scene.database)
        after = read_all(api)

        moved = {name: _moved(before[name], after[name]) for name in PATHS}
        assert {name for name, keys in moved.items() if keys} - {"runs of v1"} == change.names, word
        for name, keys in moved.items():
            path, key_name, parameter = PATHS[name]
            if parameter is not None:
                again = {str(each[key_name]) for each in api.all_results(path, **{parameter: asked_on})}
                assert keys & after[name].keys() <= again, (word, name)
        before = after


def _moved(before: dict[str, Record], after: dict[str, Record]) -> set[str]:
    """The records that have another time, or came or went."""
    times = [{key: each.get("modified_on") for key, each in records.items()} for records in (before, after)]
    return {key for key in before | after if times[0].get(key, "") != times[1].get(key, "")}
