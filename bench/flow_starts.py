"""`python -m bench.flow_starts`: contacts per second that workers start in a flow, on PostgreSQL.

The flow sends two messages and waits. Printed: contacts per second, by core and in all, against the engine alone in one
process in the same run, and the memory of the workers early and at its peak.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from bench.broadcasts import build, memory_megabytes, postgres, running_workers
from flows.engine import Assets, start
from flows.environment import Environment, SystemClock
from persistence.contacts.audience import Audience
from persistence.database import Database
from persistence.flow_starts.flow_starts import COMPLETED, NewStart, create_start
from persistence.migrations import upgrade
from persistence.secrets.encryption import KeyRing
from persistence.tables.contacts import contact
from persistence.tables.flows import MANUAL, flow, flow_run, flow_start
from persistence.tables.messages import message
from persistence.workspaces.records import find_workspace
from relayboard.base.settings import load_settings
from testbed.flow_rows import ask, definition, node, say, store_flow
from worker.app import make_wake

PATIENCE_SECONDS = 3600.0
ALONE = 500
FLOW = definition(
    "Two messages",
    [
        node("hello", [say("Dear @contact.first_name, welcome to the clinic's line.")], to="question"),
        ask("question", {"yes": "bye", "no": "bye"}, "bye", result="Coming", actions=[say("Will you come on Monday?")]),
        node("bye", [say("Thank you.")]),
    ],
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.flow_starts", description=__doc__)
    parser.add_argument("--contacts", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench") as folder, postgres() as url:
        run(url, Path(folder), options.contacts, options.workers)
    return 0


def run(url: str, folder: Path, contacts: int, workers: int) -> None:
    environment = {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": "used-by-benchmarks-only",
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
    }
    settings = load_settings(environment)
    database = Database(url, wake=make_wake(settings), keys=KeyRing.of(settings))
    upgrade(database.engine)
    workspace_id, groups = build(database, contacts)
    alone = engine_alone()
    with database.writing() as tx:
        workspace = find_workspace(tx, workspace_id)
    assert workspace is not None
    flow_uuid = store_flow(database, workspace, FLOW)
    with running_workers(environment, folder, workers) as processes:
        rate, memory = expand(database, workspace_id, flow_uuid, groups, processes)
    check(database, contacts)
    print(f"{contacts:,} contacts, {workers} workers: {rate:,.0f} contacts/s in all, {rate / workers:,.0f} per worker")
    print(f"the engine alone in one process: {alone:,.0f} contacts/s; ratio per worker {rate / workers / alone:.2f}")
    print(f"worker memory early -> peak (MB): {memory}")
    database.close()


def engine_alone() -> float:
    """Starts per second of the same flow without a database."""
    assets = Assets(flows=[FLOW])
    trigger = {"type": "manual", "flow": {"uuid": FLOW["uuid"], "name": FLOW["name"]}, "batch": True}
    person = {"uuid": FLOW["uuid"], "id": 1, "name": "Amina", "urns": ["tel:+250788000001"]}
    began = time.monotonic()
    for _ in range(ALONE):
        start(assets, person, trigger, Environment(), clock=SystemClock())
    return ALONE / (time.monotonic() - began)


def expand(
    database: Database, workspace_id: int, flow_uuid: str, groups: list[int], processes: Any
) -> tuple[float, str]:
    began = time.monotonic()
    with database.writing() as tx:
        flow_id = find_flow_id(tx, flow_uuid)
        start_id = create_start(tx, workspace_id, NewStart(flow_id, MANUAL, Audience(group_ids=groups)))
    early = [0] * len(processes)
    pause = threading.Event()
    mine = flow_start.c.id == start_id
    while True:
        with database.reading() as tx:
            row = tx.execute(select(flow_start.c.status, flow_start.c.started).where(mine)).one()
        if not any(early) and row.started > 0:
            early = [memory_megabytes(process.pid, "VmRSS") for process in processes]
        if row.status == COMPLETED:
            break
        if time.monotonic() - began > PATIENCE_SECONDS:
            raise RuntimeError(f"only {row.started} contacts after {PATIENCE_SECONDS:.0f} s")
        pause.wait(0.1)
    rate = row.started / (time.monotonic() - began)
    peaks = [memory_megabytes(process.pid, "VmHWM") for process in processes]
    return rate, ", ".join(f"{first} -> {peak}" for first, peak in zip(early, peaks, strict=True))


def find_flow_id(tx: Any, uuid: str) -> int:
    return int(tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one())


def check(database: Database, contacts: int) -> None:
    """Everybody has one run that waits, and two messages."""
    with database.reading() as tx:
        waiting = tx.execute(select(func.count()).where(flow_run.c.status == "waiting")).scalar_one()
        sent = tx.execute(select(func.count()).select_from(message)).scalar_one()
        people = tx.execute(select(func.count()).select_from(contact)).scalar_one()
    if not waiting == people == contacts or sent != 2 * contacts:
        raise RuntimeError(f"{people} contacts, {waiting} waiting runs, {sent} messages")


if __name__ == "__main__":
    sys.exit(main())
