"""`python -m bench.faults` at a size that a test can afford."""

import random
from collections import Counter

import pytest

from bench.faults.__main__ import COUNTED, Record, describe, fail_and_recover, has_clock, main, plan_events
from bench.faults.kinds import FAULTS
from bench.faults.neighbors import percentile, summarize
from bench.faults.run import MOST_FOR_SLOW, judge_counts
from persistence.deliveries.outbox import Ledger
from testbed.running import forked_service

QUICK = ("queue away", "pool exhausted")


def test_a_run_hits_at_work_and_its_ledger_balances():
    found = fail_and_recover(80, 2, 16, [name for name in FAULTS if name not in QUICK], serve=forked_service)

    assert found["problems"] == []
    assert sum(found["ledger"].values()) == found["events"] == 80
    assert sum(found["faults_that_hit"].values()) >= 1
    assert found["failed_wrongly"] == {}


BALANCED = {
    "made": {"ok": ["a", "b"], "flaky": ["c"], "hangs": ["d"]},
    "called": {"ok": Counter("ab"), "flaky": Counter("cc"), "lies": Counter()},
    "ledger": Ledger(pending=0, delivered=3, failed=1),
    "answers": Counter({201: 4, 503: 2, 0: 1}),
    "count": 4,
}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, None),
        ({"made": {"ok": ["a", "a"], "flaky": ["c"], "hangs": ["d"]}}, "clients made 3 of 4 events"),
        ({"ledger": Ledger(pending=0, delivered=3, failed=2)}, "the ledger has 5 of 4 events"),
        ({"ledger": Ledger(pending=0, delivered=2, failed=2)}, "2 were delivered, 3 should be"),
        ({"ledger": Ledger(pending=1, delivered=3, failed=0)}, "1 are pending"),
        ({"called": {"ok": Counter("a"), "flaky": Counter("cc"), "lies": Counter()}}, "1 delivered events did not"),
        ({"answers": Counter({201: 4, 500: 1})}, "answers of the API: {201: 4, 500: 1}"),
    ],
)
def test_a_ledger_that_does_not_balance_is_a_problem(changed, problem):
    problems = judge_counts(**BALANCED | changed)["problems"]

    assert not problems if problem is None else any(each.startswith(problem) for each in problems)


def test_an_event_that_came_more_often_than_needed_is_counted_and_no_problem():
    found = judge_counts(**BALANCED | {"called": {"ok": Counter("aab"), "flaky": Counter("ccc"), "lies": Counter()}})

    assert (found["arrived_more_than_needed"], found["problems"]) == (2, [])


ROUND = {
    **{name: {} for name in COUNTED},
    "seed": 7,
    "events": 9,
    "lost": 0,
    "arrived_more_than_needed": 1,
    "seconds": 2,
    "problems": [],
    "ledger": {"delivered": 8, "failed": 1, "pending": 0},
    "faults_that_hit": {"queue away": 2},
}


def test_rounds_are_kept_added_up_and_gone_on_with_at_the_next_seed(tmp_path):
    path, page = tmp_path / "record.json", tmp_path / "quality.md"
    page.write_text("# Quality\n")
    for seed in (7, 8):
        Record(path).add(ROUND | {"seed": seed})

    assert (Record(path).events, Record(path).next_seed) == (18, 9)
    assert main(["--count", "18", "--pairs", "0", "--record", str(path), "--write"], page) == 0
    text = page.read_text()
    assert (
        "2 rounds with the seeds 7, 8" in text
        and "| 18 | 16 | 2 | 0 | 0 | 2 |" in text
        and "| queue away | 4 | 0 |" in text
    )


def test_slow_receivers_get_few_events_of_a_round_and_the_clock_jumps_in_every_fourth(tmp_path):
    planned = Counter(plan_events(random.Random(1), 10_000))
    assert {planned["hangs"], planned["drips"]} == {MOST_FOR_SLOW} and planned["ok"] > 7_400

    record, clocks = Record(tmp_path / "record.json"), []
    for seed in range(5):
        clocks.append(has_clock(record))
        record.add(ROUND | {"seed": seed})
    assert clocks == [True, False, False, False, True]


def test_a_round_that_failed_is_told_and_ends_the_run(tmp_path):
    path = tmp_path / "record.json"
    Record(path).add(ROUND)
    Record(path).add(ROUND | {"seed": 8, "problems": ["3 are pending"]})

    assert main(["--count", "100", "--pairs", "0", "--record", str(path)]) == 1
    assert Record(path).events == 9 and "Rounds that failed: **1**" in describe(Record(path))


def test_the_median_of_the_pairs_decides_about_dead_neighbors():
    slow, quick = [0.1] * 100, [0.05] * 100

    assert summarize([(quick, quick), (quick, slow), (quick, quick)])["problems"] == []
    assert summarize([(quick, slow), (quick, slow), (quick, quick)])["problems"] != []


@pytest.mark.parametrize(("part", "value"), [(50, 50), (99, 99), (100, 100)])
def test_a_percentile_is_one_of_the_values(part, value):
    assert percentile(list(range(100, 0, -1)), part) == value
