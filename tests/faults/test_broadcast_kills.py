"""Broadcasts to groups reach every contact once, even if the worker that creates the messages is killed."""

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, insert, select, update

from persistence.broadcasts.records import COMPLETED
from persistence.database import Database
from persistence.tables.contacts import contact, contact_urn, group, group_membership
from persistence.tables.messages import QUEUED, broadcast, message
from persistence.workspaces.records import Workspace
from testbed.running import RunningService, forked_service, wait_until
from tests.channel_rows import add_channel
from tests.factories import make_contacts, make_named
from tests.thinned import EVERY_CASE

CONTACTS, GROUPS, REPEATING = 2_000, 4, 8
BROADCASTS, KILLS = (2, 4) if EVERY_CASE else (1, 1)
LONGEST_PAUSE_SECONDS = 0.2


@pytest.fixture
def service(database_url: str, tmp_path: Path) -> Iterator[RunningService]:
    with forked_service(database_url, tmp_path) as running:
        yield running


def make_members(database: Database, workspace: Workspace) -> tuple[list[int], list[str]]:
    """Contacts with a phone number, each in one or two groups; their ids and the uuids of the groups."""
    make_contacts(database, workspace, CONTACTS)
    uuids = make_named(database, workspace, group, [f"Group {number}" for number in range(GROUPS)])
    with database.writing() as tx:
        ids = list(tx.execute(select(contact.c.id).order_by(contact.c.id)).scalars())
        address = {"workspace_id": workspace.id, "scheme": "tel"}
        urns = [address | {"contact_id": one, "path": f"+2507{one:08}"} for one in ids]
        tx.execute(insert(contact_urn), urns)
        groups = list(tx.execute(select(group.c.id).where(group.c.uuid.in_(uuids))).scalars())
        homes = {(groups[one % GROUPS], one) for one in ids} | {(groups[one % 3], one) for one in ids}
        mine = {"workspace_id": workspace.id}
        members = [{**mine, "group_id": home, "contact_id": one} for home, one in sorted(homes)]
        tx.execute(insert(group_membership), members)
    return ids, uuids


def progress(service: RunningService) -> tuple[int, bool]:
    """Messages made so far, and whether all broadcasts are completed."""
    with service.database.reading() as tx:
        rows = tx.execute(select(broadcast.c.started, broadcast.c.status)).all()
    return sum(row.started for row in rows), all(row.status == COMPLETED for row in rows)


def has_died(service: RunningService) -> bool:
    """Whether a part has begun again: a third death, wherever the progress was, would give its broadcast up."""
    with service.database.reading() as tx:
        return tx.execute(select(func.max(broadcast.c.attempts))).scalar_one() > 1


def kill_amid_work(service: RunningService, chance: random.Random, write: Callable[[], None]) -> None:
    """SIGKILL to the worker at random moments, until enough of them left work undone; `write` gives it more."""
    hits = 0
    while hits < KILLS:
        made, is_done = progress(service)
        if is_done:
            write()
        wait_until(lambda made=made: progress(service)[0] > made and not has_died(service), "the worker to get on")
        threading.Event().wait(chance.uniform(0, LONGEST_PAUSE_SECONDS))
        service.kill("worker")
        hits += not progress(service)[1]
        service.start("worker")
    wait_until(lambda: progress(service)[1], "the worker to end")


def test_nobody_is_left_out_and_nobody_gets_two_though_the_worker_is_killed(service: RunningService) -> None:
    database, workspace = service.database, service.workspace
    add_channel(database, workspace)
    ids, groups = make_members(database, workspace)
    body = {"text": "Hi @contact.urn", "groups": groups, "urns": ["tel:+250799999999"]}
    records: list[dict[str, Any]] = []

    def write() -> None:
        records.append(service.post("/api/v2/broadcasts.json", body))

    for _ in range(BROADCASTS):
        write()

    kill_amid_work(service, random.Random(7), write)

    with database.reading() as tx:
        made = Counter(tx.execute(select(message.c.broadcast_id, message.c.contact_id)).tuples())
        everybody = set(tx.execute(select(contact.c.id)).scalars())
        texts = tx.execute(select(func.count(message.c.text.distinct()))).scalar_one()
        unsent = select(func.count()).select_from(message).where(message.c.status == QUEUED)
        queued = tx.execute(unsent).scalar_one()
    assert everybody > set(ids)
    assert made == Counter({(record["id"], one): 1 for record in records for one in everybody})
    assert (texts, queued) == (len(everybody), made.total())
    shown = service.get("/api/v2/broadcasts.json")["results"]
    assert [one["progress"] for one in shown] == [{"total": len(everybody), "started": len(everybody)}] * len(records)


def make_due(service: RunningService) -> None:
    """As if nobody had worked for three days."""
    with service.database.writing() as tx:
        rows, due_on = broadcast.c, tx.now - timedelta(days=3)
        due = update(broadcast).where(rows.repeat.is_not(None))
        tx.execute(due.values(created_on=tx.now - timedelta(days=9), scheduled_on=due_on, time_of_day=due_on.time()))


def turns(service: RunningService) -> tuple[Counter[int], Counter[int], bool]:
    """How often each repeated by its own account, how many it has made, and whether all wait for a time to come."""
    rows = broadcast.c
    with service.database.reading() as tx:
        repeating = tx.execute(select(rows.id, rows.repeated, rows.scheduled_on).where(rows.repeat.is_not(None))).all()
        made = Counter(tx.execute(select(rows.parent_id).where(rows.parent_id.is_not(None))).scalars())
        wait = all(row.scheduled_on > tx.now for row in repeating)
    return Counter({row.id: row.repeated for row in repeating}), made, wait


def test_each_time_of_what_repeats_comes_once_though_both_of_two_workers_are_killed(service: RunningService) -> None:
    add_channel(service.database, service.workspace)
    soon = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    body = {"text": "Hi", "urns": ["tel:+250799999999"], "scheduled_on": soon, "repeat": "daily"}
    ids = [service.post("/api/v2/broadcasts.json", body)["id"] for _ in range(REPEATING)]
    service.start("worker two")
    chance = random.Random(11)
    for worker in ("worker", "worker two"):
        make_due(service)
        threading.Event().wait(chance.uniform(0, LONGEST_PAUSE_SECONDS))
        service.kill(worker)
        service.start(worker)
        wait_until(lambda: turns(service)[2], "each to have repeated")

    repeated, made, _ = turns(service)
    assert repeated == made == Counter(dict.fromkeys(ids, 2))
    wait_until(lambda: progress(service)[0] == made.total(), "all messages to be made")
