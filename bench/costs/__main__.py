"""`python -m bench.costs`: the CPU time of requests over rows, connections and processes, as JSON with a description
of the machine; with `--write`, as a section and plots of docs/performance.md too.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bench.costs.measuring import CONNECTIONS, PROCESSES, ROWS, Served, Surroundings, measure, serving
from bench.costs.page import AXES, TITLE, describe, find_points, plot
from bench.machine import describe_run, describe_server
from bench.plans.__main__ import open_server, prepare_data
from testbed.quality_page import replace_section

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


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
