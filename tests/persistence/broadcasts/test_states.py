"""Each state of broadcasts is found by an index of its own, however many there are in other states."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, insert, select, text

from persistence.broadcasts.expansion import expand_next, list_broadcasting_workspaces
from persistence.broadcasts.records import HAS_BEGUN, IS_SCHEDULED
from persistence.broadcasts.schedules import begin_next
from persistence.database import Database, Transaction
from persistence.sql.columns import new_uuid
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace
from testbed.poolers import without_settings
from tests.api import Api
from tests.contract.test_plans import plan_nodes

LISTS = ("/api/v2/broadcasts.json", "/api/v1/broadcasts.json")
MANY = 2000
EMPTY: dict[str, Any] = {"urns": [], "attachments": {}, "files": {}, "quick_replies": {}}
Seen = list[tuple[str, Any]]


class Dropped(Exception):
    """What was done is not stored, so that the next work finds the same."""


@pytest.fixture
def filled(database: Database, workspace: Workspace) -> Workspace:
    """Broadcasts of which each second one waits and one goes on."""
    with database.writing() as tx:
        rows = [
            EMPTY
            | {"workspace_id": workspace.id, "uuid": new_uuid(), "text": {"eng": "Hi"}, "base_language": "eng"}
            | {"status": "pending" if number % 2 or number == 0 else "completed"}
            | {"scheduled_on": tx.now + timedelta(days=1) if number % 2 else None}
            | {"created_on": tx.now + timedelta(seconds=number - MANY), "modified_on": tx.now}
            for number in range(MANY)
        ]
        tx.execute(insert(broadcast), rows)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    return workspace


@pytest.fixture
def asked(database: Database) -> Seen:
    seen: Seen = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        alone = without_settings(statement)
        if alone.startswith(("SELECT", "WITH", "UPDATE")) and "broadcast" in alone:
            seen.append((alone, values))

    event.listen(database.engine, "before_cursor_execute", note)
    return seen


def indexes(database: Database, asked: Seen) -> set[str]:
    """By which indexes broadcasts are found. Those that are found may then be read in any way: these are few."""
    found: set[str] = set()
    with database.engine.connect() as connection:
        for statement, values in list(asked):
            if database.sqlite:
                steps = [str(row[-1]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]
                steps = [step for step in steps if re.match(r"(SCAN|SEARCH) broadcast\b", step)]
                found |= {name for step in steps for name in re.findall(r"\bix_\w+", step)}
            else:
                plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", values).scalar_one()
                nodes = list(plan_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
                nodes = [node for node in nodes if node.get("Relation Name") == "broadcast"]
                found |= {node["Index Name"] for node in nodes if "Index Name" in node}
    return {name for name in found if name.startswith("ix_")}


def test_a_broadcast_is_in_one_of_two_lists(database: Database, filled: Workspace) -> None:
    with database.reading() as tx:
        found = [set(tx.execute(select(broadcast.c.id).where(each)).scalars()) for each in (HAS_BEGUN, IS_SCHEDULED)]

    assert [len(each) for each in found] == [MANY // 2, MANY // 2]
    assert not found[0] & found[1]


@pytest.mark.plans
@pytest.mark.together
@pytest.mark.parametrize("path", LISTS)
def test_what_waits_is_not_read_by_the_list_of_what_began(
    api: Api, database: Database, filled: Workspace, asked: Seen, path: str
) -> None:
    asked.clear()
    assert len(api.results(path)) == 250

    assert indexes(database, asked) == {"ix_broadcast_begun"}


@pytest.mark.plans
def test_what_began_is_not_read_by_the_list_of_what_waits(
    api: Api, database: Database, filled: Workspace, asked: Seen
) -> None:
    first = api.get(LISTS[0], scheduled="true").json()
    assert len(api.follow(first["next"]).json()["results"]) == 250

    assert indexes(database, asked) == {"ix_broadcast_scheduled"}


@pytest.mark.plans
@pytest.mark.together
@pytest.mark.parametrize(
    ("work", "names"),
    [
        (lambda tx, _: list_broadcasting_workspaces(tx), {"ix_broadcast_going", "ix_broadcast_due"}),
        (begin_next, {"ix_broadcast_due"}),
        (expand_next, {"ix_broadcast_going"}),
    ],
)
def test_a_worker_reads_neither_what_waits_nor_what_is_done(
    database: Database,
    filled: Workspace,
    asked: Seen,
    work: Callable[[Transaction, int], object],
    names: set[str],
) -> None:
    asked.clear()
    with suppress(Dropped), database.writing() as tx:
        work(tx, filled.id)
        raise Dropped

    assert indexes(database, asked) == names
