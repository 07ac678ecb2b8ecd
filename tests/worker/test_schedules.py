"""Schedules start their flows at their times, once, whatever the clock does."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select

from persistence.contacts.writes import ContactChange, create_contact
from persistence.database import Database
from persistence.flow_starts.batches import expand_start
from persistence.flows.records import archive_flow
from persistence.groups.groups import create_group
from persistence.tables.campaigns import trigger
from persistence.tables.flows import flow_start
from persistence.triggers.records import SCHEDULE, NewTrigger, create_trigger, set_archived
from persistence.workspaces.records import Workspace
from tests.conftest import Clock
from tests.run_rows import add_flow, add_people
from worker.jobs import begin_schedules
from worker.runtime import Runtime


@pytest.fixture
def run(runtime: Runtime) -> Callable[[], None]:
    step = begin_schedules(runtime)

    def run_all() -> None:
        while step():
            pass

    return run_all


@pytest.fixture
def group_id(database: Database, workspace: Workspace) -> int:
    with database.writing() as tx:
        return create_group(tx, workspace.id, "Mothers")


def add_schedule(database: Database, workspace: Workspace, clock: Clock, **values: Any) -> int:
    """A schedule of a new flow that is due in an hour."""
    flow_id = add_flow(database, workspace)
    with database.writing() as tx:
        due_on = clock.moment + timedelta(hours=1)
        new = NewTrigger(SCHEDULE, flow_id, **{"repeat": "daily", "next_fire_on": due_on} | values)
        return create_trigger(tx, workspace.id, new)


def starts(database: Database) -> list[Any]:
    with database.reading() as tx:
        return list(tx.execute(select(flow_start).order_by(flow_start.c.id)).all())


def taken(database: Database) -> list[int]:
    """The contacts that the first start takes."""
    with database.writing() as tx:
        return sorted(expand_start(tx, tx.execute(select(flow_start)).first()))


def next_due(database: Database) -> Any:
    with database.reading() as tx:
        return tx.execute(select(trigger.c.next_fire_on)).scalar_one()


def test_nothing_starts_before_its_time(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    add_schedule(database, workspace, clock, group_ids=frozenset({group_id}))
    clock.advance(minutes=59)

    run()

    assert starts(database) == []


def test_a_schedule_starts_its_flow_once_and_comes_again(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    add_schedule(database, workspace, clock, group_ids=frozenset({group_id}))
    first = next_due(database)
    clock.advance(hours=1)

    run()
    run()

    assert [(row.start_type, row.status) for row in starts(database)] == [("trigger", "pending")]
    assert next_due(database) == first + timedelta(days=1)


def test_times_that_were_missed_are_made_up_for_once(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    add_schedule(database, workspace, clock, group_ids=frozenset({group_id}))
    clock.advance(days=10)

    run()

    assert len(starts(database)) == 1
    assert next_due(database) > clock.moment


def test_a_schedule_without_repeat_ends(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    add_schedule(database, workspace, clock, group_ids=frozenset({group_id}), repeat="never")
    clock.advance(hours=1)

    run()

    assert len(starts(database)) == 1
    assert next_due(database) is None


@pytest.mark.parametrize("what", ["trigger", "flow"])
def test_what_is_archived_starts_nothing(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None], what: str
) -> None:
    trigger_id = add_schedule(database, workspace, clock, group_ids=frozenset({group_id}))
    if what == "trigger":
        with database.writing() as tx:
            set_archived(tx, workspace.id, [trigger_id], is_archived=True)
    else:
        with database.reading() as tx:
            flow_id = tx.execute(select(trigger.c.flow_id)).scalar_one()
        archive_flow(database, workspace.id, flow_id)
    clock.advance(hours=1)

    run()

    assert starts(database) == []


def test_any_number_of_contacts_may_be_chosen_where_others_are_left_out(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    people = add_people(database, workspace, 300)
    add_schedule(database, workspace, clock, contact_ids=frozenset(people), excluded_group_ids=frozenset({group_id}))
    clock.advance(hours=1)

    run()

    assert taken(database) == people


def test_contacts_of_excluded_groups_are_left_out(
    database: Database, workspace: Workspace, clock: Clock, group_id: int, run: Callable[[], None]
) -> None:
    with database.writing() as tx:
        away = create_group(tx, workspace.id, "Away")
        people = {
            name: create_contact(tx, workspace, ContactChange(name=name, group_ids=groups))
            for name, groups in (("Amina", [group_id]), ("Bosco", [group_id, away]), ("Chantal", []), ("David", []))
        }
    ids = {"group_ids": frozenset({group_id}), "excluded_group_ids": frozenset({away})}
    add_schedule(database, workspace, clock, **ids, contact_ids=frozenset({people["Chantal"]}))
    clock.advance(hours=1)

    run()

    assert taken(database) == [people["Amina"], people["Chantal"]]
