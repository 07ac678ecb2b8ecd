"""`python -m tools.walk sms`: the files whose functions run in a case, in the order in which they are first entered,
with the function that is entered first. Without a case, a table of all cases: how many files, and how often the way
comes back into one that was left. `--write` puts lists and table into docs/walks.md. The service runs in this process,
on SQLite; each case runs once before it is watched, so that nothing is loaded or compiled meanwhile.
"""

import argparse
import io
import itertools
import logging
import os
import sqlite3
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from json import dumps, loads
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import patch

from starlette.testclient import TestClient

from handlers.app import create_app
from relayboard import cli
from relayboard.base.settings import load_settings
from relayboard.phone.phone import Phone
from relayboard.phone.wire import WireReply
from testbed.databases import open_database
from testbed.flow_rows import ask, definition, node, say
from testbed.patience import PATIENCE_SECONDS
from testbed.tokens import SECRET_KEY
from worker.http.safe_http import SafeHttp
from worker.jobs import JOBS
from worker.runtime import Runtime

ROOT = Path(__file__).parents[1]
PRODUCT = ("openapi", "handlers", "persistence", "flows", "channels", "worker", "relayboard")
ELSEWHERE = ("relayboard/phone/",)
"""What plays the world outside."""
NUMBERS = itertools.count(1)
NUMBER, PERSON = "+250788999999", "+250788000111"
PAGE = ROOT / "docs" / "walks.md"


@dataclass(slots=True)
class Watch:
    """Which files of the product are entered. A way is entered where a function of another file than the last one of
    its thread is called.
    """

    is_on: bool = False
    first: dict[str, str] = field(default_factory=dict)
    entered: Counter[str] = field(default_factory=Counter)
    _names: dict[str, str | None] = field(default_factory=dict)
    _last: dict[int, str] = field(default_factory=dict)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        if not self.is_on or event != "call":
            return
        code, thread = frame.f_code, threading.get_ident()
        name = self._name(code.co_filename)
        if name is None or self._last.get(thread) == name:
            return
        self._last[thread] = name
        self.first.setdefault(name, code.co_qualname)
        self.entered[name] += 1

    def _name(self, path: str) -> str | None:
        if path not in self._names:
            relative = os.path.relpath(path, ROOT)
            is_ours = relative.split(os.sep)[0] in PRODUCT and not relative.startswith(ELSEWHERE)
            self._names[path] = relative if is_ours else None
        return self._names[path]

    @contextmanager
    def watching(self) -> Iterator[None]:
        self.first.clear()
        self.entered.clear()
        self._last.clear()
        self.is_on = True
        try:
            yield
        finally:
            self.is_on = False

    @property
    def returns(self) -> int:
        return self.entered.total() - len(self.entered)


class Receiver(ThreadingHTTPServer):
    """Takes what the service sends, and counts it."""

    def __init__(self) -> None:
        taken = self.taken = []  # type: list[bytes]

        class Take(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                taken.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *arguments: object) -> None:
                """Says nothing."""

        super().__init__(("127.0.0.1", 0), Take)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/"


class House:
    """The service with a workspace, a phone, a flow that asks, a webhook, and time that can be moved."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._settings, self._folder = load_settings(_environment_in(folder)), folder
        self._ahead, self._woken = timedelta(), set[str]()
        url = self._settings.database_url
        database = open_database(url, clock=lambda: datetime.now(UTC) + self._ahead, wake=self._woken.update)
        self.receiver = Receiver()
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()
        stack.callback(self.receiver.shutdown)
        self.workspace = self._command("workspace", "create", "--name", "Riverside Health", "--country", "RW")["uuid"]
        mine = ("--workspace", self.workspace)
        self._command("user", "create", *mine, "--email", "head@example.org", "--role", "administrator")
        self._token = self._command("token", "create", *mine, "--email", "head@example.org")["token"]
        self.client = stack.enter_context(TestClient(create_app(self._settings, database=database), "http://localhost"))
        http = SafeHttp(allowed_networks=(ip_network("127.0.0.0/8"),), total_timeout_seconds=PATIENCE_SECONDS)
        runtime = Runtime(self._settings, database, http)
        stack.enter_context(runtime.closing)
        self._steps = {job.kind: job.begin(runtime) for job in JOBS}
        self._make_flow(folder, mine)
        self.phone = Phone(self)
        self.phone.register()
        claim = ("--claim-code", self.phone.state.claim_code or "", "--phone", NUMBER)
        channel = self._command("channel", "claim", *mine, *claim)["uuid"]
        self._command("channel", "webhook", "--channel", channel, "--url", self.receiver.url, "--event", "mo_sms")
        self.phone.sync()

    def _make_flow(self, folder: Path, mine: Sequence[str]) -> None:
        nodes = [ask("ask", {"yes": "thanks"}, "thanks", result="Fine"), node("thanks", [say("Thanks @results.fine")])]
        flow = definition("Asks", [node("greet", [say("Are you fine, @contact.first_name?")], "ask"), *nodes])
        path = folder / "flows.json"
        path.write_text(dumps({"version": "13", "site": "https://example.org", "flows": [flow]}))
        self._command("flow", "import", *mine, str(path))
        self.flow = flow["uuid"]
        self._command("trigger", "create", *mine, "--type", "keyword", "--keyword", "hello", "--flow", self.flow)

    def _command(self, *words: str) -> Any:
        return loads(_run(self._folder, *words))

    def post(self, path: str, query: Mapping[str, str], body: bytes) -> WireReply:
        """Lets the phone speak to the service."""
        answer = self.client.post(path, params=query, content=body, headers={"Content-Type": "application/json"})
        return WireReply(answer.status_code, answer.json())

    def ask(self, method: str, path: str, **options: Any) -> Any:
        headers = {"Authorization": f"Token {self._token}"}
        answer = self.client.request(method, f"/api/v2/{path}.json", headers=headers, **options)
        assert answer.is_success, answer.text
        return answer.json()

    def write(self, text: str) -> None:
        """The person writes an SMS, which the phone tells the service."""
        self.phone.receive_sms(PERSON, text)
        self.phone.sync()

    def work(self) -> None:
        """Does what the service was woken for, until nothing of it waits."""
        ends = time.monotonic() + PATIENCE_SECONDS
        while self._woken or self._is_under_way():
            assert time.monotonic() < ends, "the work does not end"
            kinds = frozenset(self._woken)
            self._woken.clear()
            for kind, step in self._steps.items():
                while kind in kinds and step():
                    pass

    def _is_under_way(self) -> bool:
        """Whether a thread has still to tell how a delivery went."""
        with closing(sqlite3.connect(self._folder / "walk.db")) as connection:
            found = connection.execute("SELECT 1 FROM delivery WHERE status = 'pending'").fetchone()
        return found is not None

    def wake(self, kind: str) -> None:
        self._woken.add(kind)

    def forget_wakes(self) -> None:
        """What waits is left to the case."""
        self._woken.clear()

    def move_time(self, **ahead: float) -> None:
        self._ahead += timedelta(**ahead)

    def time(self) -> str:
        return (datetime.now(UTC) + self._ahead).isoformat()


def _environment_in(folder: Path) -> dict[str, str]:
    return {
        "RELAYBOARD_DATABASE_URL": f"sqlite:///{folder / 'walk.db'}",
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_SYNC_HOLD_SECONDS": "0.01",  # the work is done after the answer
    }


def _run(folder: Path, *words: str) -> str:
    """What a command prints."""
    printed = io.StringIO()
    with patch.dict(os.environ, _environment_in(folder)), redirect_stdout(printed):
        status = cli.main(list(words))
    assert status == 0, f"{words} ended with {status}"
    return printed.getvalue()


Case = Callable[[House, Watch], None]


def walk_sms(house: House, watch: Watch) -> None:
    """A phone brings an SMS that answers a waiting flow, its event goes to a webhook, the phone fetches the reply."""
    house.write("hello")
    house.work()
    house.phone.sync()
    with watch.watching():
        house.write("yes")
        house.work()
        house.phone.sync()


def walk_broadcast(house: House, watch: Watch) -> None:
    """A broadcast to a contact, until its message is queued."""
    with watch.watching():
        house.ask("POST", "broadcasts", json={"urns": [f"tel:{PERSON}"], "text": "News"})
        house.work()


def walk_flow_start(house: House, watch: Watch) -> None:
    """A contact is put into a flow, until its first message is queued."""
    with watch.watching():
        house.ask("POST", "flow_starts", json={"flow": house.flow, "urns": [f"tel:{PERSON}"]})
        house.work()


def walk_messages(house: House, watch: Watch) -> None:
    """A page of messages."""
    with watch.watching():
        house.ask("GET", "messages", params={"folder": "sent"})


def walk_labels(house: House, watch: Watch) -> None:
    """A list of labels."""
    with watch.watching():
        house.ask("GET", "labels")


def walk_delivery(house: House, watch: Watch) -> None:
    """An event that waits is delivered to its receiver."""
    house.write("nothing that anybody waits for")
    house.forget_wakes()
    with watch.watching():
        house.wake("webhooks")
        house.work()


def walk_import(house: House, watch: Watch) -> None:
    """A file of contacts is uploaded, looked at and imported."""
    people = b"Name,Phone\nAmina,+250788000222\nJean,+250788000333\n"
    with watch.watching():
        made = house.ask("POST", "contact_imports", files={"file": ("people.csv", people, "text/csv")})
        house.work()
        house.ask("POST", "contact_import_actions", json={"import": made["uuid"], "action": "start"})
        house.work()


def walk_campaign(house: House, watch: Watch) -> None:
    """A campaign's message to a contact becomes due, until it is queued."""
    name = f"Visits {next(NUMBERS)}"
    group = house.ask("POST", "groups", json={"name": name})["uuid"]
    field = house.ask("POST", "fields", json={"label": name, "value_type": "datetime"})["key"]
    campaign = house.ask("POST", "campaigns", json={"name": name, "group": group})["uuid"]
    event = {"campaign": campaign, "relative_to": field, "offset": 1, "unit": "days", "delivery_hour": -1}
    house.ask("POST", "campaign_events", json={**event, "message": {"eng": "Come tomorrow"}})
    person = {"name": "Amina", "fields": {field: house.time()}, "groups": [group]}
    house.ask("POST", "contacts", params={"urn": f"tel:{PERSON}"}, json=person)
    house.work()
    house.move_time(days=1, minutes=1)
    with watch.watching():
        house.wake("campaigns")
        house.work()


CASES: Mapping[str, Case] = {
    "sms": walk_sms,
    "broadcast": walk_broadcast,
    "flow_start": walk_flow_start,
    "messages": walk_messages,
    "labels": walk_labels,
    "delivery": walk_delivery,
    "import": walk_import,
    "campaign": walk_campaign,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.walk", description=__doc__)
    parser.add_argument("case", nargs="?", choices=CASES, help="the case whose files are listed")
    parser.add_argument("--write", action="store_true", help="write docs/walks.md")
    options = parser.parse_args(arguments)
    watch = Watch()
    table, lists = ["| Case | Files | Ways back |", "|---|---|---|"], []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _run(folder, "migrate")  # unwatched, which is faster
        for set_profile in (sys.setprofile, threading.setprofile):
            stack.callback(set_profile, None)
            set_profile(watch)
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.INFO)
        house = House(folder, stack)
        for name, case in CASES.items():
            if options.case in (None, name):
                case(house, watch)
                case(house, watch)
                table.append(f"| {name}: {case.__doc__} | {len(watch.entered)} | {watch.returns} |")
                lists.append(_list(name, watch))
    if options.write:
        PAGE.write_text("\n".join([HEAD, *table, "", *lists]), encoding="utf-8")
    else:
        sys.stdout.write("\n".join(lists if options.case else [*table, ""]))
    return 0


def _list(name: str, watch: Watch) -> str:
    lines = [f"{number}. `{each}`: `{function}`" for number, (each, function) in enumerate(watch.first.items(), 1)]
    return "\n".join([f"## {name}", "", *lines, ""])


HEAD = """# Walks

Written by `python -m tools.walk --write`: the files whose functions run in some cases, in the order in which they are
first entered, each with the function that is entered first. A way back is a call into a file that was left before.
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
