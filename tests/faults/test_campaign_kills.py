"""Campaign events reach every contact once, even if the worker that schedules and fires them is killed."""

import random
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select, update

from persistence.database import Database
from persistence.tables.campaigns import IS_UNFIRED, campaign_event, campaign_fire
from persistence.tables.contacts import contact, field, group_membership
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from testbed.running import RunningService, forked_service, wait_until
from tests.campaign_rows import make_campaign, make_event, make_group
from tests.factories import make_contacts, make_field
from tests.thinned import EVERY_CASE

CONTACTS, EVENTS, KILLS = (1_500, 3, 4) if EVERY_CASE else (700, 2, 1)
LONGEST_PAUSE_SECONDS = 0.2


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path) as running:
        yield running


def make_members(database: Database, workspace: Workspace) -> list[int]:
    """Contacts in the campaign's group whose date was a day and an hour ago; returns their ids."""
    make_field(database, workspace, "Due Date", "datetime")
    group_id = make_group(database, workspace)
    make_contacts(database, workspace, CONTACTS)
    with database.writing() as tx:
        moment = (tx.now - timedelta(days=1, hours=1)).isoformat()
        uuid = tx.execute(select(field.c.uuid)).scalar_one()
        tx.execute(update(contact).values(fields={uuid: {"text": moment, "datetime": moment}}))
        ids = list(tx.execute(select(contact.c.id)).scalars())
        mine = {"workspace_id": workspace.id, "group_id": group_id}
        tx.execute(insert(group_membership), [{**mine, "contact_id": one} for one in ids])
    return ids


def make_late_events(database: Database, workspace: Workspace) -> None:
    """Events that have waited for a worker for two days, so that they are an hour late for everybody."""
    campaign = make_campaign(database, workspace, "Antenatal")
    for number in range(EVENTS):
        make_event(database, workspace, campaign, message={"eng": f"{number} for @contact.uuid"})
    with database.writing() as tx:
        before = tx.now - timedelta(days=2)
        tx.execute(update(campaign_event).values(scheduling_since=before, timed_on=before))


def progress(service: RunningService) -> tuple[int, int]:
    """How many fires there are, and how many of them have fired."""
    with service.database.reading() as tx:
        total = tx.execute(select(func.count()).select_from(campaign_fire)).scalar_one()
        waiting = tx.execute(select(func.count()).select_from(campaign_fire).where(IS_UNFIRED)).scalar_one()
    return total, total - waiting


def has_died(service: RunningService) -> bool:
    """Whether a pass or a fire has begun again: a third death, wherever the progress was, would give it up."""
    with service.database.reading() as tx:
        counts = (select(func.max(each.c.attempts)).scalar_subquery() for each in (campaign_event, campaign_fire))
        return max(tx.execute(select(func.coalesce(count, 0))).scalar_one() for count in counts) > 1


def kill_amid_work(service: RunningService, chance: random.Random) -> int:
    """SIGKILL to the worker at random moments, each time after it has made progress; how often."""
    kills = 0
    everything = (CONTACTS * EVENTS, CONTACTS * EVENTS)
    while (before := progress(service)) != everything:
        wait_until(lambda before=before: progress(service) != before, "the worker to make progress")
        threading.Event().wait(chance.uniform(0, LONGEST_PAUSE_SECONDS))
        if kills < KILLS and not has_died(service):
            service.kill("worker")
            service.start("worker")
            kills += 1
    return kills


def test_nobody_is_left_out_and_nobody_gets_two_though_the_worker_is_killed(service: RunningService) -> None:
    database, workspace = service.database, service.workspace
    ids = make_members(database, workspace)

    make_late_events(database, workspace)
    kills = kill_amid_work(service, random.Random(11))

    with database.reading() as tx:
        made = Counter(tx.execute(select(message.c.contact_id)).scalars())
        texts = tx.execute(select(func.count(message.c.text.distinct()))).scalar_one()
    assert kills >= max(1, KILLS - 1)
    assert made == Counter(dict.fromkeys(ids, EVENTS))
    assert texts == CONTACTS * EVENTS
