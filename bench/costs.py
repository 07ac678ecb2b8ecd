"""`python -m bench.costs`: the CPU time of requests over rows, connections and processes, as JSON with a description
of the machine; with `--write`, as a section and plots of docs/performance.md too.
"""

import argparse
import http.client
import itertools
import json
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.machine import describe_run, describe_server, tell_machine
from bench.plans.__main__ import open_server, prepare_data
from bench.plans.data import NAME
from bench.plots import Panel, draw
from bench.requests import Api, Case, ask, list_cases
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.tables.accounts import workspace
from persistence.workspaces.records import WORKSPACE_COLUMNS, workspace_from_row
from testbed.quality_page import replace_section
from testbed.tokens import KEYS, make_token

REQUESTS = ("messages, inbox", "contacts", "runs", "labels (10)", "POST messages")
WARM_UP = 5
"""Requests of each connection, so that its statements are prepared."""
ROWS, CONNECTIONS, PROCESSES = "rows", "connections", "processes"

TITLE = "Costs over rows, connections and processes"
AXES = {ROWS: "rows (messages)", CONNECTIONS: "connections to one process", PROCESSES: "processes"}
TEXT = """
<!-- not run: tests/quality/test_costs.py does it in small -->

    python -m bench.costs --write

measures the CPU time of a request at each size of the data set of `bench.plans` (one process, one connection), with
more connections to one process, and with more processes for {clients} connections, all in turns. It writes this
section, its plots and `docs/costs.json`.

The figures are of {day}, by `{command}`:
{machine} One process and one connection to the largest data
set are measured twice: their difference is what other work and chance make.

{plots}

Milliseconds of API processes + PostgreSQL:

{tables}
"""

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


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


def find_points(results: Mapping[str, Any], axis: str) -> list[dict[str, Any]]:
    return [point for point in results["points"] if point["axis"] == axis]


def plot(points: Sequence[Mapping[str, Any]], axis: str) -> str:
    """A panel for API processes, one for PostgreSQL, and a line in each for every request."""
    marks = {float(point["value"]): f"{point['value']:,}" for point in points}
    panels = [
        Panel(f"{title} by {axis}: CPU time of a request", "ms", _find_lines(points, key), marks, is_logarithmic=True)
        for title, key in (("API processes", "api_ms"), ("PostgreSQL", "postgresql_ms"))
    ]
    return draw(panels, f"CPU time of requests over {axis}")


def describe(results: Mapping[str, Any], clients: int) -> str:
    return TEXT.format(
        clients=clients,
        command=results["command"],
        day=results["measured_on"],
        machine=tell_machine(results),
        plots="\n\n".join(f"![CPU time of requests over {axis}](costs-{axis}.svg)" for axis in AXES),
        tables="\n\n".join(_write_table(find_points(results, axis), axis) for axis in AXES),
    )


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], help="sizes")
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 4, 16], help="to one process")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2, 4], help="API processes")
    parser.add_argument("--clients", type=int, default=8, help="connections to all processes of the last")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--count", type=int, default=48, help="requests of a kind in each round")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--output", type=Path, help="file for the JSON (default: standard output)")
    parser.add_argument("--write", action="store_true", help="write docs/costs.json, docs/performance.md and the plots")
    options = parser.parse_args(arguments)
    with describe_run("bench.costs", arguments, options.rounds) as results:
        results |= run(options, say)
    written = json.dumps(results, indent=1) + "\n"
    if options.output:
        options.output.write_text(written, encoding="utf-8")
    if options.write:
        page.with_name("costs.json").write_text(written, encoding="utf-8")
        for axis in AXES:
            page.with_name(f"costs-{axis}.svg").write_text(plot(find_points(results, axis), axis), encoding="utf-8")
        replace_section(TITLE, describe(results, options.clients), page)
    if not options.output and not options.write:
        print(written, end="")
    return 0


def run(options: argparse.Namespace, say: Callable[[str], object]) -> dict[str, Any]:
    """The costs of all surroundings, and the server they were measured on."""
    with open_server(options.server) as server, _all_served(server, options) as served:
        points = measure(list(_list_surroundings(served, options)), options.rounds, options.count, say)
        return {"postgresql": describe_server(server), "points": points}


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


def _find_lines(points: Sequence[Mapping[str, Any]], key: str) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(float(point["value"]), float(point[key])) for point in points if point["request"] == name]
        for name in REQUESTS
    }


def _write_table(points: Sequence[Mapping[str, Any]], axis: str) -> str:
    values = sorted({point["value"] for point in points})
    cells = {(point["request"], point["value"]): point for point in points}
    head = f"| By {AXES[axis]} | {' | '.join(f'{value:,}' for value in values)} |\n|---|{'---|' * len(values)}"
    rows = [
        f"| {request} | "
        + " | ".join(
            f"{cells[request, value]['api_ms']:.2f} + {cells[request, value]['postgresql_ms']:.2f}" for value in values
        )
        + " |"
        for request in REQUESTS
    ]
    return "\n".join([head, *rows])


@contextmanager
def _all_served(server: str, options: argparse.Namespace) -> Iterator[dict[int, Served]]:
    """Each size of the data set with one process; the largest with as many as are asked for."""
    with ExitStack() as stack:
        served = {}
        for messages in options.messages:
            url = prepare_data(server, messages)
            processes = max(options.processes) if messages == max(options.messages) else 1
            served[messages] = stack.enter_context(serving(url, processes, f"costs_{messages}"))
        yield served


def _list_surroundings(served: dict[int, Served], options: argparse.Namespace) -> Iterator[Surroundings]:
    largest = served[max(served)]
    for messages, each in sorted(served.items()):
        yield Surroundings(ROWS, messages, each, processes=1, connections=1)
    for connections in options.connections:
        yield Surroundings(CONNECTIONS, connections, largest, 1, connections)
    for processes in options.processes:
        yield Surroundings(PROCESSES, processes, largest, processes, options.clients)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], say=partial(print, file=sys.stderr, flush=True)))
