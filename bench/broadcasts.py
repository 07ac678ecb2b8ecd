"""`python -m bench.broadcasts`: messages per second that workers create from broadcasts to groups, on PostgreSQL.

Two worker processes expand broadcasts to 100,000 contacts in ten groups that overlap. It also prints, for each rate,
the ratio to a bare bulk insert of as many rows, and the memory of the workers early and at its peak.
"""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.progress import Progress
from sqlalchemy import func, insert, select, text

from bench.data import Row, contact_rows, urn_rows, write_rows
from bench.soak import family
from channels.types import RELAYER
from persistence.broadcasts.records import COMPLETED, NewBroadcast, create_broadcast
from persistence.contacts.audience import Audience
from persistence.database import Database
from persistence.groups.groups import create_group
from persistence.migrations import upgrade
from persistence.secrets.encryption import KeyRing
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_urn, group_membership
from persistence.tables.messages import broadcast, message
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import Settings, load_settings
from testbed.servers import postgres_database, postgres_server
from worker.app import make_wake

GROUPS = 10
ALSO_IN_NEXT = 4
"""Every fourth contact is in two groups."""
BARE_BATCH = 1000
ROUNDS = 3
PATIENCE_SECONDS = 300.0
PLAIN = "The clinic is closed on Monday. Bring your card on Tuesday."
PERSONAL = "Dear @contact.first_name, the clinic is closed on Monday."


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.broadcasts", description=__doc__)
    parser.add_argument("--contacts", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    # Interrupting the benchmark also ends its workers and its database.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory(prefix="bench") as folder, postgres() as url:
        run(url, Path(folder), options.contacts, options.workers)
    return 0


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    with postgres_server(is_durable=True) as server, postgres_database(server) as url:
        yield url


def run(url: str, folder: Path, contacts: int, workers: int) -> None:
    """Build the contacts, then measure each case in rounds that alternate with the bare insert."""
    environment = {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": "used-by-benchmarks-only",
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
    }
    settings: Settings = load_settings(environment)
    database = Database(url, wake=make_wake(settings), keys=KeyRing.of(settings))
    upgrade(database.engine)
    workspace_id, groups = build(database, contacts)
    half = GROUPS // 2
    cases = (
        ("one broadcast, plain text", PLAIN, [groups]),
        ("one broadcast, with expressions", PERSONAL, [groups]),
        ("two at once, plain text", PLAIN, [groups[:half], groups[half:]]),
    )
    print(f"{'':34}{'ours/s':>9}{'bare/s':>9}{'ratio':>8}   worker memory early, peak (MB)")
    with running_workers(environment, folder, workers) as processes:
        for name, words, targets in cases:
            ours, bare, memory = [], [], ""
            for _ in range(ROUNDS):
                bare.append(insert_bare(database, workspace_id, contacts))
                rate, memory = expand(database, workspace_id, words, targets, processes)
                ours.append(rate)
            rates = statistics.median(ours), statistics.median(bare)
            print(f"{name:34}{rates[0]:9,.0f}{rates[1]:9,.0f}{rates[0] / rates[1]:8.2f}   {memory}", flush=True)
    database.close()


def build(database: Database, contacts: int) -> tuple[int, list[int]]:
    """A workspace with a phone and contacts in groups; returns the ids of the workspace and the groups."""
    with database.writing() as tx:
        workspace = create_workspace(tx, "Benchmark", country="RW", timezone="Africa/Kigali")
        phone = {"type": RELAYER, "name": "Phone", "address": "+250788000000", "country": "RW", "schemes": ["tel"]}
        times = {"created_on": tx.now, "last_seen": tx.now}
        tx.execute(insert(channel).values(workspace_id=workspace.id, **phone, **times))
        groups = [create_group(tx, workspace.id, f"Group {number}") for number in range(GROUPS)]
    members = contacts + contacts // ALSO_IN_NEXT
    with Progress(transient=True) as progress:
        write_rows(database, contact, contact_rows(workspace.id, contacts), contacts, progress, "contacts")
        write_rows(database, contact_urn, urn_rows(workspace.id, contacts), contacts, progress, "URNs")
        write_rows(
            database, group_membership, member_rows(workspace.id, groups, contacts), members, progress, "members"
        )
    with database.writing() as tx:
        tx.execute(text("ANALYZE"))
    return workspace.id, groups


def member_rows(workspace_id: int, groups: Sequence[int], contacts: int) -> Iterator[Row]:
    for number in range(contacts):
        home = number * len(groups) // contacts
        member = {"workspace_id": workspace_id, "contact_id": number + 1}
        yield member | {"group_id": groups[home]}
        if number % ALSO_IN_NEXT == 0:
            yield member | {"group_id": groups[(home + 1) % len(groups)]}


def insert_bare(database: Database, workspace_id: int, count: int) -> float:
    """Rows per second of a plain bulk insert of such messages, one transaction per thousand rows."""
    seconds = 0.0
    for start in range(0, count, BARE_BATCH):
        with database.writing() as tx:
            rows = [message_row(workspace_id, number, tx.now) for number in range(start, start + BARE_BATCH)]
            began = time.monotonic()
            tx.execute(insert(message), rows)
        seconds += time.monotonic() - began
    return count / seconds


def message_row(workspace_id: int, number: int, moment: object) -> Row:
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "contact_id": number + 1,
        "urn": f"tel:+2507{number:08}",
        "channel_id": 1,
        "broadcast_id": 1_000_000,
        "direction": "out",
        "type": "text",
        "status": "queued",
        "visibility": "visible",
        "text": PLAIN,
        "attachments": [],
        "quick_replies": [],
        "error_count": 0,
        "created_on": moment,
        "modified_on": moment,
    }


Processes = Sequence["subprocess.Popen[bytes]"]


def expand(
    database: Database, workspace_id: int, words: str, targets: Sequence[Sequence[int]], processes: Processes
) -> tuple[float, str]:
    """Messages per second from the request to the last message, and the memory of each worker."""
    new = [NewBroadcast({"eng": words}, "eng", Audience(group_ids=groups)) for groups in targets]
    began = time.monotonic()
    with database.writing() as tx:
        ids = [create_broadcast(tx, workspace_id, one) for one in new]
    early = [0] * len(processes)
    pause = threading.Event()
    while True:
        mine = broadcast.c.id.in_(ids)
        with database.reading() as tx:
            rows = tx.execute(select(broadcast.c.status, broadcast.c.started).where(mine)).all()
        made = sum(row.started for row in rows)
        if not any(early) and made > 0:
            early = [memory_megabytes(process.pid, "VmRSS") for process in processes]
        if all(row.status == COMPLETED for row in rows):
            break
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise RuntimeError(f"only {made} messages after {PATIENCE_SECONDS:.0f} s")
        pause.wait(0.05)
    rate = made / (time.monotonic() - began)
    check_each_once(database, ids, made)
    peaks = [memory_megabytes(process.pid, "VmHWM") for process in processes]
    return rate, ", ".join(f"{first} -> {peak}" for first, peak in zip(early, peaks, strict=True))


def check_each_once(database: Database, broadcast_ids: Sequence[int], made: int) -> None:
    pairs = select(message.c.broadcast_id, message.c.contact_id).where(message.c.broadcast_id.in_(broadcast_ids))
    with database.reading() as tx:
        stored = tx.execute(select(func.count()).select_from(pairs.subquery())).scalar_one()
        distinct = tx.execute(select(func.count()).select_from(pairs.distinct().subquery())).scalar_one()
    if not stored == distinct == made:
        raise RuntimeError(f"{made} messages counted, {stored} stored, {distinct} contacts")


def memory_megabytes(process_id: int, name: str) -> int:
    """A figure of the memory of a worker's largest process: `VmRSS` now, `VmHWM` at its peak."""
    lines = [line for pid in family(process_id) for line in Path(f"/proc/{pid}/status").read_text().splitlines()]
    found = [int(line.split()[1]) // 1024 for line in lines if line.startswith(name)]
    if not found:
        raise RuntimeError(f"the system tells no {name}")
    return max(found)


@contextlib.contextmanager
def running_workers(environment: dict[str, str], folder: Path, count: int) -> Iterator[Processes]:
    """Worker processes, stopped at the end."""
    processes = []
    for number in range(count):
        with (folder / f"worker{number}.log").open("wb") as log:
            command = [sys.executable, "-m", "relayboard", "worker"]
            own = {**os.environ, **environment}
            processes.append(subprocess.Popen(command, env=own, stdout=log, stderr=log, start_new_session=True))
    try:
        yield processes
    finally:
        for process in processes:
            os.killpg(process.pid, signal.SIGTERM)
        for process in processes:
            process.wait(40)


if __name__ == "__main__":
    sys.exit(main())
