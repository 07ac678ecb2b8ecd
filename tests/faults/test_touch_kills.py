"""A flow with many runs gets another name: each run is news with it, even if the worker is killed on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select

from persistence.database import Database
from persistence.definitions.importing import import_definitions
from persistence.sql.columns import new_uuid
from persistence.tables.changes import pending_touch
from persistence.tables.flows import flow
from persistence.tables.runs import flow_run
from persistence.workspaces import Workspace
from testbed.flow_rows import ask, definition, say
from testbed.running import RunningService, forked_service, wait_until
from tests.factories import id_of, make_contact

RUNS, KILLS, PAGE = 1_500, 2, "/api/v2/runs.json"


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path) as running:
        yield running


def name_flow(service: RunningService, name: str) -> None:
    document = {**definition("Survey", [ask("colour", {"red": None}, None, actions=[say("Which?")])]), "name": name}
    service.database.write(lambda tx: import_definitions(tx, service.workspace, document))


def add_runs(database: Database, workspace: Workspace) -> None:
    contact_id = id_of(database, make_contact(database, workspace))
    with database.writing() as tx:
        flow_id = tx.execute(select(flow.c.id)).scalar_one()
        shared = {"workspace_id": workspace.id, "flow_id": flow_id, "contact_id": contact_id, "status": "completed"}
        moments = {"created_on": tx.now, "modified_on": tx.now, "exited_on": tx.now}
        empty: dict[str, Any] = {"results": {}, "path": [], "visits": []}
        tx.execute(insert(flow_run), [{"uuid": new_uuid(), **shared, **moments, **empty} for _ in range(RUNS)])


def left(database: Database) -> int:
    with database.reading() as tx:
        newest = select(func.max(flow.c.modified_on)).scalar_subquery()
        return int(tx.execute(select(func.count()).where(flow_run.c.modified_on < newest)).scalar_one())


def test_each_run_is_news_though_the_worker_is_killed_amid_them(service: RunningService) -> None:
    database = service.database
    name_flow(service, "Survey")
    add_runs(database, service.workspace)
    service.kill("worker")

    newest = service.get(PAGE)["results"][0]["modified_on"]
    remaining = []

    for turn in range(KILLS):
        name_flow(service, f"Survey {turn}")
        assert left(database) == RUNS
        service.start("worker")
        wait_until(lambda: left(database) < RUNS, "the worker to begin")
        service.kill("worker")
        remaining.append(left(database))
    service.start("worker")

    def is_done() -> bool:
        with database.reading() as tx:
            return tx.execute(select(pending_touch.c.id)).first() is None

    wait_until(is_done, "the worker to end")
    oldest = service.get(PAGE, reverse="true", after=newest)["results"]
    assert max(remaining) > 0, "the worker was never killed on the way"
    assert left(database) == 0
    assert {each["flow"]["name"] for each in oldest} == {f"Survey {KILLS - 1}"}
    assert min(each["modified_on"] for each in oldest) > newest
