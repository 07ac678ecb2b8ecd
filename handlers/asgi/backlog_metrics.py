"""Prometheus gauges of waiting work in the database: each process returns the same."""

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from persistence.database import Database
from persistence.errors import DatabaseError
from persistence.migrations import list_revisions, revision_on
from persistence.service.backlog import Backlog, read_backlog
from persistence.service.diagnosis import Heartbeat, list_heartbeats

logger = logging.getLogger("relayboard.metrics")

KEPT_SECONDS = 10.0
TIMEOUT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class _Reading:
    backlog: Backlog
    workers: list[Heartbeat]
    revision: str | None


class BacklogCollector(Collector):
    """Reads the database at most once in KEPT_SECONDS; each statement has a short timeout. If that fails,
    `relayboard_backlog_readable` is 0 and the other gauges are missing instead of wrong.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._latest: _Reading | None = None

    def collect(self) -> Iterator[Metric]:
        reading = self._read()
        yield GaugeMetricFamily(
            "relayboard_backlog_readable", "Whether the database told what waits, 1 or 0.", value=reading is not None
        )
        if reading is not None:
            yield from _waiting(reading.backlog)
            yield from _channels(reading.backlog)
            yield from _singles(reading)

    def _read(self) -> _Reading | None:
        with self._lock:
            now = time.monotonic()
            if self._read_at is None or now - self._read_at >= KEPT_SECONDS:
                self._latest = self._read_now()
                self._read_at = now
            return self._latest

    def _read_now(self) -> _Reading | None:
        try:
            with self._database.reading_snapshot(TIMEOUT_SECONDS) as tx:
                return _Reading(read_backlog(tx), list_heartbeats(tx), revision_on(tx.connection))
        except DatabaseError as error:
            logger.warning("metrics lack what waits: reading it fails with %s", type(error).__name__)
            return None


def _waiting(backlog: Backlog) -> Iterator[Metric]:
    count = GaugeMetricFamily("relayboard_waiting", "Work that waits, by the job that does it.", labels=["kind"])
    oldest = GaugeMetricFamily(
        "relayboard_waiting_oldest_seconds", "How long the oldest of it has waited, or is overdue.", labels=["kind"]
    )
    for kind, waiting in backlog.kinds.items():
        count.add_metric([kind], waiting.count)
        oldest.add_metric([kind], waiting.oldest_seconds)
    leases = GaugeMetricFamily(
        "relayboard_leases_expired", "Leases that ran out with the work undone, by whose work it is.", labels=["kind"]
    )
    for kind, number in backlog.expired_leases.items():
        leases.add_metric([kind], number)
    yield from (count, oldest, leases)


def _channels(backlog: Backlog) -> Iterator[Metric]:
    labels = ["channel", "type"]
    count = GaugeMetricFamily("relayboard_messages_queued", "Messages that a channel has still to send.", labels=labels)
    oldest = GaugeMetricFamily(
        "relayboard_messages_queued_oldest_seconds", "How long the oldest of them has waited.", labels=labels
    )
    for queue in backlog.channels:
        count.add_metric([queue.uuid, queue.type], queue.waiting.count)
        oldest.add_metric([queue.uuid, queue.type], queue.waiting.oldest_seconds)
    uncertain = GaugeMetricFamily(
        "relayboard_messages_uncertain", "Messages of which nobody knows whether the gateway has them.", labels=labels
    )
    for queue in backlog.uncertain:
        uncertain.add_metric([queue.uuid, queue.type], queue.waiting.count)
    yield from (count, oldest, uncertain)


def _singles(reading: _Reading) -> Iterator[Metric]:
    backlog = reading.backlog
    alive = sum(worker.is_alive for worker in reading.workers)
    values = {
        "contacts_waiting": ("Contacts whose messages wait for a worker.", backlog.contacts_waiting),
        "phones": ("Phones that are claimed.", backlog.phones),
        "phones_silent": ("Phones of these that were not seen for 30 minutes.", backlog.silent_phones),
        "workers_alive": ("Workers that have been seen lately.", alive),
        "workers_lost": ("Workers of the last day that vanished without a clean stop.", len(reading.workers) - alive),
        "schema_is_current": (
            "Whether the schema is the one of this program.",
            reading.revision == list_revisions()[-1],
        ),
    }
    for name, (text, value) in values.items():
        yield GaugeMetricFamily(f"relayboard_{name}", text, value=value)
    schema = GaugeMetricFamily("relayboard_schema_info", "The revision of the database's schema.", labels=["revision"])
    schema.add_metric([reading.revision or "none"], 1)
    yield schema
