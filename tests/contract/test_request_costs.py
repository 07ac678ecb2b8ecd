"""What a request of each kind costs beside a bare handler, and which statements it sends.

A commit that makes a kind of request a quarter dearer fails here, on a busy machine too, because work is counted: the
steps that Python executes, and the calls of functions, those in C too. Neither depends on the time that they take.
`request_costs.json` has both, divided by those of the bare handler in the same run, because versions of Python count
differently. A bound on time would have to be wider than what it is for: on a busy machine the least of forty rounds is
twice that of others. What one call does in C is for `bench.requests` to tell.

Who makes a kind dearer on purpose, or much cheaper, has the figures written and says why in the commit:

    RELAYBOARD_WRITE_COSTS=1 pytest -n 0 tests/contract/test_request_costs.py
"""

import itertools
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import pytest
from sqlalchemy import Engine, create_engine, event, text

from handlers.threads import Threads
from handlers.token_notes import THREAD as TOKEN_NOTES
from persistence.statements import PREPARED_AFTER
from persistence.workspaces.records import Workspace
from testbed.flow_rows import definition, node, say, store_flow
from testbed.tokens import make_token
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.factories import make_contact, make_messages

FIGURES = Path(__file__).with_name("request_costs.json")
IS_WRITING = os.environ.get("RELAYBOARD_WRITE_COSTS") == "1"
TOLERANCE = 1.2
"""How much more or less than its figures a kind may work: so a kind that was at the lower end is seen when it becomes
half again as dear, too."""
ADVICE = (
    "Who wants this says why in the commit and has the figures written:"
    " RELAYBOARD_WRITE_COSTS=1 pytest -n 0 tests/contract/test_request_costs.py"
)
COUNTED = 3
WARM_UP = PREPARED_AFTER + 4
"""Requests of each kind before those that count; PostgreSQL has prepared by then what it prepares."""
ROWS = 10
OCCASIONAL = "rate_window"
FRAME = ("BEGIN", "COMMIT", "PRAGMA", "PREPARE", "DEALLOCATE", "ROLLBACK")


@dataclass(frozen=True)
class Kind:
    """A kind of request: how many statements it sends on SQLite; prepared ones and others on PostgreSQL."""

    name: str
    on_sqlite: int
    on_postgresql: tuple[int, int]
    body: Callable[["Place"], dict[str, Any]] | None = None

    @property
    def path(self) -> str:
        return f"/api/v2/{self.name.split()[-1].partition(',')[0]}.json"


@dataclass(frozen=True)
class Work:
    """Steps of Python and calls of functions in a request."""

    steps: int
    calls: int


@dataclass(frozen=True)
class Place:
    """A workspace with something to ask for, and what asks."""

    token: str
    contact: str = ""
    flow: str = ""
    messages: Sequence[int] = ()
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1000))

    def named(self) -> dict[str, Any]:
        return {"name": f"Name {next(self.numbers)}"}

    def number(self) -> str:
        return f"tel:+25072{next(self.numbers):07}"


@dataclass
class World:
    """A running service, and the requests to it."""

    service: Service
    app: Any
    engine: Engine
    places: dict[str, Place] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)

    @cached_property
    def work_of_bare(self) -> Work:
        bare = make_bare(self.engine)
        self.send(bare, BARE, WARM_UP)
        return count_work(self, bare, BARE)

    def place_of(self, kind: Kind) -> Place:
        """One for all that only read; what creates has its own, so that no kind's figures depend on the others that
        ran.
        """
        name = "shared" if kind.body is None else kind.name
        if name not in self.places:
            workspace = self.service.new_workspace()
            token = make_token(self.service.database, workspace, "administrator")
            make = self._fill_place if kind.body is None else self._make_place
            self.places[name] = make(workspace, token)
        return self.places[name]

    def _fill_place(self, workspace: Workspace, token: str) -> Place:
        fill_workspace(self.service.database, workspace, ROWS)
        return Place(token)

    def _make_place(self, workspace: Workspace, token: str) -> Place:
        database = self.service.database
        contact = make_contact(database, workspace, "+250788000000")
        flow = store_flow(database, workspace, definition("greet", [node("greet", [say("Welcome!")])]))
        return Place(token, contact, flow, make_messages(database, workspace, contact, 5))

    def prepare(self, kind: Kind, count: int) -> tuple[dict[str, Any], list[bytes]]:
        """The scope and the bodies of so many requests."""
        place = self.place_of(kind)
        return _scope(kind, place.token), [
            b"" if kind.body is None else orjson.dumps(kind.body(place)) for _ in range(count)
        ]

    def call(self, work: Callable[..., Awaitable[Any]], *values: Any) -> Any:
        """Runs it in the service's loop."""
        assert self.service.client.portal is not None
        return self.service.client.portal.call(work, *values)

    def send(self, app: Any, kind: Kind, count: int) -> None:
        scope, bodies = self.prepare(kind, count)
        self.call(_send_all, app, scope, bodies)


KINDS = (
    Kind("GET messages", 2, (2, 0)),
    Kind("GET contacts", 3, (2, 0)),
    Kind("GET runs", 2, (2, 0)),
    Kind("GET tickets", 2, (2, 0)),
    Kind("GET broadcasts", 2, (2, 0)),
    Kind("GET flows", 2, (2, 0)),
    Kind("GET groups", 1, (1, 0)),
    Kind("GET fields", 1, (1, 0)),
    Kind("GET labels", 1, (1, 0)),
    Kind("POST labels", 4, (4, 0), Place.named),
    Kind("POST groups", 4, (4, 0), Place.named),
    Kind("POST fields", 4, (4, 0), lambda place: {**place.named(), "type": "text"}),
    Kind("POST globals", 6, (5, 0), lambda place: {**place.named(), "value": "x"}),
    Kind("POST messages", 9, (5, 0), lambda place: {"contact": place.contact, "text": "Hello"}),
    Kind("POST contacts", 7, (4, 2), lambda place: {**place.named(), "urns": [place.number()]}),
    Kind("POST broadcasts", 7, (5, 0), lambda place: {"contacts": [place.contact], "text": "Hello"}),
    Kind("POST flow_starts", 7, (6, 0), lambda place: {"contacts": [place.contact], "flow": place.flow}),
    Kind("POST message_actions", 2, (3, 0), lambda place: {"messages": place.messages, "action": "archive"}),
)
BARE = Kind("GET bare", 1, (1, 0))


def make_bare(engine: Engine) -> Any:
    """An application that reads a few rows and writes them as JSON, with nothing of ours."""

    def read() -> bytes:
        with engine.begin() as connection:
            rows = connection.execute(text("SELECT uuid, name FROM workspace ORDER BY id LIMIT 2")).all()
        return orjson.dumps([{"uuid": str(row.uuid), "name": row.name} for row in rows])

    async def bare(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        body = read()
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
        made = World(service, service.client.app, create_engine(url))

        def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            if threading.current_thread().name != TOKEN_NOTES and OCCASIONAL not in statement:
                made.statements += [each for each in [statement] if not each.startswith(FRAME)]

        event.listen(service.database.engine, "before_cursor_execute", note)
        yield made
        made.engine.dispose()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_request_works_no_longer_and_sends_no_more_than_is_known(world: World, kind: Kind) -> None:
    prepared, others, statements = count_statements(world, kind)
    work = count_work(world, world.app, kind)
    found = {unit: round(count / getattr(world.work_of_bare, unit), 2) for unit, count in asdict(work).items()}
    if world.service.database.sqlite:
        assert others <= kind.on_sqlite, "\n".join(statements)
        check(f"{kind.name} on SQLite", found)
    else:
        # What could be prepared and is not costs more than a statement.
        assert prepared + others <= sum(kind.on_postgresql), "\n".join(statements)
        assert others <= kind.on_postgresql[1], "\n".join(statements)
        check(f"{kind.name} on PostgreSQL", found)


def check(name: str, found: dict[str, float]) -> None:
    """Compares with the figures that are known, or writes new ones."""
    figures = json.loads(FIGURES.read_text())
    if IS_WRITING:
        written = figures | {name: found}
        FIGURES.write_text(json.dumps(dict(sorted(written.items())), indent=1) + "\n")
        return
    for unit, known in figures[name].items():
        times = found[unit] / known
        is_good = 1 / TOLERANCE <= times <= TOLERANCE
        assert is_good, f"{name} has {times:.2f} times the {unit} that are known. {ADVICE}"


def count_work(world: World, app: Any, kind: Kind) -> Work:
    """What one request executes in one thread, the least of a few: what happens once in a while is left out."""

    async def run_in_loop(_threads: Threads, work: Callable[[], Any], _lane: Any) -> Any:
        return copy_context().run(work)

    scope, bodies = world.prepare(kind, 2 * COUNTED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Threads, "run", run_in_loop)
        steps = [world.call(_count_steps, app, scope, [body]) for body in bodies[:COUNTED]]
        calls = [world.call(_count_calls, app, scope, [body]) for body in bodies[COUNTED:]]
    return Work(min(steps), min(calls))


async def _count_steps(app: Any, scope: dict[str, Any], bodies: Sequence[bytes]) -> int:
    found = 0

    def step(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal found
        found += event == "opcode"
        return step

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    with _watched(sys.gettrace, sys.settrace, enter):
        await _send_all(app, scope, bodies)
    return found


async def _count_calls(app: Any, scope: dict[str, Any], bodies: Sequence[bytes]) -> int:
    found = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    with _watched(sys.getprofile, sys.setprofile, note):
        await _send_all(app, scope, bodies)
    return found


@contextmanager
def _watched(
    read: Callable[[], Callable[..., Any] | None],
    put: Callable[[Callable[..., Any] | None], None],
    watch: Callable[..., Any],
) -> Iterator[None]:
    """Within it, Python calls `watch`; after it, who was called before (such as what measures coverage)."""
    before = read()
    put(watch)
    try:
        yield
    finally:
        put(before)


def count_statements(world: World, kind: Kind) -> tuple[int, int, list[str]]:
    """How many prepared statements and others a request sends; what happens once in a while is left out."""
    world.send(world.app, kind, WARM_UP)
    found: list[list[str]] = []
    for _ in range(COUNTED):
        world.statements.clear()
        world.send(world.app, kind, 1)
        found.append(list(world.statements))
    fewest = min(found, key=lambda sent: (len(sent), sum(map(is_text, sent))))
    others = sum(map(is_text, fewest))
    return len(fewest) - others, others, fewest


def is_text(statement: str) -> bool:
    """Whether a statement is not one that PostgreSQL has prepared."""
    return not statement.startswith("EXECUTE")
