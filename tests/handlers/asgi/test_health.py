"""Health and readiness."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

import handlers.asgi.health
from handlers.asgi.health import Health
from persistence.database import Database
from persistence.migrations import downgrade, upgrade
from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, make_probe
from relayboard.base.settings import Settings, load_settings
from testbed.set_by_name import by_name
from tests.handlers.exchange import Echo, exchange


@pytest.fixture
def settings() -> Settings:
    return load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})


@pytest.fixture
def small_database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'health.db'}")
    upgrade(made.engine)
    yield made
    made.close()


async def fine() -> None:
    return None


async def broken() -> None:
    raise ConnectionError("password=hidden")


async def slow() -> None:
    await anyio.sleep_forever()


def test_a_running_process_is_live_even_when_it_is_not_ready(settings, small_database):
    health = Health(Echo(), settings, small_database, checks={"queue": broken})

    assert exchange(health, "GET", "/health/live").json == {"status": "live"}


def test_it_is_ready_when_the_database_and_all_other_checks_answer(settings, small_database):
    reply = exchange(Health(Echo(), settings, small_database, checks={"queue": fine}), "GET", "/health/ready")

    assert (reply.status, reply.json) == (200, {"status": "ready"})
    assert reply.headers["cache-control"] == "no-store"


def test_a_database_that_is_away_makes_it_not_ready(settings):
    nowhere = Database("postgresql://user:hidden@127.0.0.1:1/none")

    reply = exchange(Health(Echo(), settings, nowhere), "GET", "/health/ready")

    assert (reply.status, reply.json) == (503, {"status": "not ready", "failing": ["database"]})


def test_a_schema_that_does_not_fit_makes_it_not_ready_and_says_why(settings, small_database):
    downgrade(small_database.engine)

    reply = exchange(Health(Echo(), settings, small_database), "GET", "/health/ready")

    reasons = {"schema": "the database has no tables yet: run `relayboard migrate`"}
    assert (reply.status, reply.json) == (503, {"status": "not ready", "failing": ["schema"], "reasons": reasons})


def test_what_fails_is_named_and_nothing_more_is_told(settings, small_database, monkeypatch, caplog):
    monkeypatch.setattr(handlers.asgi.health, "CHECK_TIMEOUT_SECONDS", 1.0)
    health = Health(Echo(), settings, small_database, checks={"queue": broken, "media": slow, "mail": fine})

    reply = exchange(health, "GET", "/health/ready")

    assert (reply.status, reply.json["failing"]) == (503, ["media", "queue"])
    assert "hidden" not in caplog.text
    assert "queue fails with ConnectionError" in caplog.text


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_these_pages_can_only_be_read(settings, small_database, path):
    reply = exchange(Health(Echo(), settings, small_database), "POST", path)

    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


def test_metrics_can_be_switched_off(settings, small_database):
    inner = Echo(status=404)

    on = exchange(Health(inner, settings, small_database), "GET", "/metrics")
    off = exchange(Health(inner, replace(settings, **by_name(METRICS="off")), small_database), "GET", "/metrics")

    assert on.headers["content-type"].startswith("text/plain; version=")
    assert (on.status, off.status) == (200, 404)


def test_everything_else_goes_inside(settings, small_database):
    assert exchange(Health(Echo(status=418), settings, small_database), "GET", "/health").status == 418


def test_only_who_knows_the_key_is_told_what_the_service_sees(settings, small_database):
    health = Health(Echo(status=418), settings, small_database)
    good = make_probe(settings.secret_key)
    old = make_probe(settings.secret_key, now=1.0)

    told = {
        name: exchange(health, "GET", PROBE_PATH, headers=[(PROBE_HEADER, probe)]).status
        for name, probe in {"good": good, "old": old, "other": make_probe("another-key"), "none": "x"}.items()
    }

    assert told == {"good": 200, "old": 418, "other": 418, "none": 418}
