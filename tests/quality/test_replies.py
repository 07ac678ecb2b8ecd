"""`python -m bench.replies` in small: each message on time has a reply, whose wait is told."""

import json

import pytest

from bench import tenants
from bench.replies import main
from testbed.running import forked_service


@pytest.mark.benchmark
def test_it_tells_how_long_contacts_wait_for_replies(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants, "running_service", forked_service)

    assert main(["--per-second", "20", "--seconds", "0.5", "--database", "sqlite"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["replies"]["count"] == 10
    assert 0 < found["replies"]["p50_ms"] <= found["replies"]["longest_ms"]


@pytest.mark.benchmark
def test_it_tells_how_many_phones_have_the_reply_in_the_same_sync(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tenants, "running_service", forked_service)

    assert main(["--phones", "2", "--turns", "2", "--database", "sqlite"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["turns"], found["replied_in_the_same_sync"], found["of_hundred"]) == (4, 4, 100.0)
    assert found["syncs"]["count"] == 4


@pytest.mark.parametrize("option", ["--per-second", "--seconds"])
def test_nothing_cannot_be_measured(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([option, "0"])

    assert ended.value.code == 2
    assert "must be greater than 0" in capsys.readouterr().err
