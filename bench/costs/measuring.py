"""Measures the CPU time of requests in several surroundings, in turn."""

import http.client
import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from bench.plans.data import NAME
from bench.requests.api import Api, Case, ask
from bench.requests.cases import list_cases
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.tables.accounts import workspace
from persistence.workspaces import WORKSPACE_COLUMNS, workspace_from_row
from testbed.tokens import KEYS, make_token

REQUESTS = ("messages, inbox", "contacts", "runs", "labels (10)", "POST messages")
WARM_UP = 5
"""Requests of each connection, so that its statements are prepared."""
ROWS, CONNECTIONS, PROCESSES = "rows", "connections", "processes"


@dataclass(frozen=True, slots=True)
class Served:
    """One database: the API processes that serve it, a token, and what to ask by name."""

    apis: Sequence[Api]
    token: str
    cases: dict[str, Case]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A point on an axis: so many connections to the first so many processes of a database."""

    axis: str
    value: int
    served: Served
    processes: int
    connections: int


@contextmanager
def serving(url: str, processes: int, name: str) -> Iterator[Served]:
    """API processes of this version on the data set of `bench.plans` at `url`; `name` is that of their connections."""
    database = Database(url, keys=KEYS)
    upgrade(database.engine)
    with database.reading() as tx:
        owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
    token = make_token(database, workspace_from_row(owner), "administrator")
    cases = {case.name: case for case in list_cases(database) if case.name in REQUESTS}
    database.close()
    with ExitStack() as stack:
        running = [stack.enter_context(Api.running(url, name=f"{name}_{number}")) for number in range(processes)]
        yield Served(running, token, cases)


def measure(
    places: Sequence[Surroundings], rounds: int, count: int, say: Callable[[str], object]
) -> list[dict[str, Any]]:
    """Milliseconds of CPU time of each request in all surroundings: medians of rounds that alternate. A round sends
    `count` requests of a kind over all connections."""
    found: dict[tuple[str, int, str], list[tuple[float, float]]] = {}
    for number, place, request in itertools.product(range(rounds), places, REQUESTS):
        cost = _spend(place, place.served.cases[request], count)
        found.setdefault((place.axis, place.value, request), []).append(cost)
        say(f"round {number + 1}, {place.value:,} {place.axis}, {request}: {cost[0]:.2f} + {cost[1]:.2f} ms")
    return [
        {
            "axis": axis,
            "value": value,
            "request": request,
            "api_ms": round(statistics.median(api for api, _ in costs), 3),
            "postgresql_ms": round(statistics.median(postgresql for _, postgresql in costs), 3),
        }
        for (axis, value, request), costs in found.items()
    ]


def _spend(place: Surroundings, case: Case, count: int) -> tuple[float, float]:
    """Milliseconds of a request: of all API processes, and of PostgreSQL."""
    apis = place.served.apis[: place.processes]
    ports = [apis[number % len(apis)].port for number in range(place.connections)]
    connections = [http.client.HTTPConnection("127.0.0.1", port, timeout=60) for port in ports]
    each = max(1, count // place.connections)

    def send(connection: http.client.HTTPConnection, times: int) -> None:
        for _ in range(times):
            ask(connection, case, place.served.token)

    with ThreadPoolExecutor(place.connections) as pool:
        list(pool.map(send, connections, [WARM_UP] * place.connections))
        before = [api.meter.read() for api in apis]
        list(pool.map(send, connections, [each] * place.connections))
        after = [api.meter.read() for api in apis]
    for connection in connections:
        connection.close()
    spent = [sum(later[side] - earlier[side] for earlier, later in zip(before, after, strict=True)) for side in (0, 1)]
    return spent[0] / (each * place.connections), spent[1] / (each * place.connections)
