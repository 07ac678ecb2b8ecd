"""`python -m bench.replies`: how long contacts wait for the reply of a flow, at so many messages per second, with one
API process and one worker, on PostgreSQL. Contacts write on time, however long others wait. Prints JSON: median and
99th percentile, in milliseconds, from the moment at which a message is due until the gateway has the reply.

With `--phones`, so many phones each get an SMS in the same moment, again and again, and sync as the published app
does. Prints how many of them have the reply of the flow in the answer to the sync that brought the SMS, and how long
that answer took.
"""

import argparse
import itertools
import json
import re
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import requests

from bench.gateways import Gateway
from bench.tenants import GREETING, Tenant, claim, describe, processor_seconds, service
from relayboard.phone.phone import Phone
from testbed.running import wait_until

CONTACTS = 500
WRITERS = 16
WARM_UP_SECONDS = 3.0
PATIENCE_SECONDS = 120.0
TO = re.compile(rb"\bto=%2B25078(\d{7})")


class Waits:
    """When contacts wrote that have no reply yet, each in turn, and how long all others have waited; the gateway tells
    when it has a reply.
    """

    def __init__(self) -> None:
        self._wrote = [deque[float]() for _ in range(CONTACTS)]
        self.seconds: list[float] = []

    def write(self, contact: int, due: float) -> None:
        self._wrote[contact].append(due)

    def hear(self, call: bytes) -> None:
        found = TO.search(call)
        if found is not None:
            self.seconds.append(time.monotonic() - self._wrote[int(found.group(1))].popleft())

    @property
    def are_over(self) -> bool:
        return not any(self._wrote)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.replies", description=__doc__)
    parser.add_argument("--per-second", type=float, default=100.0, help="messages per second")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="postgresql")
    parser.add_argument("--phones", type=int, default=0, help="phones that each relay an SMS in the same moment")
    parser.add_argument("--turns", type=int, default=20, help="how often they do")
    options = parser.parse_args(arguments)
    if min(options.per_second, options.seconds) <= 0:
        parser.error("--per-second and --seconds must be greater than 0")
    if options.phones < 0 or options.turns < 1:
        parser.error("--phones must be at least 0, --turns at least 1")
    if options.phones:
        found = measure_phones(options.database, options.phones, options.turns)
    else:
        found = measure(options.database, options.per_second, options.seconds)
    print(json.dumps(found, indent=1))
    return 0


def measure(kind: str, per_second: float, seconds: float) -> dict[str, Any]:
    waits = Waits()
    with service(kind) as running:
        tenant = Tenant.begin(running, "A", Gateway(0.0, hear=waits.hear).url)
        tenant.greet()
        write_on_time(tenant, waits, per_second, min(WARM_UP_SECONDS, seconds))
        wait_until(lambda: waits.are_over, "the replies", PATIENCE_SECONDS)
        waits.seconds.clear()
        used = processor_seconds(running)
        write_on_time(tenant, waits, per_second, seconds)
        wait_until(lambda: waits.are_over, "the replies", PATIENCE_SECONDS)
        spent = processor_seconds(running) - used
    replies = describe(waits.seconds)
    return {"per_second": per_second, "replies": replies, "processor_ms": round(spent / replies["count"] * 1000, 2)}


def measure_phones(kind: str, phones: int, turns: int) -> dict[str, Any]:
    waits: list[float] = []
    replied: list[bool] = []
    with service(kind) as running:
        tenant = Tenant.begin(running, "A", "http://127.0.0.1:9/send")
        tenant.greet()
        claimed = [
            claim(tenant.running.url, tenant.running.database, tenant.workspace, number) for number in range(phones)
        ]
        together = threading.Barrier(phones, timeout=PATIENCE_SECONDS)

        def relay(phone: Phone, first: int) -> None:
            for turn in range(turns + 1):
                together.wait()
                wait, has_reply = take_turn(phone, f"+25078{first + turn:07}")
                if turn:  # the first one warms the service up
                    waits.append(wait)
                    replied.append(has_reply)

        run_each(relay, [(phone, number * (turns + 1)) for number, phone in enumerate(claimed)])
    told = {"phones": phones, "turns": len(replied), "replied_in_the_same_sync": sum(replied)}
    return {**told, "of_hundred": round(100 * sum(replied) / len(replied), 1), "syncs": describe(waits)}


def take_turn(phone: Phone, sender: str) -> tuple[float, bool]:
    """Somebody writes, and has the reply or not; the phone reports what it sent, as the app does."""
    phone.receive_sms(sender, GREETING)
    began = time.monotonic()
    phone.sync()
    wait = time.monotonic() - began
    has_reply = any(held.phone == sender for held in phone.state.messages.values())
    phone.send_waiting()
    phone.sync(force=False)
    return wait, has_reply


def run_each(work: Callable[..., None], arguments: Sequence[tuple[Any, ...]]) -> None:
    """Runs the work with each of these arguments, all at the same time; raises what one of them raised."""
    with ThreadPoolExecutor(len(arguments)) as pool:
        for ended in [pool.submit(work, *each) for each in arguments]:
            ended.result()


def write_on_time(tenant: Tenant, waits: Waits, per_second: float, seconds: float) -> None:
    """Lets contacts write in turns, each at its time."""
    numbers, began, lock = itertools.count(), time.monotonic(), threading.Lock()

    def write() -> None:
        own = replace(tenant, session=requests.Session())
        while True:
            with lock:
                number = next(numbers)
            due = began + number / per_second
            if due >= began + seconds:
                return
            # The load itself: people write at their own pace, whatever the service does.
            time.sleep(max(due - time.monotonic(), 0.0))
            waits.write(number % CONTACTS, due)
            own.write(number % CONTACTS, GREETING)

    threads = [threading.Thread(target=write) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
