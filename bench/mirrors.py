"""`python -m bench.mirrors`: two clients keep a copy of a workspace by polling, as docs/live.md says, and nothing else.

People write, rename, merge and delete through the API, and transactions stay open for seconds, for ten minutes on each
database (`--minutes`). One client polls each second, the other each eleven. At the end both copies are compared with
what the lists show. The run fails (status 1) if a record is missing, too much, or not what it is.
"""

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
from sqlalchemy import select

from channels.types import DEFAULT_GATEWAY
from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.definitions.importing import import_definitions
from persistence.errors import LostRace
from persistence.service.backlog import read_backlog
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from testbed.flow_rows import ask, definition, say, uuid_of
from testbed.patience import PATIENCE_SECONDS
from testbed.quality_page import write_section
from testbed.running import RunningService, forked_service, wait_until
from testbed.servers import postgres_database, postgres_server

BY_MODIFIED_AFTER = ("messages", "broadcasts", "channels")
BY_AFTER = ("contacts", "runs", "flows", "flow_starts", "tickets", "globals")
WHOLE = ("groups", "labels", "fields")
"""Lists without a time; they are short."""
KEYS = {"globals": "key", "fields": "key"}
KINDS: dict[str, str] = {
    "campaign_event": "campaign_events",
    "channel": "channels",
    "contact": "contacts",
    "contact_note": "contact_notes",
    "field": "fields",
    "global": "globals",
    "group": "groups",
    "label": "labels",
    "run": "runs",
    "saved_reply": "saved_replies",
    "subscriber": "resthook_subscribers",
    "ticket": "tickets",
}
NEXT = "Next-Modified-After"
OF_OTHERS = ("name", "urn", "first_name", "last_name")
REST_SECONDS = 900.0
"""A busy machine does what is left later."""
PAUSES = {"quick": 1.0, "slow": 11.0}
REFUSED = (400, 404, 409)
"""Another writer was faster."""

Record = dict[str, Any]


@dataclass(slots=True)
class Client:
    """Requests with the token of a workspace."""

    url: str
    token: str
    session: requests.Session = field(default_factory=requests.Session)

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> requests.Response:
        address = path if path.startswith("http") else f"{self.url}/api/v2/{path}.json"
        headers = {"Authorization": f"Token {self.token}"}
        return self.session.request(method, address, json=body, params=query, headers=headers, timeout=PATIENCE_SECONDS)

    def walk(self, name: str, **query: Any) -> tuple[list[Record], str | None]:
        """All records of a list, and the time with which to ask next."""
        answer = self.ask("GET", name, **query)
        found: list[Record] = []
        while True:
            answer.raise_for_status()
            page = answer.json()
            found += page["results"]
            if page["next"] is None:
                return found, answer.headers.get(NEXT)
            answer = self.ask("GET", page["next"])


@dataclass(slots=True)
class Mirror:
    """A copy of the workspace by list and key. What was deleted is asked for before the lists: a record that a list
    shows later is there again.
    """

    client: Client
    records: dict[str, dict[str, Record]] = field(default_factory=dict)
    asked_on: dict[str, str] = field(default_factory=dict)
    polls: int = 0
    got: Counter[str] = field(default_factory=Counter)

    def poll(self) -> None:
        self.polls += 1
        for gone in self._news("deletions", "after"):
            self.got["deletions"] += 1
            self.records.get(KINDS[gone["type"]], {}).pop(gone["uuid"] or gone["key"], None)
        for name in (*BY_MODIFIED_AFTER, *BY_AFTER):
            copy, key = self.records.setdefault(name, {}), KEYS.get(name, "uuid")
            for record in self._news(name, "modified_after" if name in BY_MODIFIED_AFTER else "after"):
                self.got[name] += 1
                if record.get("visibility") == "deleted":
                    copy.pop(record[key], None)
                else:
                    copy[record[key]] = record
        for name in WHOLE:
            self.records[name] = {each[KEYS.get(name, "uuid")]: each for each in self.client.walk(name)[0]}

    def _news(self, name: str, parameter: str) -> list[Record]:
        known = self.asked_on.get(name)
        found, following = self.client.walk(name, **({parameter: known} if known else {}))
        assert following is not None, f"{name} does not say with what to ask next"
        self.asked_on[name] = following
        return found


def own(value: Any, *, is_own: bool = True) -> Any:
    """A record without what it shows of others beside their UUIDs, by which a mirror joins them."""
    if isinstance(value, list):
        return [own(each, is_own=False) for each in value]
    if not isinstance(value, dict):
        return value
    is_other = not is_own and ("uuid" in value or "email" in value)
    shown = {key: own(each, is_own=False) for key, each in value.items() if not (is_other and key in OF_OTHERS)}
    if is_own and isinstance(value.get("fields"), dict):
        shown["fields"] = {key: each for key, each in value["fields"].items() if each is not None}
    return shown


class Writers:
    """What people do, each operation with records that exist at that moment."""

    def __init__(self, client: Client, database: Database, workspace: Workspace) -> None:
        self.client, self.database, self.workspace = client, database, workspace
        self.did: Counter[str] = Counter()
        self.uuids: dict[str, list[str]] = {name: [] for name in ("contacts", "groups", "labels", "channels")}
        self.numbers = iter(range(10**6))
        self.bring_in("Survey")
        for _ in range(40):
            self.make_contact()
        for _ in range(4):
            self.make("groups")
            self.make("labels")

    def bring_in(self, name: str) -> None:
        answers: dict[str, Any] = {"red": None}
        question = ask("colour", answers, "colour", result="Colour", actions=[say("Which colour?")])
        document = {**definition("survey", [question]), "name": name}
        self.database.write(lambda tx: import_definitions(tx, self.workspace, document))

    def write(self, what: str, method: str, path: str, body: Any = None, **query: Any) -> Any:
        answer = self.client.ask(method, path, body, **query)
        if answer.status_code in REFUSED:
            self.did["refused"] += 1
            return None
        answer.raise_for_status()
        self.did[what] += 1
        return answer.json() if answer.content else None

    def some(self, name: str) -> str:
        return random.choice(self.uuids[name])  # nobody has to be surprised

    def make_contact(self) -> None:
        body = {"name": f"Person {next(self.numbers)}", "urns": [f"tel:+25078{1000000 + next(self.numbers)}"]}
        made = self.write("contacts created", "POST", "contacts", body)
        if made:
            self.uuids["contacts"].append(made["uuid"])

    def make(self, name: str) -> None:
        made = self.write(f"{name} created", "POST", name, {"name": f"Name {next(self.numbers)}"})
        if made:
            self.uuids[name].append(made["uuid"])

    def rename_contact(self) -> None:
        body = {"name": f"Renamed {next(self.numbers)}"}
        self.write("contacts renamed", "POST", "contacts", body, uuid=self.some("contacts"))

    def delete_contact(self) -> None:
        self.make_contact()
        gone = self.uuids["contacts"].pop(random.randrange(len(self.uuids["contacts"])))
        self.write("contacts deleted", "DELETE", "contacts", uuid=gone)

    def merge(self) -> None:
        self.make_contact()
        gone = self.uuids["contacts"].pop(random.randrange(len(self.uuids["contacts"])))
        self.write("contacts merged", "POST", "contact_merges", {"contact": self.some("contacts"), "other": gone})

    def send(self) -> None:
        self.write("messages sent", "POST", "messages", {"contact": self.some("contacts"), "text": "Hello"})

    def change_messages(self) -> None:
        found = self.client.ask("GET", "messages").json()["results"]
        ids = [each["id"] for each in random.sample(found, min(3, len(found)))]
        action = random.choice(["delete", "archive", "restore", "label", "unlabel"])
        of_label = {"label": self.some("labels")} if "label" in action else {}
        self.write(f"messages: {action}", "POST", "message_actions", {"messages": ids, "action": action, **of_label})

    def broadcast(self) -> None:
        body = {"text": {"eng": "News"}, "base_language": "eng", "contacts": [self.some("contacts") for _ in range(3)]}
        self.write("broadcasts", "POST", "broadcasts", body)

    def start(self) -> None:
        body = {"flow": uuid_of("flow survey"), "contacts": [self.some("contacts") for _ in range(3)]}
        self.write("flow starts", "POST", "flow_starts", body)

    def interrupt(self) -> None:
        body = {"contacts": [self.some("contacts")], "action": random.choice(["interrupt", "block", "unblock"])}
        self.write("contact actions", "POST", "contact_actions", body)

    def rename_flow(self) -> None:
        self.bring_in(f"Survey {next(self.numbers)}")
        self.did["flows renamed"] += 1

    def write_ticket(self) -> None:
        made = self.write("tickets opened", "POST", "tickets", {"contact": self.some("contacts")})
        if made:
            body = {"tickets": [made["uuid"]], "action": random.choice(["close", "add_note"]), "note": "Called"}
            self.write("tickets changed", "POST", "ticket_actions", body)

    def write_global(self) -> None:
        name = f"Value {next(self.numbers) % 50}"
        if self.write("globals", "POST", "globals", {"name": name, "value": "1"}) is None:
            self.write("globals deleted", "DELETE", "globals", key=name.lower().replace(" ", "_"))

    def regroup(self) -> None:
        for name in ("groups", "labels"):
            self.make(name)
            self.write(f"{name} renamed", "POST", name, {"name": f"New {next(self.numbers)}"}, uuid=self.some(name))
            self.write(f"{name} deleted", "DELETE", name, uuid=self.uuids[name].pop(0))

    def add_to_group(self) -> None:
        body = {"contacts": [self.some("contacts")], "action": "add", "group": self.some("groups")}
        self.write("contacts grouped", "POST", "contact_actions", body)

    def change_channel(self) -> None:
        body = {
            "type": DEFAULT_GATEWAY,
            "name": "Gateway",
            "address": str(10000 + next(self.numbers)),
            "settings": {"send_url": "https://sms.example.net/send"},
        }
        made = self.write("channels created", "POST", "channel_settings", body)
        if made:
            self.uuids["channels"].append(made["uuid"])
        if len(self.uuids["channels"]) > 3:
            self.write("channels released", "DELETE", "channel_settings", uuid=self.uuids["channels"].pop(0))

    def write_slowly(self, seconds: float) -> None:
        """A transaction that commits long after it wrote."""

        def change(tx: Transaction) -> None:
            mine = (contact.c.workspace_id == self.workspace.id) & (contact.c.uuid == self.some("contacts"))
            contact_id = tx.execute(select(contact.c.id).where(mine)).scalar_one_or_none()
            if contact_id is not None:
                change_contact(tx, self.workspace, contact_id, ContactChange(name=f"Slow {next(self.numbers)}"))
                tx.flush()
                time.sleep(seconds)

        try:
            self.database.write(change)
            self.did["slow transactions"] += 1
        except LostRace:
            self.did["refused"] += 1

    def operations(self, slow_seconds: float) -> list[Callable[[], None]]:
        return [
            *(self.send, self.send, self.change_messages, self.rename_contact, self.rename_contact),
            *(self.delete_contact, self.merge, self.broadcast, self.start, self.interrupt, self.rename_flow),
            *(self.write_ticket, self.write_global, self.regroup, self.add_to_group, self.change_channel),
            lambda: self.write_slowly(slow_seconds),
        ]


NEVER_ENDING = ("sending", "webhooks")
"""Work that is tried again and again: nobody listens where the writers' channels call."""


def run(service: RunningService, minutes: float, slow_seconds: float) -> tuple[Writers, dict[str, Mirror], list[str]]:
    """Writes and polls for so long; returns what was done, the mirrors, and what in them is not as it should be."""
    client = Client(service.url, service.token)
    writers = Writers(client, service.database, service.workspace)
    mirrors = {name: Mirror(Client(service.url, service.token)) for name in PAUSES}
    is_over, is_written = threading.Event(), threading.Event()

    def write(seed: int) -> None:
        mine = writers.operations(slow_seconds)
        while not is_over.is_set():
            mine[seed % len(mine)]()
            seed += 7

    def follow(name: str) -> None:
        while not is_written.wait(PAUSES[name]):
            mirrors[name].poll()
        mirrors[name].poll()

    with ThreadPoolExecutor(8) as threads:
        following = [threads.submit(follow, name) for name in mirrors]
        writing = [threads.submit(write, seed) for seed in range(4)]
        try:
            is_over.wait(minutes * 60)
            is_over.set()
            for each in writing:
                each.result(PATIENCE_SECONDS)
            wait_until(lambda: _is_at_rest(service), "the worker to come to rest", REST_SECONDS)
            service.stop("worker")  # which goes on trying to send
        finally:  # otherwise those who follow never end
            is_over.set()
            is_written.set()
        for each in following:
            each.result(PATIENCE_SECONDS)
    return writers, mirrors, [f"{name}: {fault}" for name, mirror in mirrors.items() for fault in compare(mirror)]


def _is_at_rest(service: RunningService) -> bool:
    with service.database.reading() as tx:
        waiting = read_backlog(tx).kinds
    return not any(each.count for kind, each in waiting.items() if kind not in NEVER_ENDING)


def compare(mirror: Mirror) -> list[str]:
    """What is missing in a mirror, too much, or different."""
    faults = []
    for name, copy in mirror.records.items():
        shown = {each[KEYS.get(name, "uuid")]: own(each) for each in mirror.client.walk(name)[0]}
        kept = {key: own(record) for key, record in copy.items()}
        faults += [f"{name} {key} is missing" for key in shown.keys() - kept.keys()]
        faults += [f"{name} {key} is gone" for key in kept.keys() - shown.keys()]
        for key in shown.keys() & kept.keys():
            was, now = kept[key], shown[key]
            parts = [(part, was.get(part), now[part]) for part in now if was.get(part) != now[part]]
            faults += [f"{name} {key}: {parts}"] if parts else []
    return faults


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'mirrors.db'}"
        return
    with postgres_server() as server, postgres_database(server) as url:
        yield url


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mirrors", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="on each database")
    parser.add_argument("--database", choices=("sqlite", "postgresql", "both"), default="both")
    options = parser.parse_args(arguments)
    failed = False
    rows = []
    for kind in ("sqlite", "postgresql") if options.database == "both" else (options.database,):
        with (
            tempfile.TemporaryDirectory(prefix="mirrors") as folder,
            _database(kind, Path(folder)) as url,
            forked_service(url, Path(folder)) as service,
        ):
            # On SQLite everybody waits for a transaction that writes; PostgreSQL ends one that is idle for three.
            done, mirrors, faults = run(service, options.minutes, 0.2 if kind == "sqlite" else 2.0)
        failed |= bool(faults)
        writes = sum(done.did.values()) - done.did["refused"]
        for name, mirror in mirrors.items():
            kept = sum(map(len, mirror.records.values()))
            told = sum(mirror.got.values())
            wrong = sum(fault.startswith(f"{name}:") for fault in faults)
            rows.append(
                f"| {kind} | {options.minutes:g} | {writes:,} | {name} | {mirror.polls} | {told:,} "
                f"| {mirror.got['deletions']:,} | {kept:,} | {wrong} |"
            )
            print(rows[-1], flush=True)
        print("\n".join(f"  {name}: {number:,}" for name, number in sorted(done.did.items())))
        print("\n".join(faults[:50]), flush=True)
    if options.database == "both":
        write_section("Mirrors", SECTION.format(rows="\n".join(rows)))
    return int(failed)


SECTION = """
<!-- not run: tests/quality/test_mirrors.py does it in small -->

    python -m bench.mirrors

lets four writers create, change, rename, merge and delete what a workspace has, through the API, for ten minutes on
each database (`--minutes`). Every seventeenth write is a transaction that stays open after it wrote: for two seconds
on PostgreSQL, a fifth of a second on SQLite, where nobody else writes meanwhile. Two clients keep a copy by polling, by
what [following changes](live.md#by-polling) says and nothing else: one each second, one each eleven. At the end both
are compared with what the lists show, record by record, without the names of others.

| Database | Minutes | Writes | Client | Polls | Records got | Deletions got | Records kept | Wrong at the end |
|---|---|---|---|---|---|---|---|---|
{rows}
"""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
