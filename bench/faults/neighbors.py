"""What healthy receivers wait beside dead ones: the same steady events with and without a fifth of dead receivers, in
slices that take turns, so that other load on the machine meets both alike.
"""

import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.faults.run import FaultyReceiver
from persistence.channels.channels import new_webhook_secret
from persistence.deliveries.outbox import NewDelivery, count_deliveries, record_deliveries
from persistence.tables.channels import channel
from relayboard.base.settings import load_settings
from testbed.gateways import GATEWAY_TYPE
from testbed.patience import PATIENCE_SECONDS
from testbed.running import RunningService, running_service, wait_until
from testbed.servers import postgres_database, postgres_server
from worker.app import make_wake

HEALTHY, DEAD = 40, 10
"""Receivers: a fifth of them is dead."""
DEAD_BEHAVIORS = ("hangs", "resets")
PER_SECOND = 50
SETTINGS = {"WEBHOOK_TIMEOUT_SECONDS": "1", "WEBHOOK_RETRY_DELAYS_SECONDS": "0.2,0.4,0.8"}
LARGEST_RATIO = 1.2


class TimedReceiver(FaultyReceiver):
    """Accepts, and notes when each event came first."""

    def __init__(self) -> None:
        self.came: dict[str, float] = {}
        super().__init__("ok")

    def note(self, event_id: str) -> int:
        self.came.setdefault(event_id, time.monotonic())
        return super().note(event_id)


@dataclass(slots=True)
class Neighborhood:
    """The receivers, with the id of the channel of each. The last ones of a slice are `spare` or `dead`."""

    service: RunningService
    healthy: list[tuple[int, TimedReceiver]]
    spare: list[tuple[int, FaultyReceiver]]
    dead: list[tuple[int, FaultyReceiver]]

    def close(self) -> None:
        for _, each in (*self.healthy, *self.spare, *self.dead):
            each.close()


def compare(seconds: float, pairs: int, per_second: int = PER_SECOND) -> dict[str, Any]:
    """Milliseconds that healthy receivers wait, by percentile, without and with dead ones, for slices of so many
    seconds. `ratio` is that of the p99s: the median of the pairs of slices.
    """
    with (
        tempfile.TemporaryDirectory(prefix="bench") as folder,
        postgres_server(is_durable=True) as server,
        postgres_database(server) as url,
        running_service(url, Path(folder), **SETTINGS) as service,
    ):
        service.database.wake = make_wake(load_settings(service.environment))
        place = move_in(service)
        try:
            run_slice(place, place.spare, min(seconds, 3), per_second)  # the first one warms everything up
            slices = [
                (run_slice(place, place.spare, seconds, per_second), run_slice(place, place.dead, seconds, per_second))
                for _ in range(pairs)
            ]
        finally:
            place.close()
    return summarize(slices) | {"seconds": seconds, "per_second": per_second}


def summarize(slices: Sequence[tuple[Sequence[float], Sequence[float]]]) -> dict[str, Any]:
    """From the seconds that events of each pair of slices took: without dead receivers, and with them."""
    ratios = [percentile(beside, 99) / percentile(alone, 99) for alone, beside in slices]
    ratio = round(statistics.median(ratios), 2)
    names = {"without": [seconds for alone, _ in slices for seconds in alone]}
    names["with"] = [seconds for _, beside in slices for seconds in beside]
    shown = {
        name: {f"p{part}": round(percentile(values, part) * 1000, 1) for part in (50, 95, 99)} | {"events": len(values)}
        for name, values in names.items()
    }
    problems = [f"p99 of healthy receivers beside dead ones is {ratio} times"] if ratio > LARGEST_RATIO else []
    return {"waits": shown, "ratios": [round(each, 2) for each in ratios], "ratio": ratio, "problems": problems}


def percentile(values: Sequence[float], part: int) -> float:
    """The smallest value that `part` of a hundred do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def move_in(service: RunningService) -> Neighborhood:
    def open_one(receiver: Any) -> tuple[int, Any]:
        with service.database.writing() as tx:
            owned = {"workspace_id": service.workspace.id, "created_on": tx.now, "schemes": ["tel"]}
            secret = {"webhook_url": receiver.url, "webhook_secret": new_webhook_secret()}
            return tx.insert(channel, type=GATEWAY_TYPE, name="Gateway", **owned, **secret), receiver

    return Neighborhood(
        service,
        [open_one(TimedReceiver()) for _ in range(HEALTHY)],
        [open_one(FaultyReceiver("ok")) for _ in range(DEAD)],
        [open_one(FaultyReceiver(DEAD_BEHAVIORS[number % len(DEAD_BEHAVIORS)])) for number in range(DEAD)],
    )


def run_slice(
    place: Neighborhood, others: Sequence[tuple[int, FaultyReceiver]], seconds: float, per_second: int
) -> list[float]:
    """Makes events for all in turn, then waits until all are finished; the seconds that those for healthy ones took."""
    receivers = [*place.healthy, *others]
    began: dict[str, float] = {}
    pause = threading.Event()
    start = time.monotonic()
    for number in range(round(seconds * per_second)):
        pause.wait(max(0.0, start + number / per_second - time.monotonic()))
        channel_id, receiver = receivers[number % len(receivers)]
        event = NewDelivery("mo_sms", receiver.url, "text/plain", b"text=hello", channel_id=channel_id)
        moment = time.monotonic()
        with place.service.database.writing() as tx:
            (uuid,) = record_deliveries(tx, place.service.workspace.id, [event])
        began[uuid] = moment
    wait_until(lambda: is_quiet(place.service), "all events to be finished", PATIENCE_SECONDS)
    came = {uuid: at for _, receiver in place.healthy for uuid, at in receiver.came.items()}
    return [came[uuid] - at for uuid, at in began.items() if uuid in came]


def is_quiet(service: RunningService) -> bool:
    with service.database.reading() as tx:
        return count_deliveries(tx, service.workspace.id).pending == 0
