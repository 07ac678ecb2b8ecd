"""A workspace with life in it on a running service, with users of each role and a simulated phone."""

import copy
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import requests
from sqlalchemy import select

from persistence.accounts.accounts import set_password
from persistence.accounts.passwords import Passwords
from persistence.accounts.sign_ins import BY_PASSWORD, Browser, create_sign_in
from persistence.fields import create_field
from persistence.relayers.relayers import claim_phone
from persistence.tables.accounts import user
from persistence.tables.service import worker_heartbeat
from persistence.users import add_member, find_member
from persistence.workspaces.records import Workspace
from relayboard.commands.demo import begin_work, fill_workspace
from relayboard.phone.phone import Phone, PhoneState
from relayboard.phone.wire import HttpTransport
from relayboard.processes import listen
from testbed.running import RunningService, forked_service, wait_until
from testbed.tokens import SECRET_KEY

PASSWORD = "a long sentence is best"
ROLES = ("administrator", "editor", "viewer", "agent")
NUMBER = "+250788123123"
# Longer than a test waits: when a stream ends, pages load everything again, which would hide a change they missed.
STREAM_LASTS = "600"


@dataclass(slots=True)
class Clinic:
    """The service, and the phone of its workspace."""

    service: RunningService
    phone: Phone

    def email(self, role: str) -> str:
        return f"{role}@example.org"

    def signed_in(self, role: str) -> str:
        """The secret of a new sign-in: to type a password and check it would take longer than much that is tested."""
        with self.service.database.writing() as tx:
            user_id = tx.execute(select(user.c.id).where(user.c.email == self.email(role))).scalar_one()
            return create_sign_in(tx, user_id, BY_PASSWORD, Browser("127.0.0.1", "Chrome/140.0"), SECRET_KEY)[1]

    def sends(self, text: str) -> bool:
        """Whether the phone has got this text and sends it now."""
        self.phone.sync()
        self.phone.sync()
        has_it = any(held.text == text for held in self.phone.state.messages.values())
        self.phone.send_waiting()
        return has_it

    def sync(self) -> None:
        """What the phone does every few seconds: it fetches what to send, sends it, and reports, in portions."""
        self.phone.sync()
        self.phone.sync()
        self.phone.send_waiting()
        self.phone.sync()
        left = 0
        while len(self.phone.state.queue) != left:
            left = len(self.phone.state.queue)
            self.phone.sync()


@dataclass(frozen=True)
class Kept:
    """A workspace that was filled in this process before: the file of its database, its token, and its phone."""

    file: bytes
    workspace: Workspace
    token: str
    phone: PhoneState
    made_at: float


KEPT: list[Kept] = []
LISTENERS: list[socket.socket] = []
"""One, which stays open: a browser keeps the files of the console by the address at which it has loaded them."""
KEPT_SECONDS = 600
"""Records say how long ago something was: those of a workspace that was filled earlier are too old."""


@contextmanager
def running_clinic(folder: Path) -> Iterator[Clinic]:
    """Filled once for some minutes, and then begun again from the file; the worker starts when all is there, and the
    story goes on once.
    """
    path = folder / "relayboard.db"
    kept = next((each for each in KEPT if time.monotonic() - each.made_at < KEPT_SECONDS), None)
    made = (kept.workspace, kept.token) if kept else None
    if kept:
        path.write_bytes(kept.file)
    LISTENERS[:] = LISTENERS or [listen("127.0.0.1", 0)]
    url, listener = f"sqlite:///{path}", LISTENERS[0].dup()
    with forked_service(url, folder, ("api",), made, listener, STREAM_SECONDS=STREAM_LASTS) as service:
        phone = Phone(HttpTransport(service.url), copy.deepcopy(kept.phone) if kept else PhoneState())
        if not kept:
            fill(service, phone)
        service.start("worker")
        if not kept:
            begin(service)
            KEPT[:] = [keep(service, phone, path)]
        yield Clinic(service, phone)


def begin(service: RunningService) -> None:
    with requests.Session() as session:
        session.headers["Authorization"] = f"Token {service.token}"
        begin_work(session, service.url)
    wait_until(lambda: has_begun(service), "the messages of the story: later they would push down what tests write")


def has_begun(service: RunningService) -> bool:
    lists = (service.get(f"/api/v2/{name}.json")["results"] for name in ("flow_starts", "broadcasts"))
    return all(each["status"] == "completed" for records in lists for each in records)


def fill(service: RunningService, phone: Phone) -> None:
    phone.register()
    workspace = service.workspace
    password = Passwords().hash(PASSWORD)
    with service.database.writing() as tx:
        claim_phone(tx, workspace, phone.state.claim_code or "", NUMBER, "Clinic phone")
        for role in ROLES:
            add_member(tx, workspace.id, f"{role}@example.org", role, first_name="Joel", last_name=role.title())
            user_id = find_member(tx, workspace.id, f"{role}@example.org")
            assert user_id is not None
            set_password(tx, user_id, password)
    phone.sync()
    phone.sync()
    with service.database.writing() as tx:
        create_field(tx, workspace.id, "Due Date", "datetime")
        create_field(tx, workspace.id, "District", "text")
        user_id = find_member(tx, workspace.id, "agent@example.org") or 0
    fill_workspace(service.database, workspace, phone.state.relayer_id or 0, user_id)


def keep(service: RunningService, phone: Phone, path: Path) -> Kept:
    copied = path.with_name("kept.db")
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copied)) as target:
        source.backup(target)
        target.execute(f"DELETE FROM {worker_heartbeat.name}")
        target.commit()
    return Kept(
        copied.read_bytes(), service.workspace, service.token, copy.deepcopy(phone.state), made_at=time.monotonic()
    )
