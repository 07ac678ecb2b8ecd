"""What each message of anybody costs a person who has the inbox open: `python -m tools.console.traffic`.

Messages come from 250 people who wrote before, in turns, while a real browser shows the inbox: bytes over the wire (of
the stream, and of the answers to what the page asks because of it, with their headers, as they come through a
connection that counts them), CPU of the page, rows in it, and its memory after all of them. Most of these people are
not among the rows that are loaded; the first forty are (`--people 40`).

CPU is that of the page's own thread (scripts, style, layout and painting), and that of the whole process, with the
threads beside it that compose and draw, as the system counts it. What the page does while nobody writes is taken off.
Other work on the machine makes it more (caches, shared cores), also of the machine that this one is a part of: the
cheapest of rounds is told first, and what was measured in turns is compared.
"""

import argparse
import socket
import statistics
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import requests
from playwright.sync_api import Page
from sqlalchemy import select

from persistence.tables.channels import channel
from testbed.gateways import SECRET, add_gateway
from testbed.running import RunningService, forked_service, wait_until
from tools.console.opening import FEW, LEAST, fill, launched, signed_in

ROUND = 20
"""Messages of a round: what else the machine does makes a round dearer, never cheaper, so the cheapest one counts."""
WARM = 20
"""Messages before it is measured: the first ones compile what draws them."""
SEEN = "text => [...document.querySelectorAll('.conversation')].some(row => row.textContent.includes(text))"
CALM_SECONDS, IDLE_SECONDS = 3.0, 10.0
STREAM = b"/api/v2/stream"


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
        wire = Wire(service)
        measure(signed_in(browser, wire.url), wire, service, options)
    return 0


def measure(page: Page, wire: "Wire", service: RunningService, options: argparse.Namespace) -> None:
    process, sender = Process(page), Sender(service, options.people)
    for _ in range(WARM):
        sender.send()
    settle(page, sender)
    wire.clear()
    calm, rounds, count = idle(page, process), [], options.messages // ROUND * ROUND
    for _ in range(count // ROUND):
        cpu, began = process.cpu(), time.monotonic()
        for _ in range(ROUND):
            sender.send()
            page.wait_for_timeout(options.pause * 1000)
        rounds.append((process.cpu() - cpu - calm * (time.monotonic() - began)) / ROUND)
    settle(page, sender)
    streamed, answered, answers = wire.streamed / count, wire.answered / count, wire.answers / count
    sys.stdout.write(
        f"{count} messages: {streamed:.0f} bytes of the stream, {answered:.0f} of {answers:.2f} answers, "
        f"{figures([each.page for each in rounds])} ms of CPU in the page and "
        f"{figures([each.process for each in rounds])} in its process each; "
        f"{page.locator('.conversation').count()} rows in the page\n"
    )
    sys.stdout.write(f"memory before: {process.memory()}\n")
    for _ in range(options.live - options.messages):
        sender.send()
    settle(page, sender)
    sys.stdout.write(f"memory after {options.live} messages: {process.memory()}\n")


def figures(rounds: list[float]) -> str:
    return f"{min(rounds):.1f} (half of the rounds {statistics.median(rounds):.1f}, all {statistics.mean(rounds):.1f})"


class Wire:
    """Stands between the browser and a service, and counts the bytes of what the service says: of the stream, which
    does not end, and of answers.
    """

    def __init__(self, service: RunningService) -> None:
        self.clear()
        self._to = ("127.0.0.1", int(service.url.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def clear(self) -> None:
        self.streamed = self.answered = self.answers = 0

    def _accept(self) -> None:
        while True:
            browser, _ = self._listener.accept()
            server, asked = socket.create_connection(self._to), [b""]
            for way in ((browser, server, asked, True), (server, browser, asked, False)):
                threading.Thread(target=self._carry, args=way, daemon=True).start()

    def _carry(self, come: socket.socket, go: socket.socket, asked: list[bytes], is_asking: bool) -> None:
        with suppress(OSError):
            while piece := come.recv(1 << 16):
                if not is_asking:
                    self._count(asked[0], len(piece))
                elif piece.startswith((b"GET ", b"POST ", b"DELETE ")):
                    asked[0] = piece.split(b" ", 2)[1]
                    self.answers += STREAM not in asked[0]
                go.sendall(piece)
        for each in (come, go):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _count(self, asked: bytes, size: int) -> None:
        if STREAM in asked:
            self.streamed += size
        else:
            self.answered += size


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


@dataclass(frozen=True)
class Cpu:
    """Milliseconds for which the thread of a page, and all threads of its process, have computed."""

    page: float
    process: float

    def __sub__(self, other: "Cpu") -> "Cpu":
        return Cpu(self.page - other.page, self.process - other.process)

    def __mul__(self, factor: float) -> "Cpu":
        return Cpu(self.page * factor, self.process * factor)

    def __truediv__(self, parts: float) -> "Cpu":
        return self * (1 / parts)


class Process:
    """The browser's process that shows a page."""

    def __init__(self, page: Page) -> None:
        self._page = page.context.new_cdp_session(page)
        self._page.send("Performance.enable")
        assert page.context.browser is not None
        self._browser = page.context.browser.new_browser_cdp_session()

    def cpu(self) -> Cpu:
        processes = self._browser.send("SystemInfo.getProcessInfo")["processInfo"]
        (shown,) = (each for each in processes if each["type"] == "renderer")
        # The page has the first thread of its process.
        first = Path(f"/proc/{shown['id']}/task/{shown['id']}/schedstat").read_text()
        return Cpu(int(first.split()[0]) / 1e6, 1000 * float(shown["cpuTime"]))

    def memory(self) -> str:
        self._page.send("HeapProfiler.collectGarbage")
        found = {each["name"]: each["value"] for each in self._page.send("Performance.getMetrics")["metrics"]}
        return f"{found['JSHeapUsedSize'] / 1e6:.1f} MB of objects, {found['Nodes']:.0f} nodes"


def idle(page: Page, process: Process) -> Cpu:
    """What the page computes in a second in which nobody writes."""
    began, clock = process.cpu(), time.monotonic()
    page.wait_for_timeout(IDLE_SECONDS * 1000)
    return (process.cpu() - began) / (time.monotonic() - clock)


if __name__ == "__main__":
    sys.exit(main())
