"""Several workspaces on one running service: what each of them does, and how long its contacts wait."""

import os
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import requests
from sqlalchemy import Executable, literal, select, text

from persistence.database import Database
from persistence.relayers.relayers import claim_phone
from persistence.statements import statement
from persistence.tables.channels import channel
from persistence.tables.contacts import contact_urn
from persistence.tables.flows import flow
from persistence.tables.messages import OUTGOING, message
from persistence.triggers.records import KEYWORD, NewTrigger, create_trigger
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.phone.phone import Phone, sign_body, write_body
from relayboard.phone.wire import HttpTransport
from testbed.flow_rows import definition, node, say, store_flow
from testbed.gateways import SECRET, add_gateway
from testbed.running import RunningService, running_service
from testbed.servers import postgres_database, postgres_server
from testbed.tokens import make_token

SMS_PER_SYNC = 50
"""As many as a phone reports in one sync."""
SYNC_HEADERS = {"Content-Type": "application/json; charset=utf-8"}

LOOK_SECONDS = 0.002
LONGEST_WAIT_SECONDS = 120.0
GREETING = "hello"


@dataclass(slots=True)
class Tenant:
    """A workspace with a token and a gateway, by which its contacts write."""

    running: RunningService
    workspace: Workspace
    token: str
    channel_id: int
    receive_url: str
    session: requests.Session

    @classmethod
    def begin(cls, running: RunningService, name: str, send_url: str) -> "Tenant":
        with running.database.writing() as tx:
            workspace = create_workspace(tx, name, country="RW", timezone="Africa/Kigali")
        channel_id = add_gateway(running.database, workspace, send_url)
        with running.database.reading() as tx:
            uuid = tx.execute(select(channel.c.uuid).where(channel.c.id == channel_id)).scalar_one()
        token = make_token(running.database, workspace, "administrator")
        return cls(
            running, workspace, token, channel_id, f"{running.url}/c/ex/{uuid}/{SECRET}/receive", requests.Session()
        )

    def answer_keyword(self, word: str, actions: Sequence[dict[str, Any]]) -> str:
        """A flow that does this when a contact writes a word; its uuid."""
        with self.running.database.writing() as tx:
            named = f"{word} of {self.workspace.name}"
        uuid = store_flow(self.running.database, self.workspace, definition(named, [node(named, actions)]))
        with self.running.database.writing() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == uuid)).scalar_one()
            create_trigger(tx, self.workspace.id, NewTrigger(KEYWORD, flow_id, keywords=(word,)))
        return uuid

    def greet(self) -> None:
        """Contacts who write the greeting are answered."""
        self.answer_keyword(GREETING, [say("Welcome!")])

    def write(self, number: int, text: str) -> None:
        """A contact writes."""
        answer = self.session.post(self.receive_url, data={"from": _number_of(number), "text": text}, timeout=60)
        answer.raise_for_status()

    def has_reply(self, number: int) -> bool:
        """Whether a contact has been answered; to look often costs little, however many others have been."""
        with self.running.database.reading() as tx:
            return bool(_find_reply.rows(tx, self.workspace.id, _number_of(number)))

    def wait_for_reply(self, number: int) -> float:
        """The seconds from the first greeting of a contact until the reply is committed."""
        began = time.monotonic()
        self.write(number, GREETING)
        while not self.has_reply(number):
            if time.monotonic() - began > LONGEST_WAIT_SECONDS:
                break
            time.sleep(LOOK_SECONDS)
        return time.monotonic() - began


@statement
def _find_reply(workspace_id: int, path: str) -> Executable:
    urns = contact_urn.c
    theirs = (urns.workspace_id == workspace_id) & (urns.scheme == "tel") & (urns.path == path)
    answered = select(message.c.id).join(contact_urn, urns.contact_id == message.c.contact_id)
    return answered.where(theirs, message.c.direction == literal(OUTGOING, literal_execute=True)).limit(1)


def _number_of(number: int) -> str:
    return f"+25078{number:07}"


def measure_replies(tenant: Tenant, count: int, *, first: int = 0, pause_seconds: float = 0.02) -> list[float]:
    """How long contacts wait that write one after another."""
    waits = []
    for number in range(count):
        waits.append(tenant.wait_for_reply(first + number))
        time.sleep(pause_seconds)
    return waits


def describe(waits: Sequence[float]) -> dict[str, float]:
    """Median, 99th percentile and longest, in milliseconds."""
    ordered = sorted(waits)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return {
        "count": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 1),
        "p99_ms": round(p99 * 1000, 1),
        "longest_ms": round(ordered[-1] * 1000, 1),
    }


def compare(experiment: str, alone: Sequence[float], beside: Sequence[float], **more: Any) -> dict[str, Any]:
    """The result of an experiment; `ratio` compares the 99th percentiles."""
    first, second = describe(alone), describe(beside)
    ratio = round(second["p99_ms"] / first["p99_ms"], 2)
    return {"experiment": experiment, "alone": first, "beside": second, "ratio": ratio, **more}


@contextmanager
def service(kind: str, **settings: str) -> Iterator[RunningService]:
    """A running service on a database of its own."""
    with TemporaryDirectory(prefix="bench") as folder:
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


def processor_seconds(running: RunningService, only: str | None = None) -> float:
    """What the API, the worker and the database's processes have used so far, or only one of them; on Linux."""
    roots = {process.pid for name, process in running.processes.items() if only in (None, name)}
    if only is None and not running.database.sqlite:
        with running.database.reading() as tx:
            roots.add(_read_stat(int(tx.execute(text("SELECT pg_backend_pid()")).scalar_one()))[0])
    every = {int(entry.name): _read_stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    ticks = sum(used for pid, (parent, used) in every.items() if pid in roots or parent in roots)
    return ticks / os.sysconf("SC_CLK_TCK")


def _read_stat(pid: int) -> tuple[int, int]:
    """The parent of a process and the ticks that it and its ended children have used; nothing of one that is gone."""
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return int(fields[1]), sum(int(each) for each in fields[11:15])


def claim(url: str, database: Database, workspace: Workspace, number: int) -> Phone:
    """A new phone of the workspace, which knows that it is claimed."""
    phone = Phone(HttpTransport(url))
    phone.register()
    with database.writing() as tx:
        claim_phone(tx, workspace, phone.state.claim_code or "", f"+25078899{number:04}", None)
    phone.sync()
    return phone


def write_sync(phone: Phone, messages: Iterable[tuple[str, str]]) -> bytes:
    """The body of a sync in which a phone reports SMS: of each the number of who wrote, and the text."""
    moment = int(time.time() * 1000)
    identity = {"cmd": "fcm", "fcm_id": phone.state.push_token, "uuid": phone.state.device_uuid}
    reports = [
        {"cmd": "mo_sms", "phone": number, "ts": moment, "msg": content, "p_id": index}
        for index, (number, content) in enumerate(messages)
    ]
    return write_body([identity, *reports])


def sign_sync(phone: Phone, body: bytes) -> str:
    """The path of a sync with this body."""
    ts = str(int(time.time()))
    signature = quote(sign_body(phone.state.secret or "", ts, body))
    return f"/relayers/relayer/sync/{phone.state.relayer_id}/?ts={ts}&signature={signature}"
