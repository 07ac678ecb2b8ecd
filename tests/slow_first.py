"""The order in which workers take tests: each begins with its share of the slowest, so that none ends with one.

pytest-xdist deals the tests out in as many runs as there are workers; whoever is done takes from the end of another.
"""

from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")

SLOWEST = (
    "tests/browser/test_explorer.py::test_every_operation_succeeds",
    "tests/contract/test_schemathesis.py",
    "tests/test_lint.py",
    "tests/faults/",
    "tests/console/test_console.py",
    "tests/quality/test_nodes.py::test_killed_nodes_lose_and_double_nothing",
    "tests/acceptance/test_demo.py",
    "tests/relayboard/every_command/test_answers_at_once.py",
    "tests/relayboard/test_upgrades.py",
    "tests/quality/test_faults.py::test_a_run_hits_at_work_and_its_ledger_balances",
    "tests/relayboard/move/test_bound.py",
    "tests/worker/test_process.py::test_killing",
    "tests/acceptance/test_documentation.py::test_readme",
    "tests/acceptance/test_conversations.py",
    "tests/worker/test_faults.py",
)
"""How the ids of the slowest tests begin, the slowest first: those that take ten seconds and more."""


def find_rank(test_id: str) -> int | None:
    """The place of a test among the slowest; None for one that is not."""
    return next((place for place, start in enumerate(SLOWEST) if test_id.startswith(start)), None)


def deal(slow: Sequence[Item], others: Sequence[Item], workers: int) -> list[Item]:
    """All items in runs as long as the scheduler makes them, each beginning with its share of the slow ones."""
    left = list(others)
    dealt: list[Item] = []
    for worker in range(workers):
        share = list(slow[worker::workers])
        length = (len(slow) + len(others) - len(dealt)) // (workers - worker)
        more = max(0, length - len(share))
        dealt += share + left[:more]
        del left[:more]
    return dealt
