"""Slow tests are dealt out to the beginnings of the workers' runs."""

from pathlib import Path

import pytest

from tests.slow_first import SLOWEST, deal, find_rank

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_each_worker_begins_with_its_share_of_the_slow_ones(workers: int) -> None:
    slow, others = [f"slow {number}" for number in range(5)], [f"test {number}" for number in range(18)]

    dealt = deal(slow, others, workers)

    assert sorted(dealt) == sorted(slow + others)
    assert [each for each in dealt if each in others] == others
    run_starts, start = [], 0
    for worker in range(workers):
        run_starts.append(start)
        start += (len(dealt) - start) // (workers - worker)
    for worker, start in enumerate(run_starts):
        share = slow[worker::workers]
        assert dealt[start : start + len(share)] == share


def test_slower_tests_come_first_and_others_have_no_rank() -> None:
    assert find_rank("tests/contract/test_schemathesis.py::test_x[v1]") == 1
    assert find_rank("tests/faults/test_kills.py::test_x") == 3
    assert find_rank("tests/contract/test_lists.py::test_x") is None


@pytest.mark.parametrize("start", SLOWEST)
def test_each_of_the_slowest_is_there(start: str) -> None:
    path, _, name = start.partition("::")

    assert (ROOT / path).exists()
    assert not name or f"def {name}" in (ROOT / path).read_text()
