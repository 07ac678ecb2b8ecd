"""`python -m bench.soak` at a size that a test can afford, and what counts as growth."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bench.soak import Outcome, Sample, describe, draw, judge, keep, main, soak
from testbed.running import forked_service

FLAT = [
    Sample(
        minutes=number / 2,
        memory={"api": 100.0},
        files={"api": 20},
        tables={"message": 500_000 * number},
        messages=100 * number,
        p99={"request": 30.0} if number % 2 else {},
    )
    for number in range(1, 31)
]


@pytest.mark.benchmark
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_run_measures_what_traffic_of_every_kind_takes(database_url, tmp_path):
    with forked_service(database_url, tmp_path) as service:
        outcome = soak(service, 0.05, 4, lambda _line: None, contacts=5)

    assert outcome.failed == [] and outcome.rounds >= 1
    last = outcome.samples[-1]
    assert last.messages >= outcome.rounds and last.tables["message"] > 0
    assert all(values.keys() == {"api", "worker"} and min(values.values()) > 5 for values in (last.memory, last.files))
    assert any("request" in sample.p99 for sample in outcome.samples)


def test_what_stays_as_it_is_is_flat_and_drawn():
    outcome = Outcome(FLAT, judge(FLAT), [], 30)

    assert outcome.problems == []
    assert "| open files of the api | 20.0 | 20.0 | 53.0 |" in describe(outcome, 1)
    assert len(ElementTree.fromstring(draw(FLAT)).findall("{http://www.w3.org/2000/svg}polyline")) == 5


@pytest.mark.parametrize(
    ("grown", "name"),
    [
        (lambda one: replace(one, memory={"api": 100 + one.minutes * 4}), "memory of the api (MB)"),
        (lambda one: replace(one, files={"api": 20 + int(one.minutes * 9)}), "open files of the api"),
        (lambda one: replace(one, p99={"request": 30 + one.minutes**2}), "p99 of a request (ms)"),
        (lambda one: replace(one, tables={"message": int(one.messages**2)}), "growth of the table message"),
    ],
)
def test_what_grows_is_a_problem(grown, name):
    samples = [grown(one) for one in FLAT]

    (problem,) = Outcome(samples, judge(samples), [], 30).problems
    assert problem.startswith(name)


def test_waits_count_only_where_the_machine_had_time_for_the_traffic():
    starved = [
        replace(FLAT[-1], minutes=16 + number, messages=3000 + number, p99={"request": 9000.0}) for number in range(9)
    ]

    outcome = Outcome([*FLAT, *starved], judge([*FLAT, *starved]), [], 39)
    assert outcome.problems == []
    assert "30 of 39 samples. In the others a p99 was up to 9 s, which is not judged." in describe(outcome, 1)


def test_a_run_that_was_kept_is_judged_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quality.md").write_text("# Quality\n")
    keep(Outcome(FLAT, judge(FLAT), ["GET /x: 500"], 30))
    said = []

    assert main(["--kept", "--write", "--per-second", "2"], tmp_path / "quality.md", said.append) == 1
    assert said == ["GET /x: 500"] and "30 rounds" in (tmp_path / "quality.md").read_text()


def test_a_request_that_failed_is_a_problem():
    assert Outcome(FLAT, judge(FLAT), ["GET /x: 500"], 30).problems == ["GET /x: 500"]
