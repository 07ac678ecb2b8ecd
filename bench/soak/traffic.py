"""Steady traffic: messages in that start a flow, its replies and broadcasts out, events of a campaign, deliveries."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, update

from bench.fairness.tenants import GREETING, Tenant
from persistence.channels.channels import new_webhook_secret
from persistence.tables.channels import channel
from testbed.flow_rows import say
from testbed.running import RunningService
from testbed.traffic import Outside

CONTACTS = 200
"""They write again and again: there are no new ones."""
NUMBER = re.compile(r"hello (\d+)")
CAMPAIGN_EVERY, LIST_EVERY = 5, 2
"""Every so many rounds a contact gets a new date, and somebody reads a list."""


class TimedOutside(Outside):
    """Gateway and receiver, which note when they got what the round of a number caused."""

    def __init__(self) -> None:
        self.replied: dict[int, float] = {}
        self.delivered: dict[int, float] = {}
        super().__init__()

    def _note(self, path: str, form: dict[str, list[str]]) -> None:
        found = NUMBER.search(form.get("text", [""])[0])
        if found:
            kept = self.replied if path.startswith("/send") else self.delivered
            kept.setdefault(int(found[1]), time.monotonic())


@dataclass(slots=True)
class Soaking:
    """The traffic on a service. `requests`, `replies` and `deliveries` are seconds that each took, since they were last
    taken away; `failed` are requests that were not answered as they should be.
    """

    tenant: Tenant
    outside: TimedOutside
    contacts: list[str] = field(default_factory=list)
    rounds: int = 0
    begun: dict[int, float] = field(default_factory=dict)
    requests: list[float] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    stopping: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def begin(cls, service: RunningService, contacts: int) -> "Soaking":
        outside = TimedOutside()
        tenant = Tenant.begin(service, "Soak", f"{outside.url}/send")
        tenant.answer_keyword(GREETING, [say("You wrote @input.text")])
        with service.database.writing() as tx:
            hook = {"webhook_url": f"{outside.url}/hook", "webhook_secret": new_webhook_secret()}
            mine = (channel.c.workspace_id == tenant.workspace.id) & (channel.c.id == tenant.channel_id)
            tx.execute(update(channel).where(mine).values(**hook))
            assert tx.execute(select(channel.c.id).where(mine)).scalar_one()
        soaking = cls(tenant, outside)
        soaking.prepare(contacts)
        return soaking

    def prepare(self, contacts: int) -> None:
        """Contacts, and a campaign that writes to them a minute after their date."""
        self.ask("fields", {"name": "Joined", "type": "datetime"})
        group = self.ask("groups", {"name": "Members"})["uuid"]
        campaign = self.ask("campaigns", {"name": "Follow-up", "group": group})["uuid"]
        event = {"relative_to": "joined", "offset": 1, "unit": "minutes", "delivery_hour": -1}
        self.ask("campaign_events", {**event, "campaign": campaign, "message": {"eng": "How are you?"}})
        for number in range(contacts):
            body = {"name": f"Contact {number}", "urns": [f"tel:{phone(number)}"], "groups": [group]}
            self.contacts.append(self.ask("contacts", body)["uuid"])
        assert not self.failed, self.failed[0]
        self.requests.clear()

    @contextmanager
    def flowing(self, per_second: float) -> Iterator[None]:
        thread = threading.Thread(target=self._run, args=(per_second,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.stopping.set()
            thread.join()

    def take(self) -> tuple[list[float], list[float], list[float]]:
        """The seconds of requests, replies and deliveries since the last time."""
        asked, self.requests = self.requests, []
        ways: list[list[float]] = []
        for came in (self.outside.replied, self.outside.delivered):
            known = {number: came.pop(number) for number in list(came)}
            ways.append([at - self.begun[number] for number, at in known.items() if number in self.begun])
        return asked, ways[0], ways[1]

    def ask(self, name: str, body: dict[str, Any] | None = None, **query: str) -> Any:
        """A request of the API; the record it answers with."""
        url = f"{self.tenant.running.url}/api/v2/{name}.json"
        headers = {"Authorization": f"Token {self.tenant.token}"}
        method = "GET" if body is None else "POST"
        return self._measured(method, url, json=body, params=query, headers=headers)

    def _run(self, per_second: float) -> None:
        """At a steady rate. Rounds for which there was no time are not made up for."""
        due = time.monotonic()
        while not self.stopping.wait(max(0.0, due - time.monotonic())):
            self._round()
            self.rounds += 1
            due = max(due + 1 / per_second, time.monotonic())

    def _round(self) -> None:
        number = self.rounds
        written = {"from": phone(number % len(self.contacts)), "text": f"{GREETING} {number}"}
        self.begun[number] = time.monotonic()
        self._measured("POST", self.tenant.receive_url, data=written)
        self.ask("broadcasts", {"urns": [f"tel:{phone((number + 1) % len(self.contacts))}"], "text": f"Note {number}"})
        if number % CAMPAIGN_EVERY == 0:
            date = {"fields": {"joined": datetime.now(UTC).isoformat()}}
            self.ask("contacts", date, uuid=self.contacts[number % len(self.contacts)])
        if number % LIST_EVERY == 0:
            self.ask("messages", folder="inbox")

    def _measured(self, method: str, url: str, **request: Any) -> Any:
        began = time.monotonic()
        answer = self.tenant.session.request(method, url, timeout=60, **request)
        self.requests.append(time.monotonic() - began)
        if not answer.ok:
            self.failed.append(f"{method} {url}: {answer.status_code} {answer.text[:300]}")
            return {"uuid": ""}
        return answer.json()


def phone(number: int) -> str:
    return f"+25078{number:07}"
