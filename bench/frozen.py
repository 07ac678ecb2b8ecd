"""`python -m bench.frozen`: what others wait for while a process is frozen in the middle of a transaction.

Contacts write all the time, and a flow answers them by a gateway with a rate limit, whose row all workers lock. Of two
workers one is stopped (SIGSTOP) when it has a transaction open, and goes on after a while (SIGCONT); in each
round the other one in turn. Prints JSON: the longest time in which no reply reached the gateway, and what was lost or
came twice. What was not sent and says so (`uncertain`) is not lost. Fails (status 1) if that pause is ten seconds or
longer, or if anything was lost or doubled. On PostgreSQL.

`--process api` freezes one of two API processes instead. Clients of both send messages to one contact, whose row all
requests lock; who gets no answer sends the same request again, with its Idempotency-Key. The pause is the longest one
in which the other process answered no request, and each message has to be there once.
"""

import argparse
import itertools
import json
import os
import re
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import requests
from sqlalchemy import func, select, text, update

from bench.gateways import Gateway
from bench.tenants import GREETING, Tenant, service
from persistence.tables.channels import channel
from persistence.tables.messages import message
from testbed.running import RunningService, wait_until

WORKERS = ("worker one", "worker two")
CONTACTS = 400
TO = re.compile(rb"\bto=%2B25078(\d{7})")
PER_GATEWAY = 100.0
LONGEST_PAUSE_SECONDS = 10.0
PATIENCE_SECONDS = 300.0
HITTING_SECONDS = 120.0
OPEN = """SELECT xact_start FROM pg_stat_activity
WHERE application_name = :name AND xact_start IS NOT NULL AND state LIKE 'idle in transaction%'"""


Pause = Callable[[float, float], float]


def longest_pause(times: Sequence[float], begin: float, end: float) -> float:
    inside = [begin, *(each for each in times if begin <= each <= end), end]
    return max(later - earlier for earlier, later in itertools.pairwise(inside))


class Replies:
    """When the gateway got replies, and how many for each contact."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.times: list[float] = []

    def hear(self, call: bytes) -> None:
        found = TO.search(call)
        if found is not None:
            self.counts[int(found.group(1))] += 1
            self.times.append(time.monotonic())

    def longest_pause(self, begin: float, end: float) -> float:
        return longest_pause(list(self.times), begin, end)


class Writers:
    """Contacts that write at a pace, until they are told to end; how often each has."""

    def __init__(self, tenant: Tenant, per_second: float) -> None:
        self.counts: Counter[int] = Counter()
        self._tenant = tenant
        self._pause = 1 / per_second
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @contextmanager
    def writing(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ending.set()
            self._thread.join()

    def _run(self) -> None:
        own = replace(self._tenant, session=requests.Session())
        for number in itertools.count():
            if self._ending.wait(self._pause):
                return
            own.write(number % CONTACTS, GREETING)
            self.counts[number % CONTACTS] += 1


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.frozen", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long a worker is frozen (default 60)")
    parser.add_argument("--per-second", type=float, default=10.0, help="messages of contacts per second")
    parser.add_argument("--process", choices=("worker", "api"), default="worker", help="which one is frozen")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or min(options.seconds, options.per_second) <= 0:
        parser.error("--rounds, --seconds and --per-second must be greater than 0")
    if options.process == "api":
        result = measure_api(options.rounds, options.seconds)
    else:
        result = measure(options.rounds, options.seconds, options.per_second)
    print(json.dumps(result, indent=1))
    is_fine = max(result["pauses"]) < LONGEST_PAUSE_SECONDS and not result["lost"] and not result["doubled"]
    return 0 if is_fine else 1


def measure(rounds: int, seconds: float, per_second: float) -> dict[str, Any]:
    replies = Replies()
    with service("postgresql") as running:
        running.stop("worker")
        for name in WORKERS:
            start_named(running, name)
        tenant = Tenant.begin(running, "A", Gateway(0.02, hear=replies.hear).url)
        with running.database.writing() as tx:
            tx.execute(update(channel).where(channel.c.id == tenant.channel_id).values(messages_per_second=PER_GATEWAY))
        tenant.greet()
        writers = Writers(tenant, per_second)
        pauses = []
        with writers.writing():
            wait_until(lambda: len(replies.times) > per_second, "the first replies", PATIENCE_SECONDS)
            for number in range(rounds):
                name = WORKERS[number % 2]
                frozen = running.processes[name].pid
                pauses.append(round(freeze(running, frozen, _mark(name), replies.longest_pause, seconds), 2))
        wait_until(
            lambda: count_outgoing(running, tenant, "wired") >= writers.counts.total(), "all replies", PATIENCE_SECONDS
        )
        uncertain, errors = count_uncertain(running, tenant)
        lost = sum((writers.counts - replies.counts - uncertain).values())
        doubled = sum((replies.counts - writers.counts).values())
        return {
            "rounds": rounds,
            "frozen_seconds": seconds,
            "messages": writers.counts.total(),
            "pauses": pauses,
            "longest_pause": max(pauses),
            "lost": lost,
            "doubled": doubled,
            "uncertain": uncertain.total(),
            "uncertain_and_not_sent": sum(((writers.counts - replies.counts) & uncertain).values()),
            "errors": errors,
        }


class Node:
    """An API process of its own, and a client that sends through it one message after another."""

    def __init__(self, running: RunningService, name: str, contact: str) -> None:
        self.name = name
        self.sent = 0
        self.times: list[float] = []
        self.refused: Counter[str] = Counter()
        url = _marked(running.database_url, name)
        environment = {**running.environment, "RELAYBOARD_DATABASE_URL": url}
        folder = running.folder / _mark(name)
        folder.mkdir()
        self.service = replace(running, folder=folder, environment=environment, processes={})
        self.service.start("api")
        self.service.wait_until_ready()
        self._contact = contact
        self._headers = {"Authorization": f"Token {running.token}"}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run)

    @contextmanager
    def sending(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._ending.set()
            self._thread.join()

    def _run(self) -> None:
        session = requests.Session()
        while not self._ending.is_set():
            text = f"{_mark(self.name)} {self.sent}"
            while not self._is_taken(session, text):
                self._ending.wait(0.1)
            self.sent += 1
            self.times.append(time.monotonic())

    def _is_taken(self, session: requests.Session, text: str) -> bool:
        headers = {**self._headers, "Idempotency-Key": text.replace(" ", "-")}
        body = {"contact": self._contact, "text": text}
        try:
            url = f"{self.service.url}/api/v2/messages.json"
            status = session.post(url, json=body, headers=headers, timeout=PATIENCE_SECONDS).status_code
        except requests.RequestException as error:
            self.refused[type(error).__name__] += 1
            return False
        if status != 201:
            self.refused[str(status)] += 1
        return status == 201


def measure_api(rounds: int, seconds: float) -> dict[str, Any]:
    with service("postgresql") as running:
        running.stop("worker")
        contact = running.post("/api/v2/contacts.json", {"name": "Amina", "urns": ["tel:+250788123123"]})["uuid"]
        nodes = [Node(running, name, contact) for name in ("node one", "node two")]
        try:
            pauses = []
            with nodes[0].sending(), nodes[1].sending():
                for number in range(rounds):
                    frozen, other = nodes[number % 2], nodes[(number + 1) % 2]
                    wait_until(partial(_has_begun, frozen), "the first answers", PATIENCE_SECONDS)
                    pid = frozen.service.processes["api"].pid
                    between = partial(_pause_of, other)
                    pauses.append(round(freeze(running, pid, _mark(frozen.name), between, seconds), 2))
            with running.database.reading() as tx:
                found = Counter(tx.execute(select(message.c.text).where(message.c.direction == "out")).scalars())
        finally:
            for node in nodes:
                node.service.kill("api")
        wanted = Counter(f"{_mark(node.name)} {number}" for node in nodes for number in range(node.sent))
        return {
            "process": "api",
            "rounds": rounds,
            "frozen_seconds": seconds,
            "messages": wanted.total(),
            "pauses": pauses,
            "longest_pause": max(pauses),
            "lost": (wanted - found).total(),
            "doubled": (found - wanted).total(),
            "sent_again_after": dict(sum((node.refused for node in nodes), Counter[str]())),
        }


def _has_begun(node: Node) -> bool:
    return len(node.times) > 10


def _pause_of(node: Node, begin: float, end: float) -> float:
    return longest_pause(list(node.times), begin, end)


def start_named(running: RunningService, name: str) -> None:
    """A worker whose connections bear its name."""
    usual = running.environment["RELAYBOARD_DATABASE_URL"]
    running.environment["RELAYBOARD_DATABASE_URL"] = _marked(usual, name)
    running.start(name)
    running.environment["RELAYBOARD_DATABASE_URL"] = usual


def _mark(name: str) -> str:
    return name.replace(" ", "_")


def _marked(url: str, name: str) -> str:
    return f"{url}{'&' if '?' in url else '?'}application_name={_mark(name)}"


def freeze(running: RunningService, pid: int, mark: str, pause_between: Pause, seconds: float) -> float:
    """Stops a process in an open transaction for a while; the longest pause of the others meanwhile."""
    group = os.getpgid(pid)
    ends = time.monotonic() + HITTING_SECONDS
    while True:
        os.killpg(group, signal.SIGSTOP)
        began = time.monotonic()
        if opened := find_open(running, mark):
            time.sleep(seconds)
            # One that had just sent its commit was hit in vain.
            if opened & find_open(running, mark):
                break
        os.killpg(group, signal.SIGCONT)
        if time.monotonic() > ends:
            raise AssertionError(f"{mark} was in no open transaction for {HITTING_SECONDS:g} s")
        time.sleep(0.013)
    pause = pause_between(began, time.monotonic())
    os.killpg(group, signal.SIGCONT)
    return pause


def find_open(running: RunningService, mark: str) -> set[datetime]:
    """When the open transactions of a process began."""
    with running.database.reading() as tx:
        return set(tx.execute(text(OPEN), {"name": mark}).scalars())


def count_outgoing(running: RunningService, tenant: Tenant, status: str) -> int:
    rows = message.c
    mine = (rows.workspace_id == tenant.workspace.id) & (rows.direction == "out") & (rows.status == status)
    with running.database.reading() as tx:
        return len(tx.execute(select(rows.id).where(mine)).all())


def count_uncertain(running: RunningService, tenant: Tenant) -> tuple[Counter[int], int]:
    """How many messages of each contact say that they are uncertain, and how often a gateway did not accept one."""
    rows = message.c
    mine = (rows.workspace_id == tenant.workspace.id) & (rows.direction == "out")
    with running.database.reading() as tx:
        urns = tx.execute(select(rows.urn).where(mine, rows.failed_reason == "uncertain")).scalars()
        errors = tx.execute(select(func.sum(rows.error_count)).where(mine)).scalar_one()
        return Counter(int(str(urn)[-7:]) for urn in urns), int(errors or 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
