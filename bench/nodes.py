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
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select, update

from bench.faults.run import Redis
from bench.servers import ended_by_signals
from bench.tenants import describe
from persistence.channels.channels import new_webhook_secret
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.tables.messages import gateway_send, message
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.processes import listen, url_of
from testbed.databases import migrate, open_database
from testbed.forked import ForkedProcess, fork, run_api, run_worker
from testbed.gateways import SECRET, add_gateway
from testbed.patience import PATIENCE_SECONDS
from testbed.quality_page import replace_section
from testbed.running import wait_until
from testbed.servers import postgres_database, postgres_server
from testbed.tokens import SECRET_KEY, make_token
from testbed.traffic import IN, OUT, Outside

LOCAL = "127.0.0.1"
ANSWER_SECONDS = 5.0
REPEAT_SECONDS = 0.1
CLIENT_SECONDS = 60.0
AGAIN = (429, 503)

BUSY = 1
"""The workspace that does more than the others."""

TEXT = """
<!-- not run: tests/quality/test_nodes.py does it in small -->

    python -m bench.nodes --write

`{command}`: {apis} API processes and {workers} workers on one PostgreSQL and one Redis, all on two cores that did other
work too; {kills} were killed by SIGKILL and started again ({by_kind}). {tenants} workspaces sent SMS and received them
through whichever node chance named, one of them ten times as many as each other.

| | |
|---|---|
| SMS accepted (sent and received) | {accepted:,} |
| lost | {lost} |
| doubled, in the database or at the gateway | {doubled} |
| requests repeated by clients (killed node, 503) | {repeated:,} |
| incoming requests that ended without a response; stored once or not at all | {unknown} |
| SMS that the gateway got again under the same key, because a worker died | {again_sent} |
| events that a receiver was told again (at least once) | {again} |

From the acceptance of an SMS until it is at the gateway, or its event at the receiver, kills and restarts included:

| Workspaces | SMS | p50 (ms) | p99 (ms) | longest (ms) |
|---|---|---|---|---|
| the busy one | {busy} |
| the others | {others} |

The largest median of the others is {spread} times the smallest. The metrics of all nodes, added up: {counted}. What a
process counts after the last look before it is killed is not in them.
"""

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
LOOK_SECONDS = 2.0
REST_SECONDS = 240.0
BUSIER = 10


@dataclass(slots=True)
class Node:
    """A process of its own; an API process keeps its address when it is started again, as behind a balancer."""

    name: str
    environment: Mapping[str, str]
    log: Path
    listener: socket.socket | None
    metrics_url: str
    is_forked: bool = False
    process: subprocess.Popen[bytes] | ForkedProcess | None = None

    def start(self) -> None:
        options = ("--metrics-port", self.metrics_url.split(":")[2][:-8])
        if self.is_forked:
            main, arguments = (run_worker, options) if self.listener is None else (run_api, (self.listener,))
            self.process = fork(main, *arguments, environment=self.environment, log=self.log)
            return
        command = [sys.executable, "-m", "relayboard", "worker", *options]
        passed: tuple[int, ...] = ()
        if self.listener is not None:
            passed = (self.listener.fileno(),)
            command = [sys.executable, "-m", "relayboard.api_process", str(passed[0])]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command, env=self.environment, pass_fds=passed, stdout=log, stderr=log, start_new_session=True
            )

    def kill(self) -> None:
        if isinstance(self.process, ForkedProcess):
            self.process.kill()
        elif self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process is not None:
            self.process.wait()

    def read_metrics(self) -> dict[str, float] | None:
        """The counters of the process; None if it does not answer."""
        try:
            page = requests.get(self.metrics_url, timeout=ANSWER_SECONDS)
        except requests.RequestException:
            return None
        counters: dict[str, float] = {}
        for family in text_string_to_metric_families(page.text):
            if family.type == "counter":
                for sample in family.samples:
                    counters[f"{sample.name}{sorted(sample.labels.items())}"] = sample.value
        return counters


@dataclass(slots=True)
class Totals:
    """The sums of counters over all nodes and their restarts, as Prometheus makes them: a counter that is smaller than
    before began anew. What a process counted after the last look before its death is lost.
    """

    increase: dict[str, float] = field(default_factory=dict)
    _last: dict[str, dict[str, float]] = field(default_factory=dict)

    def look(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            found = node.read_metrics()
            if found is None:
                continue
            before = self._last.get(node.name, {})
            for name, value in found.items():
                had = before.get(name, 0.0)
                self.increase[name] = self.increase.get(name, 0.0) + (value - had if value >= had else value)
            self._last[node.name] = found

    def total(self, name: str, *parts: str) -> int:
        """The sum of the series of a counter whose labels contain these texts."""
        return round(
            sum(
                value
                for series, value in self.increase.items()
                if series.startswith(f"{name}[") and all(part in series for part in parts)
            )
        )


@contextmanager
def running_nodes(
    environment: Mapping[str, str], folder: Path, apis: int, workers: int, *, are_forked: bool
) -> Iterator[list[Node]]:
    nodes = []
    for number in range(apis):
        listener = listen(LOCAL, 0)
        url = url_of(LOCAL, listener.getsockname()[1])
        log = folder / f"api{number}.log"
        nodes.append(Node(f"api {number + 1}", environment, log, listener, f"{url}/metrics", are_forked))
    for number in range(workers):
        with socket.socket() as free:
            free.bind((LOCAL, 0))
            url = url_of(LOCAL, free.getsockname()[1])
        log = folder / f"worker{number}.log"
        nodes.append(Node(f"worker {number + 1}", environment, log, None, f"{url}/metrics", are_forked))
    try:
        for node in nodes:
            node.start()
        yield nodes
    finally:
        for node in nodes:
            node.kill()
            if node.listener is not None:
                node.listener.close()


class Arrivals(Outside):
    """The gateway, which recognizes repeats, and the receiver of all workspaces, with the moment of each first arrival
    by text. `repeats` counts what the gateway got again under the same key, because a worker died meanwhile.
    """

    def __init__(self) -> None:
        self.repeats = 0
        self._keys: set[str] = set()
        self.moments: dict[str, float] = {}
        super().__init__()

    def is_new(self, key: str | None) -> bool:
        with self._lock:
            if key is None or key not in self._keys:
                self._keys.add(key or "")
                return True
            self.repeats += 1
            return False

    def _note(self, path: str, form: dict[str, list[str]]) -> None:
        super()._note(path, form)
        self.moments.setdefault(form.get("text", [""])[0], time.monotonic())


@dataclass(slots=True)
class Tenant:
    """`accepted` are the texts that the service has accepted, with the moment; `unknown` those of incoming SMS whose
    request ended without a response: there once or not at all. `strange` are answers that should not be.
    """

    number: int
    workspace: Workspace
    token: str
    callback: str
    channel_id: int
    rounds_per_second: float
    accepted: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    strange: list[str] = field(default_factory=list)
    repeated: int = 0

    def run(self, nodes: Sequence[str], ending: threading.Event, chance: random.Random) -> None:
        session = requests.Session()
        count = 0
        while not ending.is_set():
            began = time.monotonic()
            count += 1
            phone = f"+25078{self.number:02}{count % 1000:05}"
            self._send(session, nodes, chance, f"{OUT} {self.number} {count}", phone)
            self._receive(session, chance.choice(nodes), f"{IN} {self.number} {count}", phone, ending)
            ending.wait(max(0.0, began + 1 / self.rounds_per_second - time.monotonic()))

    def _send(
        self, session: requests.Session, nodes: Sequence[str], chance: random.Random, text: str, phone: str
    ) -> None:
        """One request under a key, until a node answers it: also after the end, so that nothing is left unknown."""
        headers = {"Authorization": f"Token {self.token}", "Idempotency-Key": new_uuid()}
        body = {"urns": [f"tel:{phone}"], "text": text}
        while True:
            status = self._post(session, f"{chance.choice(nodes)}/api/v2/broadcasts.json", headers=headers, json=body)
            if status == 201:
                self.accepted[text] = time.monotonic()
                return
            if status and status not in AGAIN:
                self.strange.append(f"{text}: {status}")
                return
            self.repeated += 1
            time.sleep(REPEAT_SECONDS)

    def _receive(self, session: requests.Session, node: str, text: str, phone: str, ending: threading.Event) -> None:
        """As a gateway does it that has no number for its SMS: repeated only if it was refused."""
        status = self._post(session, f"{node}{self.callback}", data={"from": phone, "text": text})
        while status in AGAIN and not ending.wait(REPEAT_SECONDS):
            status = self._post(session, f"{node}{self.callback}", data={"from": phone, "text": text})
        if status == 200:
            self.accepted[text] = time.monotonic()
        elif not status:
            self.unknown.add(text)
        elif status not in AGAIN:
            self.strange.append(f"{text}: {status}")

    @staticmethod
    def _post(session: requests.Session, url: str, **options: Any) -> int:
        """The status, 0 without a response."""
        try:
            return session.post(url, timeout=CLIENT_SECONDS, **options).status_code
        except requests.RequestException:
            return 0


def make_tenant(database: Database, number: int, outside: str, rounds_per_second: float) -> Tenant:
    with database.writing() as tx:
        workspace = create_workspace(tx, f"Workspace {number}", country="RW", timezone="Africa/Kigali")
    channel_id = add_gateway(database, workspace, f"{outside}/send", recognizes_repeats=True)
    with database.writing() as tx:
        hook = {"webhook_url": f"{outside}/hook", "webhook_secret": new_webhook_secret()}
        tx.execute(update(channel).values(**hook).where(channel.c.id == channel_id))
        uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
    token = make_token(database, workspace, "administrator")
    return Tenant(number, workspace, token, f"/c/ex/{uuid}/{SECRET}/receive", channel_id, rounds_per_second)


def stored_texts(database: Database, workspace_id: int) -> Counter[str]:
    with database.reading() as tx:
        return Counter(tx.execute(select(message.c.text).where(message.c.workspace_id == workspace_id)).scalars())


def describe_stored(database: Database, text: str) -> str:
    """What the database knows of a text that did not arrive."""
    shown = (message.c.id, message.c.status, message.c.failed_reason, message.c.error_count, message.c.created_on)
    rows, waits = gateway_send.c, (gateway_send.c.parts_begun, gateway_send.c.parts_accepted, gateway_send.c.due_on)
    found = select(*shown, *waits).outerjoin(gateway_send, rows.message_id == message.c.id)
    with database.reading() as tx:
        stored = tx.execute(found.where(message.c.text == text)).mappings().all()
    return "; ".join(str(dict(row)) for row in stored) or "not stored"


def judge(database: Database, tenants: Sequence[Tenant], outside: Arrivals, totals: Totals) -> dict[str, Any]:
    """`problems` are the claims that do not hold."""
    lost, doubled = [], []
    for each in tenants:
        stored = stored_texts(database, each.workspace.id)
        told = {text for text in each.unknown if stored[text]}
        lost += [text for text in each.accepted if not stored[text]]
        lost += [text for text in (*each.accepted, *told) if not reached(outside, text)]
        doubled += [text for text, count in stored.items() if count > 1]
        doubled += [text for text in each.accepted if text.startswith(OUT) and outside.sent[text] > 1]
    waits = {each.number: wait_times(each, outside) for each in tenants}
    others = [each for number, found in waits.items() if number != BUSY for each in found]
    ordered = sorted(describe(found)["p50_ms"] for number, found in waits.items() if number != BUSY and found)
    accepted = sum(len(each.accepted) for each in tenants)
    strange = [each for tenant in tenants for each in tenant.strange]
    broadcasts = totals.total("relayboard_requests_total", "broadcasts", "'201'")
    sent = sum(1 for tenant in tenants for text in tenant.accepted if text.startswith(OUT))
    return {
        "accepted": accepted,
        "unknown": sum(len(each.unknown) for each in tenants),
        "repeated": sum(each.repeated for each in tenants),
        "lost": len(lost),
        "doubled": len(doubled),
        "gateway_repeats": outside.repeats,
        "events_told_again": sum(count - 1 for count in outside.told.values()),
        "busy": describe(waits[BUSY]) if waits[BUSY] else {},
        "others": describe(others) if others else {},
        "median_of_slowest_to_quickest": round(ordered[-1] / max(ordered[0], 0.1), 2) if ordered else None,
        "counted": {
            "broadcasts_accepted": {"clients": sent, "metrics": broadcasts},
            "events_delivered": {
                "receiver": sum(outside.told.values()),
                "metrics": totals.total("relayboard_delivery_attempts_total", "delivered"),
            },
        },
        "problems": [
            *(f"lost: {text}, {describe_stored(database, text)}" for text in lost[:5]),
            *(f"doubled: {text}" for text in doubled[:5]),
            *(f"strange answer: {text}" for text in strange[:5]),
        ],
    }


def reached(outside: Arrivals, text: str) -> bool:
    """Whether an SMS reached the gateway, or the event of an incoming one the receiver."""
    return bool(outside.told[text] if text.startswith(IN) else outside.sent[text])


def wait_times(tenant: Tenant, outside: Arrivals) -> list[float]:
    """Seconds from the acceptance of each SMS to its arrival outside."""
    moments = outside.moments
    return [max(0.0, moments[text] - accepted) for text, accepted in tenant.accepted.items() if text in moments]


def describe_run(found: dict[str, Any], options: argparse.Namespace) -> str:
    def row(waits: dict[str, float]) -> str:
        return f"{waits['count']:,} | {waits['p50_ms']:,} | {waits['p99_ms']:,} | {waits['longest_ms']:,}"

    broadcasts, events = found["counted"]["broadcasts_accepted"], found["counted"]["events_delivered"]
    given = f"--minutes {options.minutes:g} --tenants {options.tenants} --per-second {options.per_second:g}"
    return TEXT.format(
        command=f"python -m bench.nodes {given} --seed {options.seed}",
        apis=options.apis,
        workers=options.workers,
        tenants=options.tenants,
        kills=sum(found["kills"].values()),
        by_kind=", ".join(f"{count} of kind {kind}" for kind, count in sorted(found["kills"].items())),
        accepted=found["accepted"],
        lost=found["lost"],
        doubled=found["doubled"],
        repeated=found["repeated"],
        unknown=found["unknown"],
        again_sent=found["gateway_repeats"],
        again=found["events_told_again"],
        busy=row(found["busy"]),
        others=row(found["others"]),
        spread=found["median_of_slowest_to_quickest"],
        counted=(
            f"{broadcasts['metrics']:,} of {broadcasts['clients']:,} accepted broadcasts and {events['metrics']:,} of "
            f"{events['receiver']:,} delivered events"
        ),
    )


def main(arguments: Sequence[str], page: Path = PAGE, quick_url: str | None = None) -> int:
    """With a quick URL, the run is on that database, which is migrated, and its processes are forked."""
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
    found = run(options, quick_url)
    print(json.dumps(found, indent=1))
    if options.write and not found["problems"]:
        replace_section("Many nodes, measured", describe_run(found, options), page)
    return 1 if found["problems"] else 0


@contextmanager
def new_database() -> Iterator[str]:
    with postgres_server(is_durable=True) as server, postgres_database(server) as url:
        migrate(url)
        yield url


def run(options: argparse.Namespace, quick_url: str | None) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="nodes"))
    redis = Redis(folder)
    redis.start()
    outside = Arrivals()
    try:
        with ExitStack() as ending:
            url = quick_url or ending.enter_context(new_database())
            database = open_database(url)
            ending.callback(database.close)
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
            nodes = ending.enter_context(
                running_nodes(environment, folder, options.apis, options.workers, are_forked=quick_url is not None)
            )
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
