"""Runs started over HTTP, before and after a worker went through them, in both generations."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from sqlalchemy import select, update

from flows.engine import Contact
from persistence.flow_starts import batches
from persistence.flow_starts.batches import end_next_runs, expand_start, find_batch, interrupt_start, lease_start
from persistence.sessions.parking import acquire_leases, lock_leased
from persistence.stamps import stamped
from persistence.tables.contacts import contact, ticket
from persistence.tables.flows import flow, flow_run, flow_start, flow_start_batch
from testbed.flow_rows import ask, definition, node, say, store_flow, uuid_of
from tests.api import Api
from tests.conftest import Clock
from tests.run_rows import uuid_of as uuid_in
from tests.worker.flows.conftest import Stage
from tests.worker.flows.test_conversation import AMINA, BEN, SURVEY
from worker.flows.runner import FlowRunner
from worker.flows.sprints import Outcome, SprintRunner, Task
from worker.flows.starts import _start_batch, begin_starts

MEETING_SECONDS = 2.0
OLDER, NEWER = "/api/v1/runs.json", "/api/v2/runs.json"


def start_over_http(api: Api, flow_uuid: str, **named: Any) -> list[dict[str, Any]]:
    response = api.post(OLDER, {"flow_uuid": flow_uuid, **named})
    assert response.status_code == 201, response.text
    records: list[dict[str, Any]] = response.json()
    return records


def test_the_runs_of_the_answer_are_the_ones_that_go_on(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    answered = start_over_http(api, flow_uuid, phone=[AMINA, BEN])
    before = {run["id"]: run["uuid"] for run in api.results(NEWER)}

    stage.work()
    stage.receive(AMINA, "red")
    stage.work()

    assert sorted(before) == sorted(run["run"] for run in answered)
    assert {run["id"]: run["uuid"] for run in api.results(NEWER)} == before
    shown = {run["run"]: run for run in api.results(OLDER)}
    done, open_run = (shown[run["run"]] for run in answered)
    assert (done["completed"], open_run["completed"]) == (True, False)
    assert [(step["node"], step["type"]) for step in done["steps"]] == [
        (uuid_of("hello"), "A"),
        (uuid_of("color"), "R"),
        (uuid_of("bye"), "A"),
    ]
    assert [(value["label"], value["text"], value["rule_value"]) for value in done["values"]] == [
        ("Color", "red", "red")
    ]
    assert done["steps"][1]["value"] == "red"
    (known,) = stage.rows(flow)
    assert (known.active_run_count, known.completed_run_count) == (1, 1)
    (start,) = api.results("/api/v2/flow_starts.json")
    assert (start["status"], start["progress"]) == ("completed", {"total": 2, "started": 2})


def test_a_start_that_reaches_nobody_is_work_that_is_done_once(stage: Stage) -> None:
    stage.start(store_flow(stage.database, stage.workspace, SURVEY))
    step = begin_starts(stage.runtime)

    assert [step(), step()] == [True, False]
    assert [(row.status, row.total) for row in stage.rows(flow_start)] == [("completed", 0)]


@pytest.mark.parametrize("count", [1, 2])
def test_a_start_of_many_opens_no_tickets(stage: Stage, count: int) -> None:
    opening = {"type": "open_ticket", "uuid": uuid_of("open"), "topic": None, "assignee": None, "note": "Call"}
    uuid = store_flow(stage.database, stage.workspace, definition("Help", [node("help", [opening])]))

    stage.start(uuid, *[stage.add_contact(phone) for phone in (AMINA, BEN)[:count]])
    stage.work()

    assert len(stage.rows(ticket)) == (1 if count == 1 else 0)


def test_texts_given_at_the_start_are_read_by_the_flow(api: Api, stage: Stage) -> None:
    greeting = definition("Greeting", [node("hello", [say("@trigger.params.clinic")])])
    flow_uuid = store_flow(stage.database, stage.workspace, greeting)
    start_over_http(api, flow_uuid, phone=[AMINA], extra={"clinic": "Lakeside"})

    stage.work()

    (person,) = stage.rows(contact)
    assert stage.sent_to(person.id) == ["Lakeside"]


def test_a_run_whose_contact_was_blocked_meanwhile_is_interrupted(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = stage.add_contact(AMINA, "Amina")
    start_over_http(api, flow_uuid, phone=[AMINA])
    uuid = uuid_in(stage.database, contact, amina)
    api.post("/api/v2/contact_actions.json", {"contacts": [uuid], "action": "block"})

    stage.work()

    (run,) = stage.rows(flow_run)
    assert (run.status, stage.sent_to(amina)) == ("interrupted", [])
    assert stage.rows(flow_start)[0].status == "completed"


def test_a_second_start_interrupts_the_first_run(api: Api, stage: Stage) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = uuid_in(stage.database, contact, stage.add_contact(AMINA, "Amina"))
    for _ in range(2):
        api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina]})
        stage.work()

    first, second = sorted(api.results(NEWER), key=lambda run: int(run["id"]))
    assert (first["exit_type"], second["exit_type"]) == ("interrupted", None)
    assert api.results("/api/v2/contacts.json")[0]["flow"]["uuid"] == flow_uuid


def test_a_start_without_restarts_spares_who_took_part_and_without_active_ones_who_is_busy(
    api: Api, stage: Stage
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina, ben = (uuid_in(stage.database, contact, stage.add_contact(phone)) for phone in (AMINA, BEN))
    api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina]})
    stage.work()

    for choice in ({"restart_participants": False}, {"exclude_active": True}):
        api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina, ben], **choice})
        stage.work()

    assert [run["contact"]["uuid"] for run in api.results(NEWER)] == [ben, amina]
    totals = [start["progress"]["total"] for start in api.results("/api/v2/flow_starts.json")]
    assert totals == [0, 1, 1]


@pytest.mark.parametrize("choice", [{"restart_participants": False}, {"exclude_active": True}])
def test_what_a_start_leaves_out_is_looked_at_again_when_it_is_a_contacts_turn(
    api: Api, stage: Stage, choice: dict[str, bool]
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    amina = uuid_in(stage.database, contact, stage.add_contact(AMINA))
    for _ in range(2):
        api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": [amina], **choice})
        with stage.database.writing() as tx:
            expand_start(tx, lease_start(tx, stage.workspace.id))

    stage.work()

    assert [run["exit_type"] for run in api.results(NEWER)] == [None]
    assert [start["status"] for start in api.results("/api/v2/flow_starts.json")] == ["completed", "completed"]


@pytest.mark.parametrize(
    ("restarts", "spares_active", "started"),
    [
        (True, False, ["new", "took part", "in another flow", "in this flow"]),
        (False, False, ["new", "in another flow"]),
        (True, True, ["new", "took part"]),
        (False, True, ["new"]),
    ],
)
def test_restarts_and_active_contacts_are_chosen_apart(
    api: Api, stage: Stage, restarts: bool, spares_active: bool, started: list[str]
) -> None:
    flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
    other = store_flow(stage.database, stage.workspace, definition("Other", [ask("waits", {}, None)]))
    names = ("new", "took part", "in another flow", "in this flow")
    people = {name: stage.add_contact(f"+25472200012{index}", name) for index, name in enumerate(names)}
    uuids = {name: uuid_in(stage.database, contact, contact_id) for name, contact_id in people.items()}
    stage.start(flow_uuid, people["took part"], people["in this flow"])
    stage.start(other, people["in another flow"])
    stage.work()
    stage.receive("+254722000121", "red")
    stage.work()

    body = {"flow": flow_uuid, "contacts": list(uuids.values())}
    wishes = {"restart_participants": restarts, "exclude_active": spares_active}
    start = api.post("/api/v2/flow_starts.json", body | wishes).json()
    stage.work()

    runs = [run for run in api.results(NEWER) if (run["start"] or {}).get("uuid") == start["uuid"]]
    assert sorted(run["contact"]["name"] for run in runs) == sorted(started)


def test_a_start_is_interrupted_while_its_contacts_are_being_started(api: Api, stage: Stage) -> None:
    start_over_http(api, store_flow(stage.database, stage.workspace, SURVEY), phone=[AMINA, BEN])
    (start,) = stage.rows(flow_start)

    with ThreadPoolExecutor(1) as threads:
        with stage.database.writing() as tx:  # a second try would hide a deadlock
            tx.execute(select(flow_start.c.id).with_for_update(key_share=True))
            working = threads.submit(stage.work)
            wait([working], timeout=MEETING_SECONDS)
            interrupt_start(tx, stage.workspace.id, start.uuid)
        working.result()

    assert [row.status for row in stage.rows(flow_start)] == ["interrupted"]
    assert {(run.status, run.session_id is None) for run in stage.rows(flow_run)} in (
        {("waiting", False)},
        {("interrupted", True)},
    )


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("version", ["13.0.0", "13.6.1", "14.0.0", "14.4.2"])
def test_flows_of_every_version_read_what_a_start_gave_along(api: Api, stage: Stage, version: str) -> None:
    words = ("extra", "legacy_extra", "trigger.params")
    made = definition("Welcome", [node("hello", [say(f"@{word}.clinic, @({word}.clinic)") for word in words])])
    flow_uuid = store_flow(stage.database, stage.workspace, made | {"spec_version": version})
    (record,) = start_over_http(api, flow_uuid, phone=[AMINA], extra={"clinic": "Lakeside"})

    stage.work()

    assert [one["text"] for one in api.results("/api/v1/messages.json")] == ["Lakeside, Lakeside"] * len(words)
    assert record["flow_uuid"] == flow_uuid


def test_a_contact_that_another_worker_has_is_started_when_it_is_free(stage: Stage, clock: Clock) -> None:
    amina, ben = stage.add_contact(AMINA), stage.add_contact(BEN)
    with stage.database.writing() as tx:
        acquire_leases(tx, [ben])

    stage.start(store_flow(stage.database, stage.workspace, SURVEY), amina, ben)
    stage.work()
    assert [len(stage.sent_to(each)) for each in (amina, ben)] == [2, 0]
    assert [row.status for row in stage.rows(flow_start)] == ["started"]
    clock.advance(minutes=2)
    stage.work()

    assert [len(stage.sent_to(each)) for each in (amina, ben)] == [2, 2]
    assert [row.status for row in stage.rows(flow_start)] == ["completed"]


def change_name(stage: Stage, person: int) -> None:
    with stage.database.writing() as tx:
        moment = stamped(tx, contact, stage.workspace.id)
        tx.execute(update(contact).where(contact.c.id == person).values(name="Zoe", modified_on=moment))


def lease(stage: Stage, person: int) -> None:
    with stage.database.writing() as tx:
        assert acquire_leases(tx, [person]).contact_ids == {person}


@pytest.mark.parametrize(("meddle", "later", "said"), [(change_name, 2, "Zoe"), (lease, 40, "Ben")])
def test_a_contact_that_others_change_or_take_while_its_sprint_runs_is_started_anew(
    stage: Stage,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
    meddle: Callable[[Stage, int], None],
    later: int,
    said: str,
) -> None:
    greeting = definition("Greeting", [node("hello", [say("Hello @contact.name")])])
    amina, ben = stage.add_contact(AMINA, "Amina"), stage.add_contact(BEN, "Ben")
    run, meddled = SprintRunner.run, []

    def run_beside(runner: SprintRunner, tasks: Sequence[Task], contacts: Mapping[int, Contact]) -> list[Outcome]:
        outcomes = run(runner, tasks, contacts)
        if not meddled:
            meddled.append(ben)
            meddle(stage, ben)
        return outcomes

    monkeypatch.setattr(SprintRunner, "run", run_beside)
    stage.start(store_flow(stage.database, stage.workspace, greeting), amina, ben)
    stage.work()
    assert [stage.sent_to(each) for each in (amina, ben)] == [["Hello Amina"], []]
    clock.advance(seconds=later)
    stage.work()

    assert [stage.sent_to(each) for each in (amina, ben)] == [["Hello Amina"], [f"Hello {said}"]]
    assert [row.status for row in stage.rows(flow_start)] == ["completed"]


def test_who_had_a_lease_that_is_over_records_nothing_after_a_start(stage: Stage, clock: Clock) -> None:
    amina = stage.add_contact(AMINA)
    with stage.database.writing() as tx:
        late = acquire_leases(tx, [amina])
    clock.advance(minutes=1)

    stage.start(store_flow(stage.database, stage.workspace, definition("Bye", [node("bye", [say("Bye")])])), amina)
    stage.work()

    assert stage.sent_to(amina) == ["Bye"]
    with stage.database.writing() as tx:
        assert lock_leased(tx, late) == []


def test_a_contact_that_another_worker_starts_meanwhile_is_started_once(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It ends at once, so that nothing about the contact changes.
    greeting = definition("Greeting", [node("hello", [say("Hello")])])
    amina = stage.add_contact(AMINA)
    run, batches = SprintRunner.run, []

    def run_beside(runner: SprintRunner, tasks: Sequence[Task], contacts: Mapping[int, Contact]) -> list[Outcome]:
        outcomes = run(runner, tasks, contacts)
        if not batches:
            (row,) = stage.rows(flow_start_batch)
            with stage.database.reading() as tx:
                batches.append(find_batch(tx, stage.workspace.id, row.id))
            _start_batch(FlowRunner(stage.runtime), batches[0])
        return outcomes

    monkeypatch.setattr(SprintRunner, "run", run_beside)
    stage.start(store_flow(stage.database, stage.workspace, greeting), amina)
    stage.work()

    assert (stage.sent_to(amina), len(stage.rows(flow_run))) == (["Hello"], 1)
    assert [row.status for row in stage.rows(flow_start)] == ["completed"]


class TestInterruptedRuns:
    """`interrupt_runs` of `/api/v2/flow_start_actions.json`, and what a worker does of it."""

    PHONES = (AMINA, BEN, "+250788000333")

    def interrupt(self, api: Api, *starts: str, action: str = "interrupt_runs") -> None:
        response = api.post("/api/v2/flow_start_actions.json", {"starts": list(starts), "action": action})
        assert response.status_code == 204, response.text

    def start(self, api: Api, stage: Stage) -> str:
        flow_uuid = store_flow(stage.database, stage.workspace, SURVEY)
        people = [uuid_in(stage.database, contact, stage.add_contact(phone)) for phone in self.PHONES]
        made = api.post("/api/v2/flow_starts.json", {"flow": flow_uuid, "contacts": people}).json()
        return str(made["uuid"])

    def test_a_start_alone_is_interrupted_and_who_was_started_goes_on(self, api: Api, stage: Stage) -> None:
        uuid = self.start(api, stage)
        stage.work()

        self.interrupt(api, uuid, action="interrupt")
        stage.work()

        assert [run["exit_type"] for run in api.results(NEWER)] == [None] * 3
        assert stage.rows(flow_start)[0].status == "completed"

    def test_everybody_in_a_run_of_a_finished_start_is_interrupted_page_by_page(
        self, api: Api, stage: Stage, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(batches, "RUNS_AT_ONCE", 2)
        uuid = self.start(api, stage)
        stage.work()
        stage.receive(BEN, "red")
        stage.work()
        other = stage.add_contact("+250788000444")
        stage.start(api.results("/api/v2/flows.json")[0]["uuid"], other)
        stage.work()

        self.interrupt(api, uuid, uuid)
        # The worker that begins ends after its first page, and another one goes on.
        stage.database.write(lambda tx: end_next_runs(tx, stage.workspace.id))
        first = [run["exit_type"] for run in api.results(NEWER)]
        stage.work()

        ends = {run["contact"]["uuid"]: run["exit_type"] for run in api.results(NEWER)}
        (theirs,) = [uuid for uuid, end in ends.items() if end is None]
        assert sorted(str(end) for end in first) == ["None", "completed", "interrupted", "interrupted"]
        assert sorted(str(end) for end in ends.values()) == ["None", "completed", "interrupted", "interrupted"]
        assert theirs == uuid_in(stage.database, contact, other)
        (waiting,) = [each["uuid"] for each in api.results("/api/v2/contacts.json") if each["flow"]]
        assert waiting == theirs

    def test_a_batch_that_was_at_work_brings_nobody_who_stays(
        self, api: Api, stage: Stage, clock: Clock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        uuid = self.start(api, stage)
        perform = FlowRunner.perform_unleased

        def perform_late(*given: Any) -> Any:
            self.interrupt(api, uuid)
            stage.database.write(lambda tx: end_next_runs(tx, stage.workspace.id))
            return perform(*given)

        with monkeypatch.context() as late:
            late.setattr(FlowRunner, "perform_unleased", perform_late)
            begin_starts(stage.runtime)()
        stage.work()

        assert [run["exit_type"] for run in api.results(NEWER)] == ["interrupted"] * 3
        assert stage.rows(flow_start)[0].status == "interrupted"
        clock.moment += batches.LEASE
        stage.work()
        assert [row.ends_runs_until for row in stage.rows(flow_start)] == [None]
