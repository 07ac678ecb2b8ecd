"""What each message of anybody costs a person who has the inbox open: `python -m tools.console.traffic`.

Messages come from 250 people who wrote before, in turns, while a real browser shows the inbox: bytes over the wire (the
stream, and what the page asks for because of it), CPU of the page, rows in it, and its memory after all of them. Most
of these people are not among the rows that are loaded; the first forty are (`--people 40`).
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import requests
from playwright.sync_api import CDPSession, Page
from sqlalchemy import select

from persistence.tables.channels import channel
from testbed.gateways import SECRET, add_gateway
from testbed.running import RunningService, forked_service, wait_until
from tools.console.opening import FEW, LEAST, fill, launched, signed_in

WARM = 20
"""Messages before it is measured: the first ones compile what draws them."""
SEEN = "text => [...document.querySelectorAll('.conversation')].some(row => row.textContent.includes(text))"
CALM_SECONDS = 3.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.console.traffic", description=__doc__)
    parser.add_argument("--messages", type=int, default=200, help="measured one by one")
    parser.add_argument("--live", type=int, default=5_000, help="messages in all, after which memory is measured")
    parser.add_argument("--people", type=int, default=LEAST, help="who write in turns")
    parser.add_argument("--pause", type=float, default=0.6, help="seconds between two messages that are measured")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        forked_service(f"sqlite:///{folder}/relayboard.db", Path(folder), CALLBACK_LIMIT="100000/minute") as service,
        launched() as browser,
    ):
        fill(service, FEW * 25)
        measure(signed_in(browser, service), service, options)
    return 0


def measure(page: Page, service: RunningService, options: argparse.Namespace) -> None:
    session = page.context.new_cdp_session(page)
    session.send("Performance.setTimeDomain", {"timeDomain": "threadTicks"})
    session.send("Performance.enable")
    received = Received(session)
    sender = Sender(service, options.people)
    for _ in range(WARM):
        sender.send()
    settle(page, sender)
    received.clear()
    cpu = cpu_ms(session)
    for _ in range(options.messages):
        sender.send()
        page.wait_for_timeout(options.pause * 1000)
    settle(page, sender)
    spent, count = cpu_ms(session) - cpu, options.messages
    idle = idle_ms(page, session, options.pause * count)
    sys.stdout.write(
        f"{count} messages: {received.streamed / count:.0f} bytes of the stream, {received.answered / count:.0f} of "
        f"{received.answers / count:.2f} answers, {(spent - idle) / count:.1f} ms of CPU each; "
        f"{page.locator('.conversation').count()} rows in the page\n"
    )
    sys.stdout.write(f"memory before: {memory(session)}\n")
    for _ in range(options.live - options.messages):
        sender.send()
    settle(page, sender)
    sys.stdout.write(f"memory after {options.live} messages: {memory(session)}\n")


class Received:
    """Bytes over the wire: of the stream, which does not end, and of answers with their headers."""

    def __init__(self, session: CDPSession) -> None:
        self.clear()
        self._parts: Counter[str] = Counter()
        session.on("Network.dataReceived", self._take)
        session.on("Network.loadingFinished", self._end)
        session.send("Network.enable")

    def clear(self) -> None:
        self.streamed = self.answered = self.answers = 0

    def _take(self, event: dict[str, Any]) -> None:
        size = int(event["encodedDataLength"] or event["dataLength"])
        self._parts[event["requestId"]] += size
        self.streamed += size

    def _end(self, event: dict[str, Any]) -> None:
        self.streamed -= self._parts.pop(event["requestId"], 0)
        self.answered += int(event["encodedDataLength"])
        self.answers += 1


class Sender:
    """People write to the gateway of the workspace, in turns."""

    def __init__(self, service: RunningService, people: int) -> None:
        self._people = people
        self._http = requests.Session()
        channel_id = add_gateway(service.database, service.workspace, "http://127.0.0.1:1/")
        with service.database.reading() as tx:
            uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
        self._url, self.sent = f"{service.url}/c/ex/{uuid}/{SECRET}/receive", 0

    def send(self) -> None:
        self.sent += 1
        form = {"from": f"+2507{self.sent % self._people:08}", "text": self.text}
        self._http.post(self._url, data=form, timeout=60).raise_for_status()

    @property
    def text(self) -> str:
        return f"Live message {self.sent}"


def settle(page: Page, sender: Sender) -> None:
    """Waits until the last message is on the screen, and what follows from it is done."""
    wait_until(lambda: page.evaluate(SEEN, sender.text), "the last message on the screen")
    page.wait_for_timeout(CALM_SECONDS * 1000)


def cpu_ms(session: CDPSession) -> float:
    """Milliseconds for which the page has computed."""
    return 1000 * _metrics(session)["TaskDuration"]


def idle_ms(page: Page, session: CDPSession, seconds: float) -> float:
    """What the page computes in so many seconds in which nobody writes."""
    began, clock = cpu_ms(session), time.monotonic()
    page.wait_for_timeout(5000)
    return (cpu_ms(session) - began) * seconds / (time.monotonic() - clock)


def memory(session: CDPSession) -> str:
    session.send("HeapProfiler.collectGarbage")
    found = _metrics(session)
    return f"{found['JSHeapUsedSize'] / 1e6:.1f} MB of objects, {found['Nodes']:.0f} nodes"


def _metrics(session: CDPSession) -> dict[str, float]:
    return {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}


if __name__ == "__main__":
    sys.exit(main())
