"""The order in which workers take tests: they begin with the slowest, so that none ends with one. Some of the slowest
keep a processor busy; others mostly wait, for leases that end and processes that start. Half of the workers begin with
those that wait, the others with those that work, so that both go on at the same time.

pytest-xdist deals the tests out in as many runs as there are workers; whoever is done takes from the end of another.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

WORKING = (
    "tests/browser/test_explorer.py::test_every_operation_succeeds",
    "tests/contract/test_schemathesis.py",
    "tests/test_lint.py",
    "tests/console/test_console.py",
    "tests/console/test_first_steps.py",
    "tests/console/test_conversations.py",
    "tests/relayboard/every_command/test_answers_at_once.py",
    "tests/relayboard/move/test_bound.py",
    "tests/acceptance/test_conversations.py",
    "tests/quality/test_costs.py",
    "tests/quality/test_plans.py",
)
WAITING = (
    "tests/faults/",
    "tests/quality/test_nodes.py::test_killed_nodes_lose_and_double_nothing",
    "tests/relayboard/test_upgrades.py",
    "tests/acceptance/test_demo.py",
    "tests/quality/test_faults.py::test_a_run_hits_at_work_and_its_ledger_balances",
    "tests/deploy/test_running_from_a_wheel.py",
    "tests/worker/test_faults.py",
)
"""How the ids of the slowest tests begin, the slowest first: those that take ten seconds and more."""


def deal(items: Sequence[Item], find_id: Callable[[Item], str], workers: int) -> list[Item]:
    """All items in runs as long as the scheduler makes them, each beginning with its share of the slow ones."""
    shares: list[list[Item]] = [[] for _ in range(workers)]
    waiters = max(1, workers // 2)
    for starts, begun in ((WORKING, shares[waiters:] or shares), (WAITING, shares[:waiters])):
        ranks = [(rank, item) for item in items if (rank := find_rank(find_id(item), starts)) is not None]
        together: dict[str, int] = {}
        for rank, item in sorted(ranks, key=lambda ranked: ranked[0]):
            # Those of one file of a folder share servers that are made once in a process.
            test = find_id(item)
            key = test.partition("::")[0] if starts[rank].endswith("/") else test
            begun[together.setdefault(key, len(together)) % len(begun)].append(item)
    left = [item for item in items if find_rank(find_id(item), WORKING + WAITING) is None]
    dealt: list[Item] = []
    for worker, share in enumerate(shares):
        length = (len(items) - len(dealt)) // (workers - worker)
        more = max(0, length - len(share))
        dealt += share + left[:more]
        del left[:more]
    return dealt


def find_rank(test_id: str, starts: Sequence[str]) -> int | None:
    """The place of a test among those that begin so; None for one that is not."""
    return next((place for place, start in enumerate(starts) if test_id.startswith(start)), None)
