"""`python -m bench`: ratios of this service against a bare ASGI application and a Django one, in one run.

Builds a database of a million messages first (`--messages`, `--contacts`), for SQLite and PostgreSQL in turn. With
`--output FILE`, all rates with a description of the machine as JSON (results.schema.json), too.
"""

import argparse
import itertools
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.data import build
from bench.generations import find_place, pair_generations
from bench.load import Request, throughput
from bench.machine import describe_run, describe_server
from bench.phones import make_sync
from bench.servers import Servers, running_servers
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.secrets.encryption import KeyRing
from testbed.servers import postgres_database, postgres_server

SECRET_KEY = "used-by-benchmarks-only"
ROUNDS = 3


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--contacts", type=int, default=100_000)
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of each measurement")
    parser.add_argument("--output", type=Path, help="file for all rates, as JSON")
    options = parser.parse_args(arguments)
    kinds = ("sqlite", "postgresql") if options.database == "both" else (options.database,)
    with describe_run("bench", arguments, ROUNDS) as results:
        results["rates"] = []
        for kind in kinds:
            with tempfile.TemporaryDirectory(prefix="bench") as folder, _database(kind, Path(folder)) as url:
                results["rates"] += run(kind, url, Path(folder), options)
                if kind == "postgresql":
                    results["postgresql"] = describe_server(url)
    if options.output:
        options.output.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'bench.db'}"
        return
    with postgres_server(is_durable=True) as server, postgres_database(server) as url:
        yield url


def run(kind: str, url: str, folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Build, measure and print one database's table. Returns the rates of each kind of request."""
    database = Database(url, keys=KeyRing(SECRET_KEY))
    upgrade(database.engine)
    began = time.monotonic()
    facts = build(database, SECRET_KEY, options.messages, options.contacts)
    print(f"\n{kind}: {options.messages:,} messages built in {time.monotonic() - began:.0f} s", flush=True)
    environment = {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_RATE_LIMIT": "1000000000/hour",
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
    }
    with running_servers(environment, folder) as servers:
        # Before the writes: generation 1 counts the messages of the last minutes each time.
        found = compare_generations(servers, facts, database, options)
        print(f"{'':34}{'ours/s':>9}{'bare/s':>9}{'ratio':>8}{'django/s':>10}{'ratio':>8}")
        for name, requests in cases(servers, facts, database, options.messages):
            found[name] = measure(name, requests, options.seconds)
    database.close()
    return [{"database": kind, "request": name, "per_second": rates} for name, rates in found.items()]


def compare_generations(
    servers: Servers, facts: dict[str, Any], database: Database, options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """What a page of generation 1 costs, as a multiple of the page of generation 2. Returns the rates."""
    found = {}
    headers = {"Authorization": f"Token {facts['token']}"}
    print(f"{'':34}{'v1/s':>9}{'v2/s':>9}{'cost':>8}")
    for name, requests in pair_generations(servers.urls["relayboard"], headers, facts, database, options.messages):
        median = found[f"v1 beside v2, {name}"] = rates(requests, options.seconds)
        print(f"{name:34}{median['v1']:9.1f}{median['v2']:9.1f}{median['v2'] / median['v1']:8.2f}", flush=True)
    return found


def rates(requests: dict[str, Request], seconds: float) -> dict[str, float]:
    """The median of interleaved rounds for each request."""
    found: dict[str, list[float]] = {server: [] for server in requests}
    for _ in range(ROUNDS):
        for server, request in requests.items():
            found[server].append(throughput(request, seconds))
    return {server: statistics.median(values) for server, values in found.items()}


def measure(name: str, requests: dict[str, Request], seconds: float) -> dict[str, float]:
    """Interleaved rounds; the median of each server, printed as ratios."""
    median = rates(requests, seconds)
    line = f"{name:34}{median['relayboard']:9.1f}"
    if "bare" in median:
        line += f"{median['bare']:9.1f}{median['relayboard'] / median['bare']:8.2f}"
    if "django" in median:
        line += f"{median['django']:10.1f}{median['relayboard'] / median['django']:8.2f}"
    print(line, flush=True)
    return median


Case = tuple[str, dict[str, Request]]


def cases(servers: Servers, facts: dict[str, Any], database: Database, messages: int) -> Iterator[Case]:
    """Each kind of request, asked of every server that has it."""
    headers = {"Authorization": f"Token {facts['token']}", "Content-Type": "application/json"}
    ours = f"{servers.urls['relayboard']}/api/v2/messages.json"
    bare = f"{servers.urls['bare']}/messages"
    django = f"{servers.urls['django']}/messages"

    def pair(query: str, bare_query: str | None = None) -> dict[str, Request]:
        asked = bare_query if bare_query is not None else query
        return {"relayboard": Request("GET", ours + query, headers), "bare": Request("GET", bare + asked, {})}

    yield "page of 250, first", {**pair(""), "django": Request("GET", django, {})}
    cursor, place = find_place(database, messages // 2)
    yield f"page of 250, at depth {messages // 2:,}", pair(f"?cursor={cursor}", f"?after={place}")
    for query in (f"?contact={facts['contact']}", f"?label={facts['label']}", "?folder=inbox", "?folder=sent"):
        yield "page, " + query[1:].partition("=")[0] + "=" + query.partition("=")[2][:8], pair(query)
    number = itertools.count()
    yield "POST message", _writing(ours, bare, headers, facts["contact"], lambda: next(number))
    yield "phone sync of 50 SMS", _syncing(servers, database, facts["workspace_id"], bare)


def _writing(
    ours: str, bare: str, headers: dict[str, str], contact: str, number: Callable[[], int]
) -> dict[str, Request]:
    def body() -> bytes:
        return json.dumps({"contact": contact, "text": f"message {number()}"}).encode()

    return {"relayboard": Request("POST", ours, headers, body), "bare": Request("POST", bare, {}, body)}


def _syncing(servers: Servers, database: Database, workspace_id: int, bare: str) -> dict[str, Request]:
    sync = make_sync(servers.urls["relayboard"], database, workspace_id)
    texts = json.dumps([{"phone": f"+2507{index:08}", "msg": f"sms {index}"} for index in range(50)]).encode()
    return {"relayboard": sync, "bare": Request("POST", bare, {}, lambda: texts)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
