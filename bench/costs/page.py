"""The section about costs in docs/performance.md, and its plots."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.costs.measuring import CONNECTIONS, PROCESSES, REQUESTS, ROWS
from bench.machine import tell_machine
from bench.plots import Panel, draw

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


def _find_lines(points: Sequence[Mapping[str, Any]], key: str) -> dict[str, list[tuple[float, float]]]:
    return {
        name: [(float(point["value"]), float(point[key])) for point in points if point["request"] == name]
        for name in REQUESTS
    }


def describe(results: Mapping[str, Any], clients: int) -> str:
    return TEXT.format(
        clients=clients,
        command=results["command"],
        day=results["measured_on"],
        machine=tell_machine(results),
        plots="\n\n".join(f"![CPU time of requests over {axis}](costs-{axis}.svg)" for axis in AXES),
        tables="\n\n".join(_write_table(find_points(results, axis), axis) for axis in AXES),
    )


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
