"""Metrics of both API and worker processes, and the combination of several processes on one page. With
`PROMETHEUS_MULTIPROC_DIR` set, processes on one machine share that folder, and each of them returns the sums of all;
without it a process returns only its own numbers.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from relayboard.base.version import program_version

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
CONTENT_TYPE = CONTENT_TYPE_LATEST

# A series of when each counter began, which processes that share a folder do not have.
disable_created_metrics()  # type: ignore[no-untyped-call]  # prometheus-client leaves it untyped


STORE_BUCKETS_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

shared = CollectorRegistry()
"""What processes of both kinds count."""
store_calls = Histogram(
    "relayboard_media_store_seconds",
    "Seconds of calls to the S3 server of the media store.",
    ("operation", "outcome"),
    registry=shared,
    buckets=STORE_BUCKETS_SECONDS,
)
deliveries = Counter(
    "relayboard_deliveries",
    "Deliveries of events: made, sent again, delivered, and failed (given up).",
    ("state",),
    registry=shared,
)


standby_reads = Counter(
    "relayboard_standby_reads",
    "Lists by where they were read: from the standby, or from the database itself because the token had just written "
    "or follows changes, or the standby was behind or away.",
    ("where",),
    registry=shared,
)
READ_AT = STANDBY, WRITER, FOLLOWER, BEHIND, AWAY = ("standby", "writer", "follower", "behind", "away")
for place in READ_AT:  # shown before the first of them
    standby_reads.labels(place)
standby_lag = Gauge(
    "relayboard_standby_lag_seconds",
    "How far the standby is behind, as this process sees it; -1 while it is away.",
    registry=shared,
    multiprocess_mode="livemax",
)


@dataclass(slots=True)
class MeasuredCall:
    """A call to the media store; one that raises counts as failed unless it `is_answered`."""

    is_answered: bool = False


@contextlib.contextmanager
def measuring_store(operation: str) -> Iterator[MeasuredCall]:
    """Counts a call to the media store, how long it took, and whether it failed."""
    began = time.perf_counter()
    call = MeasuredCall()
    try:
        yield call
        call.is_answered = True
    finally:
        outcome = "answered" if call.is_answered else "failed"
        store_calls.labels(operation, outcome).observe(time.perf_counter() - began)


class PoolGauges:
    """Database connections of processes of one kind: the number in use and the maximum."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.used = Gauge(
            "relayboard_pool_connections_used",
            "Connections to the database that are in use.",
            ("process",),
            registry=registry,
            multiprocess_mode="livesum",
        )
        self.most = Gauge(
            "relayboard_pool_connections",
            "Connections to the database that may be in use at once.",
            ("process",),
            registry=registry,
            multiprocess_mode="livesum",
        )

    def follow(self, process: str, watch: Callable[[Callable[[int], object]], int]) -> None:
        """`watch` tells a function of each connection that is taken (1) or given back (-1); it returns the most."""
        used = self.used.labels(process)
        self.most.labels(process).set(watch(used.inc))


class ProgramCollector(Collector):
    """Which program answers."""

    def collect(self) -> Iterator[Metric]:
        info = GaugeMetricFamily("relayboard_build_info", "The version of the program.", labels=["version"])
        info.add_metric([program_version()], 1)
        yield info


def page_registry(own: CollectorRegistry, *collectors: Collector) -> CollectorRegistry:
    """The registry of a page of metrics: the counters of this process or of the shared folder, and collectors."""
    page = CollectorRegistry()
    if SHARED_FOLDER in os.environ:
        MultiProcessCollector(page)  # type: ignore[no-untyped-call]  # prometheus-client leaves it untyped
    else:
        page.register(own)
        page.register(shared)
    for collector in (ProgramCollector(), *collectors):
        page.register(collector)
    return page


def render(own: CollectorRegistry, *collectors: Collector) -> bytes:
    """All metrics in the text format that Prometheus reads."""
    return generate_latest(page_registry(own, *collectors))
