"""A phone's channel, contacts and a small survey, for tests of flows at work."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import insert, select

from flows.urns import Urn
from persistence.contacts.audience import Audience
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.flow_starts.flow_starts import NewStart, create_start
from persistence.messages.incoming import Received, store_received
from persistence.sql.columns import new_uuid
from persistence.tables.channels import channel_event
from persistence.tables.contacts import contact
from persistence.tables.flows import API, flow
from persistence.tables.messages import OUTGOING, QUEUED, SENT, message
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.conftest import Clock
from worker.dispatcher import Finished
from worker.flows.incoming import begin_calls, begin_incoming
from worker.flows.parked import ParkedSprints
from worker.flows.starts import begin_starts, begin_timers
from worker.runtime import Runtime


def begin_parked_here(runtime: Runtime) -> Callable[[], bool]:
    """The step that runs sprints that may call the outside, one after the other in this thread."""
    parked = ParkedSprints(runtime)

    def step() -> bool:
        with runtime.database.writing() as tx:
            leased = parked.lease(tx, dict.fromkeys(parked.list_due(tx), 100))
        finished = [Finished(item, receiver, *parked.call(item)) for receiver, item in leased.items]
        with runtime.database.writing() as tx:
            parked.record(tx, finished)
        return bool(finished)

    return step


class Stage:
    """Sends messages of contacts, starts flows and lets the worker do everything that is due."""

    def __init__(self, database: Database, workspace: Workspace, runtime: Runtime, clock: Clock) -> None:
        self.database = database
        self.workspace = workspace
        self.runtime = runtime
        self.clock = clock
        self.channel_id = add_channel(database, workspace)
        self.is_phone_on = True
        self._received = 0
        self._steps: Sequence[Callable[[], bool]] = [
            begin(runtime)
            for begin in (begin_incoming, begin_calls, begin_timers, begin_starts, begin_parked_here, begin_starts)
        ]

    def work(self) -> None:
        """Everything that is due; then the phone sends what it was given, unless it is off."""
        while sum(step() for step in self._steps):
            pass
        waits = (message.c.direction == OUTGOING) & (message.c.status == QUEUED)
        if self.is_phone_on:
            with self.database.writing() as tx:
                tx.execute(message.update().where(waits).values(status=SENT, sent_on=message.c.created_on))

    def add_contact(self, phone: str, name: str | None = None) -> int:
        urn = Urn("tel", phone)
        with self.database.writing() as tx:
            owner = ensure_owners(tx, self.workspace.id, [urn])[urn.identity]
            if name:
                tx.execute(contact.update().where(contact.c.id == owner.contact_id).values(name=name))
            return owner.contact_id

    def start(self, flow_uuid: str, *contact_ids: int, **fields: Any) -> int:
        with self.database.writing() as tx:
            flow_id = tx.execute(select(flow.c.id).where(flow.c.uuid == flow_uuid)).scalar_one()
            return create_start(tx, self.workspace.id, NewStart(flow_id, API, Audience(contact_ids), **fields))

    def receive(self, phone: str, text: str) -> int:
        """A message of a contact arrives and is left to the worker; returns its id."""
        self._received += 1
        urn = Urn("tel", phone)
        with self.database.writing() as tx:
            owner = ensure_owners(tx, self.workspace.id, [urn], channel_id=self.channel_id)[urn.identity]
            report = Received(owner, text, tx.now, f"report-{self._received}")
            stored = store_received(tx, self.workspace.id, self.channel_id, [report])
        return stored[report.external_id].message_id

    def call(self, contact_id: int, kind: str) -> None:
        """A call that a phone reported."""
        with self.database.writing() as tx:
            row = {"workspace_id": self.workspace.id, "channel_id": self.channel_id, "contact_id": contact_id}
            moments = {"occurred_on": tx.now, "created_on": tx.now, "is_pending": True}
            tx.execute(insert(channel_event).values(uuid=new_uuid(), type=kind, **row, **moments))

    def sent_to(self, contact_id: int) -> list[str]:
        """What a contact was sent, in order."""
        mine = (message.c.contact_id == contact_id) & (message.c.direction == OUTGOING)
        with self.database.reading() as tx:
            return list(tx.execute(select(message.c.text).where(mine).order_by(message.c.id)).scalars())

    def rows(self, table: Any, *conditions: Any) -> list[Any]:
        with self.database.reading() as tx:
            return list(tx.execute(select(table).where(*conditions).order_by(table.c.id)))


@pytest.fixture
def stage(database: Database, workspace: Workspace, runtime: Runtime, clock: Clock) -> Stage:
    return Stage(database, workspace, runtime, clock)
