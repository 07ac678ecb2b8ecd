"""Plays the tests of a flow with the assets of a workspace: nothing is stored, and nobody is called. Definitions and
tests are strangers' data: `flows.flow_tests` bounds how many there are, and here is how long they may take.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from flows.asset_kinds import Channel
from flows.definition import DefinitionError, load
from flows.environment import SYSTEM_CLOCK
from flows.flow_tests import FlowTestError, OutOfTimeError, play_test, read_tests
from flows.simulation import CHANNEL
from persistence.contacts.urns import environment_of
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.assets import StoredAssets
from persistence.flows.records import require_active_flow
from persistence.flows.simulations import OPTIONS
from persistence.flows.writes import read_revision
from persistence.tables.flows import flow as flow_table
from persistence.workspaces.records import Workspace

LONGEST_SECONDS = 2.0
"""What a request takes for tests: those that are left then are for the next one."""
TOO_LONG = f"It takes longer than {LONGEST_SECONDS:g} seconds."
DIFFERENCES = 50
"""Of a test that are told."""
DIFFERENCE_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class PlayedTest:
    """A test by its name, and what the flow did otherwise, a sentence each; it passed if there is none."""

    name: str
    differences: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"name": self.name, "passed": not self.differences, "differences": list(self.differences)}


@dataclass(frozen=True, slots=True)
class PlayedTests:
    """Tests in the order of the flow, and how many it has. `next` is the number of the one to go on with, if there was
    no time for all; `left` has the names from there on.
    """

    results: Sequence[PlayedTest]
    total: int
    next: int | None
    left: Sequence[str] = ()

    @property
    def all_passed(self) -> bool:
        """Whether there was time for all of them, and none failed."""
        return not self.not_passed

    @property
    def not_passed(self) -> list[str]:
        """Names of those that failed, and of those for which there was no time."""
        return [*(each.name for each in self.results if each.differences), *self.left]

    def to_json(self) -> dict[str, Any]:
        """One object."""
        return {"results": [each.to_json() for each in self.results], "total": self.total, "next": self.next}


def play_from_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> PlayedTests:
    """Plays the tests of a definition, or of the newest revision of a flow. Raises InvalidInput."""
    if (body.get("definition") is None) == (body.get("flow") is None):
        raise InvalidInput.across("Send either a definition, or the UUID of a flow.")
    definition, field = body.get("definition"), "definition"
    if definition is None:
        definition, field = _read_newest(tx, workspace.id, body["flow"]), "flow"
    return play_tests(tx, workspace, definition, field=field, first=body.get("first") or 0)


def play_tests(
    tx: Transaction, workspace: Workspace, definition: Mapping[str, Any], *, field: str = "definition", first: int = 0
) -> PlayedTests:
    """Plays the tests of a definition, from the one with this number, for some seconds at most. Raises InvalidInput
    about the field.
    """
    try:
        tests = read_tests(definition)
        flow = load(definition)
    except (FlowTestError, DefinitionError) as error:
        raise InvalidInput.on(field, str(error), "wrong_form") from error
    if not tests[first:]:
        return PlayedTests((), len(tests), None)
    tx.may_pause()
    assets = StoredAssets(tx, workspace, [Channel.from_json(CHANNEL)], flow)
    environment = environment_of(workspace)
    until = time.monotonic() + LONGEST_SECONDS
    results: list[PlayedTest] = []
    for number, test in enumerate(tests[first:], first):
        if results and time.monotonic() > until:
            return PlayedTests(results, len(tests), number, [each.name for each in tests[number:]])
        try:
            differences = play_test(
                *(test, flow, assets, SYSTEM_CLOCK, environment),
                options=OPTIONS,
                may_go_on=lambda: time.monotonic() <= until,
            )
        except FlowTestError as error:
            differences = [str(error)]
        except OutOfTimeError:
            if results:
                return PlayedTests(results, len(tests), number, [each.name for each in tests[number:]])
            differences = [TOO_LONG]
        results.append(PlayedTest(test.name, [each[:DIFFERENCE_LENGTH] for each in differences[:DIFFERENCES]]))
    return PlayedTests(results, len(tests), None)


def _read_newest(tx: Transaction, workspace_id: int, uuid: str) -> dict[str, Any]:
    """The newest definition of a flow that is not archived. Raises InvalidInput."""
    flow_id = require_active_flow(tx, workspace_id, uuid.lower(), field="flow")
    number = tx.execute(
        select(flow_table.c.definition_revision).where(
            flow_table.c.workspace_id == workspace_id, flow_table.c.id == flow_id
        )
    ).scalar_one()
    try:
        return read_revision(tx, workspace_id, flow_id, number)
    except DefinitionError as error:
        raise InvalidInput.on("flow", str(error), "wrong_form") from error
