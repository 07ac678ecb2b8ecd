"""`python -m bench.fairness` in small, each experiment: it compares what others wait."""

import json

import pytest

from bench import tenants
from bench.fairness import EXPERIMENTS, main
from testbed.running import forked_service

SMALL = {
    "count": 2,
    "contacts": 1,
    "flood": 20,
    "messages": 400,
    "contacts-of-group": 20,
    "phones": 2,
    "seconds": 0.1,
    "deliveries": 20,
    "queued": 20,
}


@pytest.mark.benchmark
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_each_experiment_says_what_it_measured(
    experiment: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants, "running_service", forked_service)
    options = [word for name, value in SMALL.items() for word in (f"--{name}", str(value))]

    assert main([experiment, "--database", "sqlite", *options]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["experiment"] == experiment
    assert found["sms_per_second" if "phones" in found else "ratio"] > 0
