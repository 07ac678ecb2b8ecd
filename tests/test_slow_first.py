"""Slow tests are dealt out to the beginnings of the workers' runs."""

from pathlib import Path

import pytest

from tests.slow_first import WAITING, WORKING, deal, find_rank

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_half_of_the_workers_begin_with_tests_that_wait_and_the_others_with_those_that_work(workers: int) -> None:
    waiting, working = ([f"{starts[0]}{number}" for number in range(5)] for starts in (WAITING, WORKING))
    others = [f"test {number}" for number in range(18)]

    dealt = deal([*others[:9], *working, *waiting, *others[9:]], str, workers)

    assert sorted(dealt) == sorted(waiting + working + others)
    assert [each for each in dealt if each in others] == others
    start, waiters = 0, max(1, workers // 2)
    for worker in range(workers):
        slow = waiting[worker::waiters] if worker < waiters else working[worker - waiters :: workers - waiters]
        share = working + waiting if workers == 1 else slow
        assert dealt[start : start + len(share)] == share
        start += (len(dealt) - start) // (workers - worker)


def test_tests_of_one_file_that_share_servers_stay_together() -> None:
    files = [f"tests/faults/test_{file}.py::test_{number}" for file in "ab" for number in range(3)]

    dealt = deal([*files[::2], *files[1::2]], str, 4)

    assert [each[len("tests/faults/test_")] for each in dealt] == [*"aaabbb"]


def test_slower_tests_come_first_and_others_have_no_rank() -> None:
    assert find_rank("tests/contract/test_schemathesis.py::test_x[v1]", WORKING) == 1
    assert find_rank("tests/faults/test_kills.py::test_x", WAITING) == 0
    assert find_rank("tests/contract/test_lists.py::test_x", WORKING + WAITING) is None


@pytest.mark.parametrize("start", WORKING + WAITING)
def test_each_of_the_slowest_is_there(start: str) -> None:
    path, _, name = start.partition("::")

    assert (ROOT / path).exists()
    assert not name or f"def {name}" in (ROOT / path).read_text()
