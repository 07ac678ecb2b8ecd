"""Measures the CPU time of one request of each kind, of one version of the program or of two in turn."""

import http.client
import itertools
import statistics
from collections.abc import Callable, Mapping, Sequence

from bench.requests.api import Api, Case, ask

WARM_UP, WRITES_BEFORE = 40, 15
"""Reads and writes before those that count, so that statements are prepared."""


def measure(
    case: Case, servers: Mapping[str, Api], token: str, rounds: int, clean: Callable[[], None]
) -> dict[str, dict[str, float]]:
    """Milliseconds of a request of each version: medians of rounds that alternate. `clean` removes what was made."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for name, api in itertools.chain.from_iterable([servers.items()] * rounds):
        found[name].append(_spend(case, api, token))
        if case.body is not None:
            clean()
    return {
        name: {"api_ms": _median([api for api, _ in costs]), "postgresql_ms": _median([each for _, each in costs])}
        for name, costs in found.items()
    }


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def _spend(case: Case, api: Api, token: str) -> tuple[float, float]:
    """Milliseconds of a request: of the API process, and of PostgreSQL."""
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
    for _ in range(WARM_UP if case.body is None else WRITES_BEFORE):
        ask(connection, case, token)
    before = api.meter.read()
    for _ in range(case.count):
        ask(connection, case, token)
    after = api.meter.read()
    connection.close()
    return (after[0] - before[0]) / case.count, (after[1] - before[1]) / case.count
