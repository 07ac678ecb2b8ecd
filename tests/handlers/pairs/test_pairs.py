"""Two concurrent writes end as if one of them had come second."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from persistence.tables.accounts import token
from testbed.servers import FOLDER
from tests.contract.documents import token_operations
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.handlers.pairs.direct import DirectApi
from tests.handlers.pairs.gate import COMMIT, MOMENTS, Meeting
from tests.handlers.pairs.outside_scenarios import OUTSIDE_SCENARIOS
from tests.handlers.pairs.rows import KeptRows
from tests.handlers.pairs.scenario import OPERATIONS, Scenario
from tests.handlers.pairs.scenarios import SET_UP_SCENARIOS
from tests.handlers.pairs.use_scenarios import USE_SCENARIOS

End = tuple[Any, Any, str]
SCENARIOS = SET_UP_SCENARIOS | USE_SCENARIOS | OUTSIDE_SCENARIOS
EVERY_MEETING = os.environ.get("RELAYBOARD_EVERY_MEETING") == "1"
"""Whether every pair is tried, and each of it comes first at each moment; this takes about ten times as long."""
NEAR = 2
"""A write meets itself and one beside it; of those that stand further away every sixteenth one."""
SELDOM = 8
"""On SQLite one in so many meets itself: there it is seen whether a write begins with the lock, as all do alike."""
UPLOADS = {("post", "/api/v2/media.json"), ("post", "/api/v2/contact_imports.json")}
"""A pair of these is made of bytes rather than of JSON."""
STORES_NOTHING = {("post", f"/api/v2/{name}.json") for name in ("flow_issues", "flow_tests", "simulations")}


class Clients:
    """Two services over one database, and a workspace that begins each trial with the same records."""

    def __init__(self, first: Service, second: Service) -> None:
        self._first, self._second = first, second
        self._meeting = Meeting(first.database, second.database)
        self._kept = KeptRows(first.database, second.database)
        self._scenario: Scenario | None = None
        # On SQLite one unit of work writes at a time, from its beginning on: its other moments are one to the others.
        self.moments = (COMMIT,) if first.database.sqlite else MOMENTS

    def begin(self, scenario: Scenario) -> None:
        """Makes the records of a scenario. Those of the test before are used again if they are of the same one."""
        if scenario is self._scenario:
            return
        self.check()
        self._scenario = None
        self._kept.clear(keeps_people=scenario.changes_people)
        api = self._first.api(self._first.new_workspace())
        # Otherwise the use of the token would be noted beside the writes that are to meet.
        mine, to_come = token.c.workspace_id == api.workspace.id, timedelta(days=1)
        api.database.write(lambda tx: tx.execute(update(token).where(mine).values(last_used_on=tx.now + to_come)))
        self._mine, self._theirs = DirectApi(self._first, api), DirectApi(self._second, api)
        self._names = scenario.begin(self._mine)
        self._kept.keep()
        self._scenario = scenario

    def meet(self, moment: str, one: str, other: str) -> End:
        """How it ends when `other` comes while `one` is at a moment."""
        first, second = self._again(one, other)
        outcomes = self._meeting.run(moment, first, second)
        return (*outcomes, self._snapshot())

    def follow(self, one: str, other: str) -> End:
        """How it ends when `other` comes after `one`."""
        first, second = self._again(one, other)
        outcomes = first(), second()
        return (*outcomes, self._snapshot())

    def check(self) -> None:
        """Each trial of the scenario began with the same records."""
        if self._scenario is not None:
            self._kept.check()

    def _snapshot(self) -> str:
        assert self._scenario is not None
        return self._scenario.snapshot(self._mine, self._names)

    def _again(self, one: str, other: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
        assert self._scenario is not None
        self._kept.restore()
        writes, names = self._scenario.writes, self._names
        return lambda: writes[one](self._mine, names), lambda: writes[other](self._theirs, names)


class InTurn:
    """How it ends when two writes come in turn. An order is tried only when it is asked for: most meetings end in the
    order in which they began.
    """

    def __init__(self, clients: Clients, one: str, other: str) -> None:
        self._clients, self._one, self._other = clients, one, other
        self._ends: dict[bool, End] = {}

    def has(self, end: End, is_first: bool) -> bool:
        """Whether it may end so; outcomes of `one` first, which probably came first or not."""
        return end == self._end(is_first) or end == self._end(not is_first)

    def _end(self, is_first: bool) -> End:
        if is_first not in self._ends:
            first, second = (self._one, self._other) if is_first else (self._other, self._one)
            end = self._clients.follow(first, second)
            self._ends[is_first] = end if is_first else in_other_order(end)
            if first == second:
                self._ends[not is_first] = in_other_order(self._ends[is_first])
        return self._ends[is_first]


def in_other_order(end: End) -> End:
    late, early, state = end
    return early, late, state


@pytest.fixture(scope="module")
def on_sqlite(request: pytest.FixtureRequest) -> Iterator[Clients]:
    with open_clients("sqlite", request) as clients:
        yield clients


@pytest.fixture(scope="module")
def on_postgres(request: pytest.FixtureRequest) -> Iterator[Clients]:
    with open_clients("postgresql", request) as clients:
        yield clients


@contextmanager
def open_clients(kind: str, request: pytest.FixtureRequest) -> Iterator[Clients]:
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as name,
        database_url_for_many_tests(kind, request, Path(name)) as url,
        serve(url, Path(name), check_responses=False) as first,
        serve(url, Path(name), check_responses=False) as second,
    ):
        clients = Clients(first, second)
        yield clients
        clients.check()


@pytest.mark.parametrize(
    ("kind", "one"), [(kind, one) for kind, scenario in SCENARIOS.items() for one in scenario.writes]
)
def test_a_write_that_meets_another_ends_as_if_one_had_come_second(
    on_sqlite: Clients, on_postgres: Clients, kind: str, one: str
) -> None:
    """Each test takes a write and those that stand after it: the next, which is about the same records, if that has met
    none yet, and one in sixteen of the others. Which of the two comes first, and at which moment, changes from pair to
    pair. With RELAYBOARD_EVERY_MEETING=1 every pair is tried, and either is first at each moment; a write meets itself
    at each moment, otherwise at one, of which neighbours have different ones.

    How it ends in turn is found out on SQLite; PostgreSQL must come to one of the same ends. On SQLite, where one unit
    of work writes at a time, from its beginning on, a write meets only itself, and not each does.
    """
    on_sqlite.begin(SCENARIOS[kind])
    on_postgres.begin(SCENARIOS[kind])
    words = list(SCENARIOS[kind].writes)
    position = words.index(one)
    for place, other in enumerate(words[position:]):
        if is_left_out(position, place, len(words)):
            continue
        in_turn = InTurn(on_sqlite, one, other)
        is_on_both = place == 0 and (EVERY_MEETING or position % SELDOM == 0)
        for clients in (on_sqlite, on_postgres) if is_on_both else (on_postgres,):
            for moment, is_first in list_meetings(clients.moments, position, place):
                first, second = (one, other) if is_first else (other, one)
                end = clients.meet(moment, first, second)
                allowed = in_turn.has(end if is_first else in_other_order(end), is_first)
                assert allowed, f"{second} came {moment} of {first}: {end}"


def is_left_out(position: int, place: int, count: int) -> bool:
    if EVERY_MEETING or place == 0:
        return False
    # Writes beside each other meet two by two; where their number is odd, the last meets the one before it.
    return (position + place // 2) % 16 != 0 if place >= NEAR else position % 2 != 0 and position + 2 != count


def list_meetings(moments: tuple[str, ...], position: int, place: int) -> list[tuple[str, bool]]:
    """The moments at which a write meets the one at a place after it, and whether it comes first."""
    if place == 0:  # itself
        return [(moment, True) for moment in (moments if EVERY_MEETING else [moments[position % len(moments)]])]
    every = [(moment, is_first) for moment in moments for is_first in (True, False)]
    return every if EVERY_MEETING else [every[place % len(every)]]


def test_every_write_of_both_generations_takes_part_in_pairs() -> None:
    written = {
        (operation.method, f"/api/{operation.root.split('/')[0]}{operation.path}")
        for operation in token_operations()
        if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml") and operation.method != "get"
    }

    assert written - STORES_NOTHING == OPERATIONS | UPLOADS
