"""HTTP gateways in tests: channels, their waiting messages, and a receiver that tells parts apart."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

from sqlalchemy import select

from flows.urns import Urn
from persistence.channels.channels import create_gateway
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import channel
from persistence.tables.messages import message
from persistence.workspaces import Workspace
from tests.patience import PATIENCE_SECONDS
from tests.worker.receivers import Received, Receiver, Reply, receiving

SECRET = "secret-of-the-gateway-in-tests"
THREE_PARTS = " ".join(["one" + "e" * 150, "two" + "o" * 150, "end" + "d" * 150])


def add_gateway(database: Database, workspace: Workspace, url: str, **config: Any) -> int:
    """A gateway that is called at a URL; its id."""
    with database.writing() as tx:
        options: dict[str, Any] = {
            "schemes": ["tel"],
            "country": "RW",
            "config": {"send_url": url, **config},
            "secret": SECRET,
        }
        uuid = create_gateway(tx, workspace.id, "external", name="Gateway", address="+250788000000", **options)
        return int(tx.execute(select(channel.c.id).where(channel.c.uuid == uuid)).scalar_one())


def queue_messages(
    database: Database,
    workspace: Workspace,
    channel_id: int,
    count: int = 1,
    text: str = "Welcome",
    *,
    is_bulk: bool = False,
) -> list[int]:
    """Messages to a contact each, waiting for a gateway; their ids."""
    with database.writing() as tx:
        urns = [Urn("tel", f"+25078{number:07}") for number in range(count)]
        owners = ensure_owners(tx, workspace.id, urns)
        drafts = [Draft(owners[urn.identity].contact_id, text, is_bulk=is_bulk) for urn in urns]
        return create_outgoing(tx, workspace.id, drafts, channel_id=channel_id)


def states_of(database: Database, message_ids: list[int]) -> list[tuple[str, str | None]]:
    """Status and reason of failure of each message."""
    columns = (message.c.id, message.c.status, message.c.failed_reason)
    with database.reading() as tx:
        rows = tx.execute(select(*columns).where(message.c.id.in_(message_ids)))
        found = {row.id: (row.status, row.failed_reason) for row in rows}
    return [found[message_id] for message_id in message_ids]


class Parts:
    """A gateway that remembers which parts of which messages it was given, by their names, and answers as told."""

    def __init__(self, respond: Callable[[Received], Reply] | None = None) -> None:
        self.respond = respond or (lambda _request: Reply(200))
        self.counts: Counter[str] = Counter()
        self.texts: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, request: Received) -> Reply:
        with self._lock:
            self.counts[request.headers["idempotency-key"]] += 1
            self.texts.append(parse_qs(request.body.decode())["text"][0])
        return self.respond(request)

    @property
    def doubled(self) -> list[str]:
        with self._lock:
            return [part for part, count in self.counts.items() if count > 1]


@contextmanager
def holding() -> Iterator[tuple[Receiver, threading.Event]]:
    """A gateway that answers nobody until the event is set."""
    released = threading.Event()

    def hold(_request: Received) -> Reply:
        released.wait(PATIENCE_SECONDS)
        return Reply(200)

    with receiving(hold) as receiver:
        try:
            yield receiver, released
        finally:
            released.set()
