"""Events fire while contacts change: no contact is missed, nothing fires twice, and afterward the schedule is right."""

import random
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from persistence.campaigns.fires import read_timings, update_fires
from persistence.contacts.urns import note_seen
from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.groups.groups import add_members, remove_members
from persistence.tables.campaigns import campaign_fire
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.campaign_rows import fired, make_campaign, make_event, make_group, make_members
from tests.conftest import Clock
from tests.factories import make_field
from worker.jobs import begin_campaigns
from worker.runtime import Runtime

CHANGES, CHANGED_AT_ONCE = 30, 20
DUE_DATE = "2026-03-20T09:30:00+02:00"
DUE = datetime(2026, 3, 21, 7, 30, tzinfo=UTC)


@pytest.fixture
def contact_ids(database: Database, workspace: Workspace) -> list[int]:
    make_field(database, workspace, "Due Date", "datetime")
    make_members(database, workspace, 300, DUE_DATE)
    campaign = make_campaign(database, workspace, "Antenatal")
    for offset in (1, 1, 2):
        make_event(database, workspace, campaign, offset=offset)
    make_event(database, workspace, campaign, relative_to="last_seen_on", unit="hours")
    with database.reading() as tx:
        return list(tx.execute(select(contact.c.id)).scalars())


def choose_change(
    workspace: Workspace, group_id: int, some: Sequence[int], chance: random.Random
) -> Callable[[Transaction], object]:
    another_day = ContactChange(fields={"due_date": f"2026-03-{chance.randrange(20, 28)}T09:30:00+02:00"})
    changes: tuple[Callable[[Transaction], object], ...] = (
        lambda tx: note_seen(tx, workspace.id, some),
        lambda tx: change_contact(tx, workspace, some[0], another_day),
        lambda tx: remove_members(tx, workspace.id, group_id, some),
        lambda tx: add_members(tx, workspace.id, group_id, some),
    )
    return chance.choice(changes)


def unfired(database: Database) -> list[tuple[int, int, datetime]]:
    fires = campaign_fire.c
    statement = select(fires.event_id, fires.contact_id, fires.due_on).where(fires.fired_on.is_(None))
    with database.reading() as tx:
        return sorted((row.event_id, row.contact_id, row.due_on) for row in tx.execute(statement))


def test_changes_and_fires_do_not_get_in_each_others_way(
    database: Database, workspace: Workspace, runtime: Runtime, clock: Clock, contact_ids: list[int]
) -> None:
    group_id = make_group(database, workspace)
    step = begin_campaigns(runtime)
    while step():
        pass
    clock.moment = DUE
    changed, finished = threading.Event(), []

    def fire() -> None:
        while step() or not changed.wait(0.01):
            pass
        finished.append("fired")

    def change(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(CHANGES):
            some = chance.sample(contact_ids, CHANGED_AT_ONCE)
            database.write(choose_change(workspace, group_id, some, chance))
        finished.append("changed")

    firing = [threading.Thread(target=fire) for _ in range(2)]
    changing = [threading.Thread(target=change, args=(seed,)) for seed in range(2)]
    for thread in (*firing, *changing):
        thread.start()
    for thread in changing:
        thread.join()
    changed.set()
    for thread in firing:
        thread.join()

    assert sorted(finished) == ["changed", "changed", "fired", "fired"]
    with database.reading() as tx:
        made = tx.execute(select(func.count()).select_from(message)).scalar_one()
    assert made == len(fired(database)) > 0
    scheduled = unfired(database)
    with database.writing() as tx:
        update_fires(tx, workspace.id, read_timings(tx), contact_ids, since=tx.now)
    assert unfired(database) == scheduled
