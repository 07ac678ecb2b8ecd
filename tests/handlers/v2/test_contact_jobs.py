"""`contact_jobs.json` over HTTP, with the worker that does them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, select, update

from persistence.contacts import jobs as contact_jobs
from persistence.data_jobs import LeaseLost, Performer, take_next
from persistence.database import Database
from persistence.media.store import open_store
from persistence.tables.contacts import contact, group
from persistence.tables.data_jobs import contact_job
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.contract.documents import document
from tests.factories import make_contact, make_messages, make_named

JOBS, ACTIONS, CONTACTS, GROUPS = (
    f"/api/v2/{name}.json" for name in ("contact_jobs", "contact_job_actions", "contacts", "groups")
)
EVERYBODY = "tel ~ 250"


class Desk:
    """The jobs of a workspace, and a worker that does them a few contacts at a time."""

    def __init__(self, api: Api, settings: Any) -> None:
        self.api, self.store = api, open_store(settings)

    def work(self, note: Callable[[int, int], None] = lambda _done, _count: None) -> None:
        database, workspace_id = self.api.database, self.api.workspace.id
        while (held := database.write(lambda tx: take_next(tx, workspace_id))) is not None:
            Performer(database, self.store, note=note).perform(held)

    def make(self, **body: Any) -> str:
        made = self.api.post(JOBS, body)
        assert made.status_code == 201, made.text
        return str(made.json()["uuid"])

    def show(self, uuid: str) -> Any:
        (shown,) = self.api.results(JOBS, uuid=uuid)
        return shown

    def cancel(self, uuid: str) -> int:
        return int(self.api.post(ACTIONS, {"job": uuid, "action": "cancel"}).status_code)


@pytest.fixture
def desk(api: Api, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr(contact_jobs, "AT_ONCE", 2)
    monkeypatch.setattr(contact_jobs, "LOOKED_AT", 3)
    return Desk(api, settings)


@pytest.fixture
def people(database: Database, workspace: Workspace) -> list[str]:
    return [make_contact(database, workspace, f"+25078800011{number}") for number in range(7)]


@pytest.fixture
def reporters(database: Database, workspace: Workspace) -> str:
    return make_named(database, workspace, group, ["Reporters"])[0]


def test_all_who_match_join_a_group_and_those_who_cannot_are_counted(
    desk: Desk, api: Api, people: list[str], reporters: str
) -> None:
    api.post("/api/v2/contact_actions.json", {"contacts": people[:1], "action": "block"})
    query = f"{EVERYBODY} AND (status = active OR status = blocked)"
    uuid = desk.make(action="add", group="REPORTERS", query=query)
    before = desk.show(uuid)
    seen: list[tuple[int, int]] = []

    desk.work(lambda done, count: seen.append((done, count)))

    done = desk.show(uuid)
    assert (before["status"], before["total"], before["done"]) == ("pending", None, 0)
    assert {name: done[name] for name in ("action", "group", "status", "total", "done", "skipped", "error")} == {
        "action": "add",
        "group": reporters,
        "status": "completed",
        "total": 7,
        "done": 6,
        "skipped": {"not_active": 1},
        "error": None,
    }
    assert (done["filters"], done["finished_on"] is not None) == ({"query": query}, True)
    assert api.results(GROUPS, uuid=reporters)[0]["count"] == 6
    assert seen[-1] == (7, 7) and len(seen) > 3

    out = desk.make(action="remove", group=reporters, members_of=reporters)
    desk.work()
    assert [desk.show(out)[name] for name in ("total", "done", "status")] == [6, 6, "completed"]
    assert api.results(GROUPS, uuid=reporters)[0]["count"] == 0


@pytest.mark.parametrize(
    ("action", "left"), [("block", "blocked"), ("delete", None), ("interrupt", "active"), ("answer_again", "active")]
)
def test_a_job_does_what_the_action_on_chosen_contacts_does(
    desk: Desk, api: Api, people: list[str], action: str, left: str | None
) -> None:
    uuid = desk.make(action=action, query=EVERYBODY)
    desk.work()

    assert [desk.show(uuid)[name] for name in ("status", "total", "done")] == ["completed", 7, 7]
    assert {each["status"] for each in api.results(CONTACTS)} == ({left} if left else set())
    if action == "block":
        back = desk.make(action="unblock", query="status = blocked")
        desk.work()
        assert desk.show(back)["done"] == 7
        assert {each["status"] for each in api.results(CONTACTS)} == {"active"}


def test_messages_of_those_who_match_are_archived_and_brought_back(
    desk: Desk, api: Api, database: Database, workspace: Workspace, people: list[str], reporters: str
) -> None:
    for each in people[:3]:
        make_messages(database, workspace, each, 1)
    api.post("/api/v2/contact_actions.json", {"contacts": people[:2], "action": "add", "group": reporters})

    uuid = desk.make(action="archive_messages", members_of="Reporters", query=f"uuid != {people[0]}")
    desk.work()

    archived = {each["contact"]["uuid"] for each in api.results("/api/v2/messages.json", folder="archived")}
    assert (archived, desk.show(uuid)["done"]) == ({people[1]}, 1)

    back = desk.make(action="restore_messages", query=EVERYBODY)
    desk.work()
    assert (api.results("/api/v2/messages.json", folder="archived"), desk.show(back)["done"]) == ([], 7)
    assert len(api.results("/api/v2/messages.json", folder="inbox")) == 3


def test_jobs_know_all_actions_on_chosen_contacts_by_one_name_each() -> None:
    schemas = document("v2/openapi.yaml")["components"]["schemas"]
    chosen, matching = (set(schemas[name]["enum"]) for name in ("ContactActionName", "ContactJobActionName"))
    assert chosen - matching == {"archive"} and matching <= chosen


def test_a_contact_must_match_when_it_is_its_turn_and_new_ones_are_left_out(
    desk: Desk, api: Api, database: Database, people: list[str]
) -> None:
    """The others of the query are already done when one of them stops to match."""
    uuid = desk.make(action="block", query=f"{EVERYBODY} AND language != kin")

    def change(done: int, _count: int) -> None:
        if done == 2:
            assert api.post(CONTACTS, {"language": "kin"}, uuid=people[-1]).status_code == 200
            assert api.post(CONTACTS, {"urns": ["tel:+250788999999"]}).status_code == 201

    desk.work(change)

    assert [desk.show(uuid)[name] for name in ("status", "total", "done")] == ["completed", 7, 6]
    active = {each["uuid"] for each in api.results(CONTACTS) if each["status"] == "active"}
    assert people[-1] in active and len(active) == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL knows how many there are
def test_a_part_reads_no_contacts_but_those_of_its_range(desk: Desk, database: Database, people: list[str]) -> None:
    desk.make(action="block", query=EVERYBODY)
    seen: dict[str, Any] = {}

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        if statement.startswith(("SELECT", "UPDATE")) and not re.search(r"count\(|max\(", statement):
            seen.setdefault(statement, values)

    event.listen(database.engine, "before_cursor_execute", note)
    desk.work()
    event.remove(database.engine, "before_cursor_execute", note)

    with database.engine.connect() as connection:
        explained = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {each}", seen[each]).all() for each in seen]
    steps = [str(row[-1]) for plan in explained for row in plan if re.search(r" contact\b", str(row[-1]))]
    assert steps and all("PRIMARY KEY" in step for step in steps), steps


def test_a_job_is_cancelled_at_once_and_what_was_done_stays(desk: Desk, api: Api, people: list[str]) -> None:
    uuid = desk.make(action="block", query=EVERYBODY)
    answers: list[int] = []
    desk.work(lambda done, _count: answers.append(desk.cancel(uuid)) if done == 2 else None)

    cancelled = desk.show(uuid)
    assert answers == [200]
    assert [cancelled[name] for name in ("status", "total", "done")] == ["cancelled", 7, 2]
    assert sum(each["status"] == "blocked" for each in api.results(CONTACTS)) == 2
    assert desk.cancel(uuid) == 400


def test_a_worker_that_lost_its_lease_stores_nothing(
    desk: Desk, api: Api, database: Database, workspace: Workspace, people: list[str]
) -> None:
    uuid = desk.make(action="block", query=EVERYBODY)
    slow = database.write(lambda tx: take_next(tx, workspace.id))
    assert slow is not None and database.write(lambda tx: take_next(tx, workspace.id)) is None
    with database.writing() as tx:
        tx.execute(update(contact_job).values(leased_until=None))
    desk.work(lambda done, _count: _lose(desk, slow, workspace) if done == 4 else None)

    assert [desk.show(uuid)[name] for name in ("status", "done")] == ["completed", 7]
    assert {each["status"] for each in api.results(CONTACTS)} == {"blocked"}


def _lose(desk: Desk, held: Any, workspace: Workspace) -> None:
    with pytest.raises(LeaseLost):
        contact_jobs.run_job(desk.api.database, held, workspace, lambda: False, lambda _done, _count: None)


@pytest.mark.parametrize("what", ["target", "source", "query"])
def test_a_job_whose_group_or_query_is_gone_fails_and_does_no_more(
    desk: Desk, api: Api, database: Database, people: list[str], reporters: str, what: str
) -> None:
    mothers = api.post(GROUPS, {"name": "Mothers"}).json()["uuid"]
    api.post("/api/v2/contact_actions.json", {"contacts": people, "action": "add", "group": mothers})
    uuid = desk.make(action="add", group=reporters, members_of=mothers, query=EVERYBODY)
    if what == "query":  # as an erasure leaves it
        with database.writing() as tx:
            filters = tx.execute(select(contact_job.c.filters)).scalar_one()
            tx.execute(update(contact_job).values(filters={**filters, "query": ""}))
    else:
        api.delete(GROUPS, uuid=reporters if what == "target" else mothers)

    desk.work()

    failed = desk.show(uuid)
    assert (failed["status"], failed["done"], bool(failed["error"])) == ("failed", 0, True)
    with database.reading() as tx:
        assert set(tx.execute(select(contact.c.status)).scalars()) == {"active"}


def test_only_what_can_be_done_is_accepted(desk: Desk, api: Api, reporters: str) -> None:
    smart = api.post(GROUPS, {"name": "Adults", "query": "language = eng"}).json()["uuid"]
    for body in (
        {"action": "block"},
        {"action": "block", "query": " "},
        {"action": "block", "query": "("},
        {"action": "block", "members_of": "Nobody"},
        {"action": "add", "query": EVERYBODY},
        {"action": "add", "query": EVERYBODY, "group": smart},
        {"action": "block", "query": EVERYBODY, "group": reporters},
        {"action": "archive", "query": EVERYBODY},
    ):
        assert api.post(JOBS, body).status_code == 400, body
    assert api.results(JOBS) == []
    limit = contact_jobs.UNFINISHED_LIMIT
    answers = [api.post(JOBS, {"action": "block", "query": EVERYBODY}).status_code for _ in range(limit + 1)]
    assert answers == [201] * limit + [409]


def test_agents_delete_nobody_and_see_their_own_jobs(desk: Desk, api: Api, other_api: Api, people: list[str]) -> None:
    agent = api.as_role("agent")
    of_editor = desk.make(action="block", query="name = a")

    assert agent.post(JOBS, {"action": "delete", "query": EVERYBODY}).status_code == 403
    own = agent.post(JOBS, {"action": "block", "query": EVERYBODY}).json()["uuid"]

    assert [each["uuid"] for each in agent.results(JOBS)] == [own]
    assert other_api.results(JOBS) == []
    for stranger in (agent, other_api):
        assert stranger.post(ACTIONS, {"job": of_editor, "action": "cancel"}).status_code == 400
    assert desk.show(of_editor)["status"] == "pending"
