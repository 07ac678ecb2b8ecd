"""`python -m bench.plans`: what every list of the API costs at one size of the data set or at several, with each filter
and each two of them. Prints the requests whose PostgreSQL time is over the limit, and those that grow too much from
one size to the next, as JSON. The time is CPU time; each request is sent several times, and the cheapest counts.
With `--often` requests are sent until PostgreSQL has prepared their statements, and those that are dearer then are
printed, too.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import requests
from sqlalchemy import create_engine, select, text
from sqlalchemy.engine import make_url

from bench.cpu import Meter, ask
from bench.plans.data import NAME, Size, build
from bench.plans.requests import list_requests
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.statements import PREPARED_AFTER
from persistence.tables.accounts import workspace
from persistence.workspaces import WORKSPACE_COLUMNS, workspace_from_row
from testbed.running import RunningService, running_service
from testbed.servers import postgres_server
from testbed.tokens import KEYS, make_token

LIMIT_MS = 30.0
GROWTH = 1.3
OK = 200
OFTEN = 4 * PREPARED_AFTER + 5
"""Requests after which each connection of the API process has prepared the statement."""
DEARER = 2.0
LEAST_MS = 2.0
"""Smaller times are mostly noise: a request that grows to less is not reported."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plans", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[1_000_000], help="sizes, smallest first")
    parser.add_argument("--times", type=int, default=3, help="how often each request is sent")
    parser.add_argument("--only", default="", help="measure only requests whose text contains this")
    parser.add_argument("--alone", action="store_true", help="measure lists without their filters only")
    parser.add_argument("--often", action="store_true", help="also measure each request once its statement is prepared")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--output", type=Path, help="file for all figures, as JSON")
    options = parser.parse_args(arguments)
    measured: dict[int, dict[str, dict[str, float]]] = {}
    with open_server(options.server) as server:
        for messages in options.messages:
            measured[messages] = measure(prepare_data(server, messages), options)
    if options.output:
        options.output.write_text(json.dumps(measured, indent=1))
    print(json.dumps(findings(measured), indent=1))
    return 0


@contextmanager
def open_server(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with postgres_server(is_durable=True) as started:
        yield started


def prepare_data(server: str, messages: int) -> str:
    """The URL of the database with so many messages; it is made if there is none."""
    name = f"plans_{messages}"
    url = make_url(server).set(database=name).render_as_string(hide_password=False)
    with create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
        if connection.execute(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name}).first():
            return url
        connection.execute(text(f"CREATE DATABASE {name}"))
    database = Database(url, keys=KEYS)
    upgrade(database.engine)
    build(database, Size(messages))
    database.close()
    return url


def measure(url: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Milliseconds of CPU time by request: of the API process and of PostgreSQL."""
    database = Database(url, keys=KEYS)
    with TemporaryDirectory() as folder, running_service(url, Path(folder), ("api",)) as running:
        running.wait_until_ready()
        with database.reading() as tx:
            asked = [each for each in list_requests(tx) if options.only in str(each)]
            asked = [each for each in asked if not (options.alone and each.query)]
            owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
        session = requests.Session()
        token = make_token(database, workspace_from_row(owner), "administrator")
        session.headers["Authorization"] = f"Token {token}"
        meter = Meter(running.processes["api"].pid, url)
        found = {}
        for number, each in enumerate(asked):
            cost = found[str(each)] = _cost(running, meter, session, each.path, options)
            if cost["postgresql"] > LIMIT_MS:
                print(f"{each}: {cost}", file=sys.stderr, flush=True)
            if number % 100 == 0:
                print(f"{number} of {len(asked)}", file=sys.stderr)
    database.close()
    return found


def _cost(
    running: RunningService, meter: Meter, session: requests.Session, path: str, options: argparse.Namespace
) -> dict[str, float]:
    def ask_once() -> tuple[float, float, int]:
        before = meter.read()
        status = ask(session, running.url + path)
        after = meter.read()
        return after[1] - before[1], after[0] - before[0], status

    costs = [ask_once() for _ in range(options.times)]
    postgres, api, status = min(costs)
    cost = {"status": status, "api": round(api, 2), "postgresql": round(postgres, 2), "first": round(costs[0][0], 2)}
    if options.often and status == OK and postgres < LIMIT_MS:
        for _ in range(OFTEN):
            ask(session, running.url + path)
        cost["often"] = round(min(ask_once()[0] for _ in range(options.times)), 2)
    return cost


def findings(measured: dict[int, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """The requests over the limit at each size, and those that grow, with their times in milliseconds."""
    over = {
        f"{messages:,} messages": {
            name: cost["postgresql"]
            for name, cost in sorted(costs.items(), key=lambda item: -item[1]["postgresql"])
            if cost["postgresql"] > LIMIT_MS
        }
        for messages, costs in measured.items()
    }
    sizes = sorted(measured)
    growing = {
        name: [measured[small][name]["postgresql"], cost["postgresql"]]
        for small, large in itertools.pairwise(sizes)
        for name, cost in measured[large].items()
        if name in measured[small]
        and cost["postgresql"] > LEAST_MS
        and cost["postgresql"] > GROWTH * measured[small][name]["postgresql"]
    }
    dearer = {
        f"{messages:,} messages": {
            name: [cost["postgresql"], cost["often"]]
            for name, cost in costs.items()
            # A connection that ended meanwhile takes its time along.
            if cost["postgresql"] > 0 and cost.get("often", 0) > max(LEAST_MS, DEARER * cost["postgresql"])
        }
        for messages, costs in measured.items()
    }
    refused = sorted({name for costs in measured.values() for name, cost in costs.items() if cost["status"] != 200})
    return {
        "requests": {size: len(costs) for size, costs in measured.items()},
        "over": over,
        "growing": growing,
        "dearer when prepared": dearer,
        "not answered with 200": refused,
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
