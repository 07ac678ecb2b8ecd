"""`python -m bench.gateways`: gateways that are slow, silent or fast, workers that are killed, floods of callbacks.

python -m bench.gateways slow [--kills N]   # two workers, a gateway that answers after 13 s, 32 messages of 3 parts
python -m bench.gateways killed [--kills N] # a worker that is killed again and again, 500 messages
python -m bench.gateways beside             # a healthy gateway alone, beside a silent one, beside one of 2 s
python -m bench.gateways speed              # a gateway that answers in 50 ms, one worker
python -m bench.gateways callbacks          # what can be stored with and without a gateway's secret
"""

import argparse
import asyncio
import contextlib
import multiprocessing
import os
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

import requests
from sqlalchemy import func, select

from bench.tenants import processor_seconds
from persistence.tables.channels import channel
from persistence.tables.messages import gateway_send, message
from testbed.gateways import SECRET, THREE_PARTS, add_gateway, queue_messages
from testbed.running import RunningService, running_service, wait_until
from testbed.servers import postgres_database, postgres_server
from worker.channels.sending import MOST_SLOTS

PART = re.compile(rb"idempotency-key: *(\S+)", re.IGNORECASE)
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
ROUNDS = 3
HEALTHY_SECONDS = 0.2
"""Long enough that what is compared are the calls at a time, not how busy the machine is."""
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

START_SECONDS = 60.0
LEAST = 19
"""The niceness of who comes last."""


class _Connection(asyncio.Protocol):
    def __init__(self, gateway: "Gateway") -> None:
        self.gateway = gateway
        self.transport: Any = None
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end]
            length = LENGTH.search(head)
            whole = end + 4 + (int(length.group(1)) if length else 0)
            if len(self.received) < whole:
                return
            if self.gateway.hear is not None:
                self.gateway.hear(self.received[:whole])
            self.received = self.received[whole:]
            part = PART.search(head)
            self.gateway.parts[part.group(1).decode() if part else ""] += 1
            if self.gateway.seconds is not None:
                asyncio.get_running_loop().call_later(self.gateway.seconds, self._answer)

    def _answer(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(ANSWER)


class Gateway:
    """A gateway on a thread of its own that answers each request after a while (None: never), and counts parts. It lets
    `hear` have each request."""

    def __init__(self, seconds: float | None, hear: Callable[[bytes], object] | None = None) -> None:
        self.seconds = seconds
        self.hear = hear
        self.parts: Counter[str] = Counter()
        self.port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/send"

    def wait_for(self, parts: int) -> None:
        wait_until(lambda: self.parts.total() >= parts, "messages", 600)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        listening = self._loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=1024)
        server = self._loop.run_until_complete(listening)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()


@contextlib.contextmanager
def service(kind: str, **settings: str) -> Iterator[RunningService]:
    with tempfile.TemporaryDirectory(prefix="bench") as folder:
        if kind == "sqlite":
            with running_service(f"sqlite:///{folder}/bench.db", Path(folder), **settings) as running:
                yield running
            return
        with (
            postgres_server(is_durable=True) as server,
            postgres_database(server) as url,
            running_service(url, Path(folder), **settings) as running,
        ):
            yield running


def unfinished(running: RunningService, *channel_ids: int) -> int:
    """Messages of these gateways that are neither wired nor given up."""
    mine = message.c.channel_id.in_(channel_ids) & message.c.status.in_(("queued", "errored"))
    with running.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(message).where(mine)).scalar_one())


def measure_slow(kind: str, seconds: float, kills: int) -> None:
    """Every part once, whatever is slow or killed."""
    gateway = Gateway(seconds)
    with service(kind) as running:
        running.start("worker two")
        channel_id = add_gateway(running.database, running.workspace, gateway.url)
        queue_messages(running.database, running.workspace, channel_id, 32, THREE_PARTS)
        began = time.monotonic()
        running.kill("worker")  # so that one begins after the messages were queued, and finds them at once
        running.start("worker")
        for _ in range(kills):
            threading.Event().wait(random.uniform(0.2, seconds * 0.7))
            name = random.choice(["worker", "worker two"])
            running.kill(name)
            running.start(name)
        wait_until(lambda: not unfinished(running, channel_id), "all messages to be wired", 1800)
        took = time.monotonic() - began
        with running.database.reading() as tx:
            states = {
                status: count
                for status, count in tx.execute(select(message.c.status, func.count()).group_by(message.c.status))
            }
            left = tx.execute(select(func.count()).select_from(gateway_send)).scalar_one()
    total, doubled = gateway.parts.total(), [part for part, count in gateway.parts.items() if count > 1]
    print(
        f"{kind}: answers after {seconds:g} s, {kills} kills: {total} requests for 96 parts, {len(doubled)} doubled, "
        f"{96 - len(gateway.parts)} not sent; messages {states}, {left} left in the queue; {took:.0f} s",
        flush=True,
    )


def measure_killed(kind: str, count: int, kills: int) -> None:
    """What becomes of messages whose worker is killed: none is lost, and only what was on the wire is uncertain."""
    gateway = Gateway(0.05)
    with service(kind, WEBHOOK_TIMEOUT_SECONDS="3") as running:
        channel_id = add_gateway(running.database, running.workspace, gateway.url)
        ids = queue_messages(running.database, running.workspace, channel_id, count)
        with running.database.reading() as tx:
            names = {key: str(uuid) for key, uuid in tx.execute(select(message.c.id, message.c.uuid))}
        begun, on_the_wire = [], []
        for number in range(1, kills + 1):
            gateway.wait_for(count * number // (kills + 2))
            running.kill("worker")
            rows = gateway_send.c
            with running.database.reading() as tx:
                without = tx.execute(select(rows.message_id).where(rows.parts_begun > rows.parts_accepted)).scalars()
                left = {names[each] for each in without}
            begun.append(len(left))
            on_the_wire.append(len(left & {part.rpartition("-")[0] for part in gateway.parts}))
            running.start("worker")
        wait_until(lambda: not unfinished(running, channel_id), "all messages to be wired", 1800)
        with running.database.reading() as tx:
            columns = select(message.c.uuid, message.c.failed_reason).where(message.c.id.in_(ids))
            reasons = {str(uuid): reason for uuid, reason in tx.execute(columns)}
    sent = {part.rpartition("-")[0] for part in gateway.parts}
    doubled = [part for part, times in gateway.parts.items() if times > 1]
    uncertain = {uuid for uuid, reason in reasons.items() if reason == "uncertain"}
    unsent = set(reasons) - sent
    print(
        f"{kind}: {count} messages, {kills} kills: {len(doubled)} doubled, {len(unsent)} never sent, of which "
        f"{len(unsent - uncertain)} without saying so; {len(uncertain)} uncertain; "
        f"begun without an outcome at each kill: {begun}, of these the gateway had {on_the_wire}, of {MOST_SLOTS}",
        flush=True,
    )


def measure_beside(kind: str, count: int) -> None:
    """What a healthy gateway keeps of its speed beside others that are not; medians of interleaved rounds."""
    rates: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        for name, seconds in (("alone", 0.0), ("beside a silent one", None), ("beside one of 2 s", 2.0)):
            rates.setdefault(name, []).append(_measure_pair(kind, count, seconds, has_other=name != "alone"))
    alone = statistics.median(rates["alone"])
    for name, found in rates.items():
        rate = statistics.median(found)
        shown = ", ".join(f"{each:.0f}" for each in found)
        print(f"{kind}: {name}: {rate:.0f} messages/s ({shown}), {rate / alone:.2f} of alone", flush=True)


def measure_speed(kind: str, count: int) -> None:
    """How fast one worker sends to a gateway that answers in 50 ms."""
    gateway = Gateway(0.05)
    with service(kind) as running:
        running.stop("worker")
        channel_id = add_gateway(running.database, running.workspace, gateway.url)
        queue_messages(running.database, running.workspace, channel_id, count)
        rate = _time(running, gateway, channel_id, count)
        cpu_ms = 1000 * processor_seconds(running, "worker") / count
        print(f"{kind}: 50 ms: {rate:.0f} messages/s, {cpu_ms:.2f} ms CPU of the worker for each", flush=True)


def measure_callbacks(kind: str, tries: int) -> None:
    """A stranger who knows the channel's UUID, as every viewer does, and the gateway itself, beyond its limit."""
    with service(kind, CALLBACK_LIMIT="300/minute") as running:
        add_gateway(running.database, running.workspace, "http://127.0.0.1:1/")
        with running.database.reading() as tx:
            uuid = tx.execute(select(channel.c.uuid)).scalar_one()
        for who, path in (("without the secret", f"/c/ex/{uuid}/"), ("with it", f"/c/ex/{uuid}/{SECRET}/")):
            answers: Counter[int] = Counter()
            with requests.Session() as session:
                for number in range(tries):
                    form = {"from": f"+25078{number:07}", "text": f"message {number}"}
                    answers[session.post(f"{running.url}{path}receive", data=form, timeout=60).status_code] += 1
            with running.database.reading() as tx:
                stored = tx.execute(select(func.count()).select_from(message)).scalar_one()
            print(f"{kind}: {tries} callbacks {who}: answers {dict(answers)}, {stored} messages stored", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gateways", description=__doc__)
    parser.add_argument("experiment", choices=("slow", "killed", "beside", "speed", "callbacks"))
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    parser.add_argument("--seconds", type=float, default=13.0, help="slow: after how long the gateway answers")
    parser.add_argument("--kills", type=int, default=0, help="slow, killed: how many workers are killed meanwhile")
    parser.add_argument("--count", type=int, default=2000, help="messages to the healthy gateway, or callbacks")
    options = parser.parse_args()
    if options.experiment == "slow":
        measure_slow(options.database, options.seconds, options.kills)
    elif options.experiment == "killed":
        measure_killed(options.database, 500, options.kills or 8)
    elif options.experiment == "beside":
        measure_beside(options.database, options.count)
    elif options.experiment == "speed":
        measure_speed(options.database, options.count)
    else:
        measure_callbacks(options.database, options.count)
    return 0


class _Number(Protocol):
    value: int


@dataclass(frozen=True, slots=True)
class GatewayProcess:
    """The URL of the gateway and the number of calls that it got so far."""

    url: str
    _calls: _Number

    @property
    def calls(self) -> int:
        return self._calls.value


@contextmanager
def gateway_process() -> Iterator[GatewayProcess]:
    """A gateway that answers at once, until the end of the block. Elsewhere it has a machine of its own, so here it
    takes a processor only while nobody else wants it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    calls = context.Value("Q", 0, lock=False)
    process = context.Process(target=_serve, args=(theirs, calls), daemon=True)
    process.start()
    try:
        if not ours.poll(START_SECONDS):
            raise RuntimeError("the process of the gateway does not start")
        yield GatewayProcess(ours.recv(), calls)
    finally:
        process.kill()
        process.join()


def _measure_pair(kind: str, count: int, seconds: float | None, *, has_other: bool) -> float:
    healthy, other = Gateway(HEALTHY_SECONDS), Gateway(seconds)
    with service(kind) as running:
        running.stop("worker")
        if has_other:
            other_id = add_gateway(running.database, running.workspace, other.url)
            queue_messages(running.database, running.workspace, other_id, 200)
        channel_id = add_gateway(running.database, running.workspace, healthy.url)
        queue_messages(running.database, running.workspace, channel_id, count)
        return _time(running, healthy, channel_id, count)


def _time(running: RunningService, gateway: Gateway, channel_id: int, count: int) -> float:
    """Messages per second from the first request until all are wired, with one worker."""
    running.start("worker")
    wait_until(lambda: bool(gateway.parts), "the first request")
    began = time.monotonic()
    wait_until(lambda: not unfinished(running, channel_id), "all messages to be wired", 600)
    return count / (time.monotonic() - began)


def _serve(parent: Connection, calls: _Number) -> None:
    def count(_request: bytes) -> None:
        calls.value += 1  # by the one thread of the gateway

    os.nice(LEAST)
    parent.send(Gateway(0.0, hear=count).url)
    parent.poll(None)  # ends with the parent, of which nothing ever comes


if __name__ == "__main__":
    sys.exit(main())
