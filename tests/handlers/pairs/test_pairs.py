"""Whatever two clients write at the same moment ends as if one of them had come second."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.api import Api
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.handlers.pairs.gate import MOMENTS, Meeting
from tests.handlers.pairs.scenarios import SCENARIOS, Scenario

End = tuple[Any, Any, str]


class Clients:
    """Two services over one database, and a new workspace for each trial."""

    def __init__(self, first: Service, second: Service) -> None:
        self._first, self._second = first, second
        self._meeting = Meeting(first.database, second.database)

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
        names = scenario.begin(mine)
        theirs.results("/api/v2/topics.json")  # so that the use of the token has been noted
        return mine, theirs, names


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def clients(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clients]:
    folder = tmp_path_factory.mktemp("pairs")
    with (
        database_url_for_many_tests(request.param, request, folder) as url,
        serve(url, folder) as first,
        serve(url, folder) as second,
    ):
        yield Clients(first, second)


@pytest.mark.parametrize(
    ("kind", "one"), [(kind, one) for kind, scenario in SCENARIOS.items() for one in scenario.writes]
)
def test_a_write_that_meets_another_ends_as_if_one_had_come_second(clients: Clients, kind: str, one: str) -> None:
    scenario = SCENARIOS[kind]

    @cache
    def follow(first: str, second: str) -> End:
        return clients.follow(scenario, first, second)

    for other in scenario.writes:
        second, first, snapshot = follow(other, one)
        in_turn = [follow(one, other), (first, second, snapshot)]
        for moment in MOMENTS:
            assert clients.meet(scenario, moment, one, other) in in_turn, f"{other} came {moment}"
