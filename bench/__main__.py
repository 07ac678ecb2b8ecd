"""`python -m bench`: ratios of this service against a bare ASGI application, in one run.

Builds a database of a million messages first (`--messages`, `--contacts`), for SQLite and PostgreSQL in turn. With
`--output FILE`, all rates with a description of the machine as JSON (results.schema.json), too.
"""

import argparse
import http.client
import itertools
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from sqlalchemy import select

from bench.data import build
from bench.machine import describe_run, describe_server
from bench.servers import Servers, running_servers
from bench.tenants import SMS_PER_SYNC, SYNC_HEADERS, claim, sign_sync, write_sync
from persistence.database import Database
from persistence.messages.records import CREATED_ORDER
from persistence.migrations import upgrade
from persistence.pages import Position, encode_cursor
from persistence.secrets.encryption import KeyRing
from persistence.sql.columns import time_text
from persistence.tables.messages import message
from persistence.workspaces.records import find_workspace
from testbed.servers import postgres_database, postgres_server

SECRET_KEY = "used-by-benchmarks-only"
ROUNDS = 3

CONNECTIONS = 4


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
        found = {}
        print(f"{'':34}{'ours/s':>9}{'bare/s':>9}{'ratio':>8}")
        for name, requests in cases(servers, facts, database, options.messages):
            found[name] = measure(name, requests, options.seconds)
    database.close()
    return [{"database": kind, "request": name, "per_second": rates} for name, rates in found.items()]


@dataclass(frozen=True, slots=True)
class Request:
    """One kind of request; `body` makes a fresh body each time, `target` the path that belongs to it."""

    method: str
    url: str
    headers: dict[str, str]
    body: Callable[[], bytes] | None = None
    target: Callable[[bytes], str] | None = None


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
    ours, bare = median["relayboard"], median["bare"]
    print(f"{name:34}{ours:9.1f}{bare:9.1f}{ours / bare:8.2f}", flush=True)
    return median


def find_place(database: Database, depth: int) -> tuple[str, str]:
    """The cursor of ours and the place of the bare application at a depth of the list."""
    with database.reading() as tx:
        statement = select(message.c.created_on, message.c.id, message.c.workspace_id)
        statement = statement.order_by(message.c.created_on.desc()).offset(depth)
        row = tx.execute(statement.limit(1)).one()
    cursor = encode_cursor(Position(row.created_on, row.id), CREATED_ORDER, row.workspace_id)
    return cursor, quote(f"{time_text(row.created_on)}|{row.id}")


Case = tuple[str, dict[str, Request]]


def cases(servers: Servers, facts: dict[str, Any], database: Database, messages: int) -> Iterator[Case]:
    """Each kind of request, asked of every server that has it."""
    headers = {"Authorization": f"Token {facts['token']}", "Content-Type": "application/json"}
    ours = f"{servers.urls['relayboard']}/api/v2/messages.json"
    bare = f"{servers.urls['bare']}/messages"

    def pair(query: str, bare_query: str | None = None) -> dict[str, Request]:
        asked = bare_query if bare_query is not None else query
        return {"relayboard": Request("GET", ours + query, headers), "bare": Request("GET", bare + asked, {})}

    yield "page of 250, first", pair("")
    cursor, place = find_place(database, messages // 2)
    yield f"page of 250, at depth {messages // 2:,}", pair(f"?cursor={cursor}", f"?after={place}")
    for query in (f"?contact={facts['contact']}", f"?label={facts['label']}", "?folder=inbox", "?folder=sent"):
        yield "page, " + query[1:].partition("=")[0] + "=" + query.partition("=")[2][:8], pair(query)
    number = itertools.count()
    yield "POST message", _writing(ours, bare, headers, facts["contact"], lambda: next(number))
    yield "phone sync of 50 SMS", _syncing(servers, database, facts["workspace_id"], bare)


def throughput(request: Request, seconds: float, connections: int = CONNECTIONS) -> float:
    """Answered requests per second; raises for any answer that is not 2xx."""
    parts = urlsplit(request.url)
    counts = [0] * connections
    failures: list[str] = []
    deadline = time.monotonic() + seconds

    def work(index: int) -> None:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        while time.monotonic() < deadline and not failures:
            body = request.body() if request.body is not None else None
            asked = request.target(body) if request.target is not None and body is not None else target
            connection.request(request.method, asked, body=body, headers=request.headers)
            response = connection.getresponse()
            content = response.read()
            if not 200 <= response.status < 300:
                failures.append(f"{response.status} {content[:300]!r}")
            counts[index] += 1
        connection.close()

    threads = [threading.Thread(target=work, args=(index,)) for index in range(connections)]
    began = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise RuntimeError(f"{request.method} {request.url}: {failures[0]}")
    return sum(counts) / (time.monotonic() - began)


def make_sync(server_url: str, database: Database, workspace_id: int) -> Request:
    """A claimed phone's sync of fifty SMS that are new each time."""
    with database.reading() as tx:
        workspace = find_workspace(tx, workspace_id)
    assert workspace is not None
    phone = claim(server_url, database, workspace, 9999)
    number = itertools.count()

    def body() -> bytes:
        return write_sync(phone, ((f"+2507{index:08}", f"sms {next(number)}") for index in range(SMS_PER_SYNC)))

    return Request("POST", server_url, SYNC_HEADERS, body, partial(sign_sync, phone))


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'bench.db'}"
        return
    with postgres_server(is_durable=True) as server, postgres_database(server) as url:
        yield url


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
