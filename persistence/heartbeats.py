"""Which workers are alive: each updates its own row every few seconds."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select

from persistence.database import Transaction
from persistence.sql.columns import new_uuid
from persistence.tables.service import worker_heartbeat

BEAT_SECONDS = 10.0
ALIVE_FOR = timedelta(seconds=45)
"""A worker that has not been seen for this long counts as dead: three missed heartbeats, and time for a slow fourth."""
KEPT_FOR = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Worker:
    """The description of a worker process; `revision` is the newest schema that its program knows."""

    host: str
    pid: int
    threads: int
    version: str
    revision: str | None
    uuid: str = field(default_factory=new_uuid)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A worker in the database."""

    uuid: str
    host: str
    pid: int
    threads: int
    version: str
    revision: str | None
    started_on: datetime
    seen_on: datetime
    is_alive: bool


def record_heartbeat(tx: Transaction, worker: Worker) -> None:
    """Record that the worker is alive now."""
    known: dict[str, Any] = {
        "uuid": worker.uuid,
        "host": worker.host[:255],
        "pid": worker.pid,
        "threads": worker.threads,
        "version": worker.version[:32],
        "revision": worker.revision,
    }
    statement = tx.upsert(worker_heartbeat).values(started_on=tx.now, seen_on=tx.now, **known)
    tx.execute(statement.on_conflict_do_update(index_elements=["uuid"], set_={"seen_on": tx.now}))


def end_heartbeat(tx: Transaction, worker: Worker) -> None:
    """Delete the row of a worker that stops cleanly."""
    tx.execute(delete(worker_heartbeat).where(worker_heartbeat.c.uuid == worker.uuid))


def list_heartbeats(tx: Transaction, limit: int = 1000) -> list[Heartbeat]:
    """All workers that have not stopped cleanly, the most recently seen first."""
    rows = worker_heartbeat.c
    found = tx.execute(select(worker_heartbeat).order_by(rows.seen_on.desc(), rows.id).limit(limit))
    return [
        Heartbeat(
            row.uuid,
            row.host,
            row.pid,
            row.threads,
            row.version,
            row.revision,
            row.started_on,
            row.seen_on,
            is_alive=tx.now - row.seen_on < ALIVE_FOR,
        )
        for row in found
    ]


def trim_heartbeats(tx: Transaction, limit: int) -> int:
    """Deletes workers that died and were not seen for KEPT_FOR; returns their number."""
    rows = worker_heartbeat.c
    old = select(rows.id).where(rows.seen_on < tx.now - KEPT_FOR).order_by(rows.seen_on, rows.id).limit(limit)
    return tx.execute(delete(worker_heartbeat).where(rows.id.in_(old.scalar_subquery()))).rowcount
