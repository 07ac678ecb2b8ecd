"""Whatever two clients write at the same moment ends as if one of them had come second."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from persistence.tables.accounts import token
from tests.api import Api
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.handlers.pairs.gate import COMMIT, MOMENTS, Meeting
from tests.handlers.pairs.scenario import Scenario
from tests.handlers.pairs.scenarios import SET_UP_SCENARIOS
from tests.handlers.pairs.use_scenarios import USE_SCENARIOS
from tests.servers import FOLDER

End = tuple[Any, Any, str]
SCENARIOS = SET_UP_SCENARIOS | USE_SCENARIOS


class Clients:
    """Two services over one database, and a new workspace for each trial."""

    def __init__(self, first: Service, second: Service) -> None:
        self._first, self._second = first, second
        self._meeting = Meeting(first.database, second.database)
        # On SQLite one unit of work writes at a time, from its beginning on: its other moments are one to the others.
        self.moments = (COMMIT,) if first.database.sqlite else MOMENTS

    def meet(self, scenario: Scenario, moment: str, one: str, other: str) -> End:
        """How it ends when `other` comes while `one` is at a moment."""
        mine, theirs, names = self._begin(scenario)
        outcomes = self._meeting.run(
            moment, lambda: scenario.writes[one](mine, names), lambda: scenario.writes[other](theirs, names)
        )
        return (*outcomes, scenario.snapshot(mine, names))

    def follow(self, scenario: Scenario, one: str, other: str) -> End:
        """How it ends when `other` comes after `one`."""
        mine, theirs, names = self._begin(scenario)
        outcomes = scenario.writes[one](mine, names), scenario.writes[other](theirs, names)
        return (*outcomes, scenario.snapshot(mine, names))

    def _begin(self, scenario: Scenario) -> tuple[Api, Api, dict[str, Any]]:
        workspace = self._first.new_workspace()
        mine = self._first.api(workspace)
        theirs = Api(self._second.client, self._second.database, workspace, mine.token)
        # Otherwise the use of the token would be noted beside the writes that are to meet.
        mine.database.write(
            lambda tx: tx.execute(update(token).where(token.c.workspace_id == workspace.id).values(last_used_on=tx.now))
        )
        names = scenario.begin(mine)
        return mine, theirs, names


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    with (
        tempfile.TemporaryDirectory(dir=FOLDER) as name,
        database_url_for_many_tests(request.param, request, Path(name)) as url,
        serve(url, Path(name)) as first,
        serve(url, Path(name)) as second,
    ):
        yield Clients(first, second)


@pytest.mark.parametrize(
    ("kind", "one"), [(kind, one) for kind, scenario in SCENARIOS.items() for one in scenario.writes]
)
def test_a_write_that_meets_another_ends_as_if_one_had_come_second(clients: Clients, kind: str, one: str) -> None:
    """Each test takes a write and those that stand after it, so that every pair is tried once, either first."""
    scenario = SCENARIOS[kind]
    words = list(scenario.writes)
    for other in words[words.index(one) :]:
        after, before, snapshot = clients.follow(scenario, other, one)
        in_turn = [(before, after, snapshot)]
        if other != one:
            in_turn.append(clients.follow(scenario, one, other))
        for moment in clients.moments:
            assert clients.meet(scenario, moment, one, other) in in_turn, f"{other} came {moment} of {one}"
            if other != one:
                late, early, end = clients.meet(scenario, moment, other, one)
                assert (early, late, end) in in_turn, f"{one} came {moment} of {other}"
