"""`python -m bench.nodes`: four API processes and four workers on one PostgreSQL and one Redis, killed at random.

Twenty workspaces send SMS and receive them meanwhile, one of them ten times as many as each other. Every request goes
to whichever node chance names. In the end everything that was accepted is there once and has arrived, or the run fails
(status 1). The gateway recognizes repeats: an SMS that a worker may have sent when it was killed is sent again only to
such a gateway (docs/decisions-channels.md). Metrics are read from all nodes and added up as Prometheus does it.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from bench.ending import ended_by_signals
from bench.faults.surroundings import Redis
from bench.nodes.judging import BUSY, judge, reached
from bench.nodes.page import describe_run
from bench.nodes.processes import LOCAL, Node, Totals, running_nodes
from bench.nodes.tenants import Arrivals, Tenant, make_tenant
from persistence.migrations import upgrade
from relayboard.processes import url_of
from testbed.databases import open_database
from testbed.patience import PATIENCE_SECONDS
from testbed.quality_page import replace_section
from testbed.running import wait_until
from testbed.servers import postgres_database, postgres_server
from testbed.tokens import SECRET_KEY

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"
LOOK_SECONDS = 2.0
REST_SECONDS = 240.0
BUSIER = 10


def main(arguments: Sequence[str], page: Path = PAGE) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.nodes", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--apis", type=int, default=4)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--per-second", type=float, default=0.5, help="rounds of each workspace but the busy one")
    parser.add_argument("--kill-seconds", type=float, default=12.0, help="mean time between two kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="write docs/scaling.md")
    options = parser.parse_args(arguments)
    found = run(options)
    print(json.dumps(found, indent=1))
    if options.write and not found["problems"]:
        replace_section("Many nodes, measured", describe_run(found, options), page)
    return 1 if found["problems"] else 0


def run(options: argparse.Namespace) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="nodes"))
    redis = Redis(folder)
    redis.start()
    outside = Arrivals()
    try:
        with ExitStack() as ending:
            server = ending.enter_context(postgres_server(is_durable=True))
            url = ending.enter_context(postgres_database(server))
            database = open_database(url)
            ending.callback(database.close)
            upgrade(database.engine)
            tenants = [
                make_tenant(database, number, outside.url, options.per_second * (BUSIER if number == BUSY else 1))
                for number in range(1, options.tenants + 1)
            ]
            environment = {
                **os.environ,
                "RELAYBOARD_DATABASE_URL": url,
                "RELAYBOARD_QUEUE_URL": redis.url,
                "RELAYBOARD_SECRET_KEY": SECRET_KEY,
                "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
                "RELAYBOARD_RATE_LIMIT": "100000000/hour",
                "RELAYBOARD_CALLBACK_LIMIT": "100000000/hour",
                "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
                "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.5,2,10",
            }
            nodes = ending.enter_context(running_nodes(environment, folder, options.apis, options.workers))
            kills, totals = load_and_kill(nodes, tenants, options)
            with suppress(AssertionError):  # the judge says what is missing
                wait_until(lambda: has_arrived(tenants, outside), "everything to arrive", REST_SECONDS)
            totals.look(nodes)
            return {"kills": dict(kills), **judge(database, tenants, outside, totals)}
    finally:
        outside.close()
        redis.kill()


def load_and_kill(
    nodes: Sequence[Node], tenants: Sequence[Tenant], options: argparse.Namespace
) -> tuple[Counter[str], Totals]:
    """The kills by kind of node, and the counters of all."""
    chance, kills, totals, ending = random.Random(options.seed), Counter[str](), Totals(), threading.Event()
    apis = [url_of(LOCAL, node.listener.getsockname()[1]) for node in nodes if node.listener is not None]
    wait_until(lambda: all(node.read_metrics() is not None for node in nodes), "all nodes to answer", PATIENCE_SECONDS)
    clients = [
        threading.Thread(target=each.run, args=(apis, ending, random.Random(each.number)), daemon=True)
        for each in tenants
    ]
    for client in clients:
        client.start()
    end = time.monotonic() + options.minutes * 60
    next_kill = time.monotonic() + options.kill_seconds
    with ended_by_signals(ending):
        while time.monotonic() < end and not ending.is_set():
            totals.look(nodes)
            if time.monotonic() >= next_kill:
                victim = chance.choice(nodes)
                victim.kill()
                victim.start()
                kills[victim.name.split()[0]] += 1
                next_kill = time.monotonic() + chance.uniform(0.5, 1.5) * options.kill_seconds
            ending.wait(min(LOOK_SECONDS, options.kill_seconds / 2))
    ending.set()
    for client in clients:
        client.join()
    return kills, totals


def has_arrived(tenants: Sequence[Tenant], outside: Arrivals) -> bool:
    return all(reached(outside, text) for each in tenants for text in each.accepted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
