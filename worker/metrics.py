"""Prometheus metrics of a worker: its jobs, its deliveries and its connections.

`relayboard worker --metrics-port` serves them, because they count frequent events of one process: in the database each
count would be a write. The processes of one `serve` share a folder, so that `/metrics` of the API returns these too.
"""

import contextlib
import logging
import time
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server

from relayboard.base.metrics import PoolGauges, page_registry

logger = logging.getLogger("relayboard.worker")

BUCKETS_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)

registry = CollectorRegistry()
attempts = Counter("relayboard_delivery_attempts", "Attempts to deliver events.", ("outcome",), registry=registry)
delays = Histogram(
    "relayboard_delivery_delay_seconds",
    "Seconds from the planned start of an attempt to its actual start.",
    registry=registry,
    buckets=BUCKETS_SECONDS,
)
switched_off = Counter(
    "relayboard_webhooks_switched_off", "Receivers switched off after failing for long.", ("kind",), registry=registry
)
steps = Histogram(
    "relayboard_job_step_seconds",
    "Seconds that a job worked at a stretch; a step that finds nothing counts too.",
    ("kind",),
    registry=registry,
    buckets=BUCKETS_SECONDS,
)
letters = Counter("relayboard_letters", "Letters about accounts.", ("outcome",), registry=registry)
pushes = Counter("relayboard_pushes", "Pushes to phones.", ("provider", "outcome"), registry=registry)
failures = Counter("relayboard_job_failures", "Steps of jobs that failed.", ("kind",), registry=registry)
connections = PoolGauges(registry)


@contextlib.contextmanager
def measuring_step(kind: str) -> Iterator[None]:
    """Counts a step of a job, how long it took, and whether it failed."""
    began = time.perf_counter()
    try:
        yield
    except BaseException:
        failures.labels(kind).inc()
        raise
    finally:
        steps.labels(kind).observe(time.perf_counter() - began)


@contextlib.contextmanager
def serving_metrics(host: str, port: int) -> Iterator[str]:
    """Serves the metrics of this process while the block runs; returns the URL of the page. Raises OSError."""
    server, thread = start_http_server(port, host, page_registry(registry))
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{server.server_port}/metrics"
    logger.info("the metrics of this worker are at %s", address)
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def count_attempt(outcome: str, delay_seconds: float) -> None:
    """`outcome` is the delivery's new status: delivered, pending (tried again later) or failed (given up)."""
    attempts.labels(outcome).inc()
    delays.observe(delay_seconds)


def count_switched_off(kind: str) -> None:
    """`kind` is channel or subscriber."""
    switched_off.labels(kind).inc()
