"""The workspaces of a run: each sends SMS and receives them through whichever node answers, and knows what it did."""

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from sqlalchemy import select, update

from persistence.channels.channels import new_webhook_secret
from persistence.database import Database
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace
from testbed.gateways import SECRET, add_gateway
from testbed.tokens import make_token
from testbed.traffic import IN, OUT, Outside

REPEAT_SECONDS = 0.1
ANSWER_SECONDS = 60.0
AGAIN = (429, 503)


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
            return session.post(url, timeout=ANSWER_SECONDS, **options).status_code
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
