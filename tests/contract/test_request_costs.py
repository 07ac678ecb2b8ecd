"""What a request of each kind costs beside a bare handler, and which statements it sends.

A commit that makes a kind of request half again as dear fails here, on a busy machine too: what counts is the
processor's time of this process, the least of several rounds, and the bare handler is measured between them. Ratios are
those of the processor on which they are largest: a page of messages takes 2.8 bare handlers on one, 1.8 on another. Who
makes a kind dearer on purpose, or cheaper, changes its line in KINDS and says why in the commit.
"""

import gc
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio.to_thread
import orjson
import pytest
from sqlalchemy import event, text

from handlers.token_notes import THREAD as TOKEN_NOTES
from persistence.database import Database
from persistence.statements import PREPARED_AFTER
from testbed.flow_rows import definition, node, say, store_flow
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.factories import make_contact, make_messages

LEAST_ROUNDS, ROUNDS, REQUESTS = 4, 40, 5
WARM_UP = PREPARED_AFTER + 4
"""Requests of each kind before those that count; PostgreSQL has prepared by then what it prepares."""
DEARER = 1.5
ROWS = 20
OCCASIONAL = "rate_window"
FRAME = ("BEGIN", "COMMIT", "PRAGMA", "PREPARE", "DEALLOCATE", "ROLLBACK")


@dataclass(frozen=True)
class Kind:
    """A kind of request: how often a bare handler's time it takes, how many statements it sends on SQLite, and how many
    prepared ones and others on PostgreSQL.
    """

    name: str
    ratio: float
    on_sqlite: int
    on_postgresql: tuple[int, int]
    body: Callable[["World"], dict[str, Any]] | None = None

    @property
    def path(self) -> str:
        return f"/api/v2/{self.name.split()[-1].partition(',')[0]}.json"


@dataclass
class World:
    """A running service with some records, and the requests to it."""

    service: Service
    app: Any
    token: str
    bare: Any
    contact: str
    flow: str
    messages: list[int]
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1000))
    statements: list[str] = field(default_factory=list)

    def named(self) -> dict[str, Any]:
        return {"name": f"Name {next(self.numbers)}"}

    def number(self) -> str:
        return f"tel:+25072{next(self.numbers):07}"

    def send(self, app: Any, kind: Kind, count: int) -> float:
        """Milliseconds of the processor for each of so many requests."""
        bodies = [b"" if kind.body is None else orjson.dumps(kind.body(self)) for _ in range(count)]
        before = time.process_time()
        assert self.service.client.portal is not None
        self.service.client.portal.call(_send_all, app, _scope(kind, self.token), bodies)
        return (time.process_time() - before) * 1000 / count


KINDS = (
    Kind("GET messages", 2.8, 2, (2, 0)),
    Kind("GET contacts", 3.2, 3, (2, 0)),
    Kind("GET runs", 1.9, 2, (2, 0)),
    Kind("GET tickets", 1.8, 2, (2, 0)),
    Kind("GET broadcasts", 1.9, 2, (2, 0)),
    Kind("GET flows", 2.1, 2, (2, 0)),
    Kind("GET groups", 2.0, 1, (1, 0)),
    Kind("GET fields", 1.8, 1, (1, 0)),
    Kind("GET labels", 1.6, 1, (1, 0)),
    Kind("POST labels", 2.6, 4, (4, 0), World.named),
    Kind("POST groups", 2.7, 4, (4, 0), World.named),
    Kind("POST fields", 3.2, 4, (4, 0), lambda world: {**world.named(), "type": "text"}),
    Kind("POST globals", 3.0, 6, (5, 0), lambda world: {**world.named(), "value": "x"}),
    Kind("POST messages", 4.6, 10, (6, 0), lambda world: {"contact": world.contact, "text": "Hello"}),
    Kind("POST contacts", 4.2, 7, (4, 2), lambda world: {**world.named(), "urns": [world.number()]}),
    Kind("POST broadcasts", 4.2, 8, (5, 1), lambda world: {"contacts": [world.contact], "text": "Hello"}),
    Kind("POST flow_starts", 4.1, 8, (7, 0), lambda world: {"contacts": [world.contact], "flow": world.flow}),
    Kind("POST message_actions", 2.9, 2, (3, 0), lambda world: {"messages": world.messages, "action": "archive"}),
)
BARE = Kind("GET bare", 1.0, 1, (1, 0))


def make_bare(database: Database) -> Any:
    """An application that reads a few rows in another thread and writes them as JSON, without anything else."""
    limiter = anyio.CapacityLimiter(1)

    def read() -> bytes:
        with database.reading() as tx:
            rows = tx.execute(text("SELECT uuid, name FROM workspace ORDER BY id LIMIT 2")).all()
        return orjson.dumps([{"uuid": str(row.uuid), "name": row.name} for row in rows])

    async def bare(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        body = await anyio.to_thread.run_sync(read, limiter=limiter)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": body})

    return bare


def _scope(kind: Kind, token: str) -> dict[str, Any]:
    headers = [(b"host", b"testserver"), (b"authorization", f"Token {token}".encode())]
    if kind.body is not None:
        headers.append((b"content-type", b"application/json"))
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": kind.name.split()[0],
        "scheme": "http",
        "path": kind.path,
        "raw_path": kind.path.encode(),
        "query_string": b"",
        "headers": headers,
        "client": ("127.0.0.1", 50000),
        "server": ("127.0.0.1", 8080),
    }


async def _send_all(app: Any, scope: dict[str, Any], bodies: Sequence[bytes]) -> None:
    for body in bodies:
        sent: list[Any] = []

        async def receive(body: bytes = body) -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(part: Any, sent: list[Any] = sent) -> None:
            sent.append(part)

        length = [(b"content-length", str(len(body)).encode())] if body else []
        await app({**scope, "headers": [*scope["headers"], *length], "state": {}}, receive, send)
        assert sent[0]["status"] < 300, (scope["path"], sent)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("costs")
    with (
        database_url_for_many_tests(request.param, request, folder) as url,
        serve(url, folder, check_responses=False) as service,
    ):
        database, workspace = service.database, service.new_workspace()
        people = [make_contact(database, workspace, f"+250788{number:06}") for number in range(ROWS)]
        messages = [number for each in people for number in make_messages(database, workspace, each)]
        flow = store_flow(database, workspace, definition("greet", [node("greet", [say("Welcome!")])]))
        api = service.api(workspace)
        made = World(service, service.client.app, api.token, make_bare(database), people[0], flow, messages[:5])

        def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            if threading.current_thread().name != TOKEN_NOTES and OCCASIONAL not in statement:
                made.statements += [each for each in [statement] if not each.startswith(FRAME)]

        event.listen(database.engine, "before_cursor_execute", note)
        yield made


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_request_takes_no_longer_and_sends_no_more_than_is_known(world: World, kind: Kind) -> None:
    prepared, others, statements = count_statements(world, kind)
    if world.service.database.sqlite:
        assert others <= kind.on_sqlite, "\n".join(statements)
    else:
        # What could be prepared and is not costs more than a statement.
        assert prepared + others <= sum(kind.on_postgresql), "\n".join(statements)
        assert others <= kind.on_postgresql[1], "\n".join(statements)
    ratio = measure(world, kind, until=kind.ratio * DEARER)
    assert ratio <= kind.ratio * DEARER, f"{kind.name} takes {ratio:.1f} bare handlers, not {kind.ratio:g}"


def count_statements(world: World, kind: Kind) -> tuple[int, int, list[str]]:
    """How many prepared statements and others a request sends; what happens once in a while is left out."""
    world.send(world.app, kind, WARM_UP)
    found: list[list[str]] = []
    for _ in range(5):
        world.statements.clear()
        world.send(world.app, kind, 1)
        found.append(list(world.statements))
    fewest = min(found, key=lambda sent: (len(sent), sum(map(is_text, sent))))
    others = sum(map(is_text, fewest))
    return len(fewest) - others, others, fewest


def is_text(statement: str) -> bool:
    """Whether a statement is not one that PostgreSQL has prepared."""
    return not statement.startswith("EXECUTE")


def measure(world: World, kind: Kind, until: float) -> float:
    """How often a bare handler's time a request takes: the least of each, in rounds that alternate, which end as soon
    as it is so little.
    """
    ours, bare = float("inf"), float("inf")
    world.send(world.bare, BARE, WARM_UP)
    gc.disable()
    try:
        for number in range(ROUNDS):
            ours = min(ours, world.send(world.app, kind, REQUESTS))
            bare = min(bare, world.send(world.bare, BARE, REQUESTS))
            if number >= LEAST_ROUNDS and ours <= until * bare:
                break
    finally:
        gc.enable()
    return ours / bare
