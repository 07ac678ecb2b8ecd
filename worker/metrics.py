"""Prometheus metrics of the worker's deliveries; `/metrics` of the API shows them when both are of one service.

The processes that one `serve` starts share a folder (`PROMETHEUS_MULTIPROC_DIR`) through which prometheus-client sums.
"""

from prometheus_client import CollectorRegistry, Counter, Histogram

BUCKETS_SECONDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)

registry = CollectorRegistry()
attempts = Counter("relayboard_delivery_attempts", "Attempts to deliver events.", ("outcome",), registry=registry)
delays = Histogram(
    "relayboard_delivery_delay_seconds",
    "Seconds from the planned moment of an attempt until it began.",
    registry=registry,
    buckets=BUCKETS_SECONDS,
)
switched_off = Counter(
    "relayboard_webhooks_switched_off", "Receivers switched off after failing for long.", ("kind",), registry=registry
)


def count_attempt(outcome: str, delay_seconds: float) -> None:
    """`outcome` is what the delivery became: delivered, pending (tried again later) or failed (given up)."""
    attempts.labels(outcome).inc()
    delays.observe(delay_seconds)


def count_switched_off(kind: str) -> None:
    """`kind` is channel or subscriber."""
    switched_off.labels(kind).inc()
