"""A record shows names of others. When one changes, mirrors get again whatever shows it, as news."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, select, update

import persistence.touching
import worker.jobs
from persistence.accounts.accounts import change_names
from persistence.clock_writes import TICK
from persistence.contacts.urns import normalize_numbers
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.field_editing import delete_field
from persistence.field_writes import create_field
from persistence.messages.states import FAILED, OUTGOING
from persistence.relayers.relayers import claim_phone
from persistence.sql.columns import new_uuid, time_text
from persistence.stamps import stamped
from persistence.tables.accounts import user
from persistence.tables.changes import pending_touch
from persistence.tables.channels import channel
from persistence.tables.contacts import contact_urn
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.tables.runs import flow_run
from persistence.tables.stamps import record_stamp
from persistence.templates import Translation, set_translation
from persistence.touches import CONTACT, FLOW, note_renamed
from persistence.touching import touch_by_contacts, touch_by_others
from persistence.workspaces import Workspace
from testbed.flow_rows import uuid_of
from testbed.tokens import make_token
from tests.api import Api
from tests.factories import id_of, make_contact, make_messages
from tests.ticket_rows import add_ticket
from tests.worker.flows.conftest import Stage
from tests.worker.mirrors.client import Record, settle
from tests.worker.mirrors.test_runs_and_starts import _asking as asking
from worker.jobs import begin_touches
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
        drain(self.runtime)

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
            return claim_phone(tx, self.workspace, "123456789", "+250788000000", "Back office")

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


def drain(runtime: Runtime) -> None:
    """Everything that shows a changed name or count."""
    settle(runtime.database)


@dataclass(frozen=True, slots=True)
class Change:
    """What is done, and where it is seen: nowhere else."""

    do: Callable[[Scene], object]
    seen: str

    @property
    def names(self) -> set[str]:
        return {each.strip() for each in self.seen.split(",")}


CHANGES = {
    "a contact gets another name": Change(
        lambda scene: scene.change_amina(name="Amina Uwase"), "contacts, runs, starts, tickets, messages, broadcasts"
    ),
    "a number becomes international": Change(Scene.normalize, "contacts, runs"),
    "a contact gets another number": Change(
        lambda scene: scene.change_amina(urns=["tel:+250722000109"]), "contacts, runs"
    ),
    "a flow gets another name": Change(
        lambda scene: scene.bring_in("Survey", "Poll"), "flows, contacts, runs, starts, messages"
    ),
    "a user gets another name": Change(Scene.rename_user, "tickets"),
    "a group gets another name": Change(Scene.rename_group, "starts, broadcasts"),
    "a phone gets another name": Change(Scene.claim_again, "messages, templates"),
    "a field is new": Change(Scene.make_field, "contacts"),
    "a field is deleted": Change(Scene.drop_field, "contacts"),
    "a run ends": Change(Scene.end_run, "runs, contacts, flows"),
    "a group is deleted": Change(Scene.delete_group, "starts, broadcasts"),
    "a contact is deleted": Change(Scene.delete_amina, "starts, broadcasts, flows, tickets, runs, messages, contacts"),
}
"""In this order, in one workspace."""


def read_all(api: Api) -> dict[str, dict[str, Record]]:
    found = {name: {str(each[key]): each for each in api.all_results(path)} for name, (path, key, _) in PATHS.items()}
    found["messages"] = {key: record for key, record in found["messages"].items()}
    return found


@pytest.fixture
def stage(database: Database, workspace: Workspace, runtime: Runtime) -> Stage:
    return Stage(database, workspace, runtime, clock=None)


@pytest.fixture(params=[2, 500])
def portion(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """As many records as are touched at once: fewer than there are, or all."""
    monkeypatch.setattr(persistence.touching, "PORTION", request.param)
    return int(request.param)


@pytest.mark.usefixtures("portion")
def test_what_shows_a_name_is_news_when_the_name_changes(api: Api, stage: Stage) -> None:
    scene = Scene(api, stage)

    for word, change in CHANGES.items():
        before = read_all(api)
        asked_on = max(
            each["modified_on"] for records in before.values() for each in records.values() if "modified_on" in each
        )
        change.do(scene)
        drain(scene.runtime)
        after = read_all(api)

        differing = {
            name: {key for key in after[name] | before[name] if after[name].get(key) != before[name].get(key)}
            for name in PATHS
        }
        assert {name for name, keys in differing.items() if keys} - {"runs of v1"} == change.names, word
        for name, keys in differing.items():
            path, key_name, parameter = PATHS[name]
            kept = {key for key in keys if key in after[name] and key in before[name]}
            stayed = [
                key
                for key in kept
                if "modified_on" in after[name][key]
                and after[name][key]["modified_on"] <= before[name][key]["modified_on"]
            ]
            assert stayed == [], (word, name, [(before[name][key], after[name][key]) for key in stayed])
            if parameter is not None:
                again = {str(each[key_name]) for each in api.all_results(path, **{parameter: asked_on})}
                assert kept <= again, (word, name)
    with scene.database.reading() as tx:
        assert tx.execute(select(pending_touch.c.subject)).all() == []


class TestPortions:
    """How portions go on when something is in their way."""

    @pytest.fixture
    def scene(self, api: Api, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Scene:
        scene = Scene(api, stage)
        monkeypatch.setattr(persistence.touching, "PORTION", 2)
        monkeypatch.setattr(worker.jobs, "PORTION", 2)
        return scene

    @pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
    @pytest.mark.parametrize("table", [flow_run, message])
    @pytest.mark.parametrize("subject", [CONTACT, FLOW])
    def test_what_is_locked_is_left_for_later_and_nobody_waits(self, scene: Scene, table: Any, subject: str) -> None:
        record = self.change(scene, subject)
        shown = table.c.contact_id == scene.amina_id
        with scene.database.writing() as tx:
            tx.execute(select(table.c.id).where(shown).with_for_update())
            drain(scene.runtime)
            assert self.waiting(scene) == [(subject, record)]
        drain(scene.runtime)

        assert self.waiting(scene) == []

    def test_a_name_that_changes_amid_the_messages_begins_another_pass(self, scene: Scene) -> None:
        self.change(scene, FLOW)
        with scene.database.writing() as tx:
            tx.execute(update(message).values(flow_id=select(flow.c.id).limit(1).scalar_subquery()))
        work = partial(touch_by_others, workspace_id=scene.workspace.id)
        while not self.reached(scene):
            assert scene.database.write(work)
        self.change(scene, FLOW)
        drain(scene.runtime)

        newest = max(each["modified_on"] for each in scene.api.all_results(PATHS["flows"][0]))
        with scene.database.reading() as tx:
            stamps = (
                tx.execute(select(record_stamp.c.stamped_on).where(record_stamp.c.kind == "message")).scalars().all()
            )
        assert self.waiting(scene) == []
        assert min(map(time_text, stamps)) > newest

    def test_a_message_that_came_after_the_change_is_left_alone(self, scene: Scene) -> None:
        """Those that come in all the time while a walk goes on would make it endless."""
        self.change(scene, FLOW)
        hour = timedelta(hours=1)
        with scene.database.writing() as tx:
            flow_id = select(flow.c.id).limit(1).scalar_subquery()
            tx.execute(update(message).values(flow_id=flow_id, modified_on=tx.now))
            tx.execute(update(pending_touch).values(changed_on=tx.now - hour))
            (old, *new) = tx.execute(select(message.c.id).order_by(message.c.id)).scalars()
            tx.execute(update(message).where(message.c.id == old).values(modified_on=tx.now - 2 * hour))
        before = self.stamps(scene)
        drain(scene.runtime)
        after = self.stamps(scene)

        assert self.waiting(scene) == []
        assert after[old] > before[old] and [after[each] for each in new] == [before[each] for each in new]

    def stamps(self, scene: Scene) -> dict[int, datetime]:
        """When messages changed, by the clock of the workspace."""
        rows = record_stamp.c
        with scene.database.reading() as tx:
            found = tx.execute(select(rows.record, rows.stamped_on).where(rows.kind == "message")).all()
        return {row.record: row.stamped_on for row in found}

    def test_a_portion_takes_all_contacts_whose_messages_it_has_room_for(self, scene: Scene) -> None:
        database, workspace = scene.database, scene.workspace
        people = [make_contact(database, workspace, f"+25072299900{number}") for number in range(4)]
        for uuid in people:
            make_messages(database, workspace, uuid)
        with database.writing() as tx:
            note_renamed(tx, workspace.id, CONTACT, [id_of(database, uuid) for uuid in people])

        counts = [len(people)]
        while database.write(partial(touch_by_contacts, workspace_id=workspace.id)):
            counts.append(len(self.waiting(scene)))

        assert list(dict.fromkeys(counts)) == [4, 2, 0], "a message of each, two at once"

    def test_after_a_full_portion_the_next_waits_for_the_next_sweep(self, scene: Scene) -> None:
        self.change(scene, FLOW)
        with scene.database.writing() as tx:
            tx.execute(update(message).values(flow_id=select(flow.c.id).limit(1).scalar_subquery()))
        step = begin_touches(scene.runtime)
        sweeps = 0
        while self.waiting(scene):
            sweeps += 1
            while step():
                pass

        assert 3 <= sweeps <= 6, "five messages, two at once, and a run"

    def test_what_fills_no_portion_moves_in_one_sweep(self, scene: Scene) -> None:
        self.change(scene, FLOW)
        step = begin_touches(scene.runtime)
        while step():
            pass

        assert self.waiting(scene) == [], "a run, then a start, and no messages"

    def test_a_message_that_was_given_up_keeps_its_time_but_for_a_moment(self, scene: Scene) -> None:
        failed = select(message.c.modified_on).where(message.c.status == FAILED)
        with scene.database.writing() as tx:
            tx.execute(update(message).values(direction=OUTGOING, status=FAILED))
            before = tx.execute(failed).scalars().all()
        self.change(scene, CONTACT)
        drain(scene.runtime)

        with scene.database.reading() as tx:
            after = tx.execute(failed).scalars().all()
        assert sorted(after) != sorted(before)
        assert max(late - early for early, late in zip(sorted(before), sorted(after), strict=True)) <= TICK

    def change(self, scene: Scene, subject: str) -> int:
        """Another name of the contact or flow; returns its id."""
        with scene.database.writing() as tx:
            flow_id = tx.execute(select(flow.c.id)).scalar_one()
            record = scene.amina_id if subject == CONTACT else flow_id
            tx.execute(update(flow).values(modified_on=stamped(tx, flow, scene.workspace.id)))
            note_renamed(tx, scene.workspace.id, subject, [record])
            return record

    def waiting(self, scene: Scene) -> list[tuple[str, int]]:
        with scene.database.reading() as tx:
            return [tuple(row) for row in tx.execute(select(pending_touch.c.subject, pending_touch.c.record))]

    def reached(self, scene: Scene) -> bool:
        with scene.database.reading() as tx:
            return tx.execute(select(pending_touch.c.reached_id)).scalar_one() is not None
