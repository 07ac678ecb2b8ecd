"""Health and readiness.

What is counted, under which labels.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event

import handlers.asgi.health
from handlers.asgi.guard import Guard
from handlers.asgi.health import Health, render_metrics, route_of
from persistence.database import Database
from relayboard.base.probe import PROBE_HEADER, PROBE_PATH, make_probe
from relayboard.base.settings import Settings, load_settings
from testbed.set_by_name import by_name
from tests.factories import make_contact, make_messages
from tests.handlers.exchange import Echo, exchange


@pytest.fixture
def settings() -> Settings:
    return load_settings({"RELAYBOARD_SECRET_KEY": "a-key-that-only-tests-use"})


@pytest.fixture
def small_database(tmp_path: Path, sqlite_template: Path) -> Iterator[Database]:
    path = tmp_path / "health.db"
    path.write_bytes(sqlite_template.read_bytes())
    made = Database(f"sqlite:///{path}")
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


def test_a_schema_that_does_not_fit_makes_it_not_ready_and_says_why(settings, tmp_path):
    empty = Database(f"sqlite:///{tmp_path / 'empty.db'}")

    reply = exchange(Health(Echo(), settings, empty), "GET", "/health/ready")
    empty.close()

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


LABELS = "/api/v2/labels.json"


def counted(text: bytes | None = None, **labels: str) -> float:
    """How many requests with these labels the metrics show."""
    families = text_string_to_metric_families((text or render_metrics()).decode())
    samples = [sample for family in families for sample in family.samples if sample.name == "relayboard_requests_total"]
    return sum(sample.value for sample in samples if labels.items() <= sample.labels.items())


def test_an_answer_is_counted_by_generation_route_method_and_status(settings):
    labels = {"generation": "v2", "route": LABELS, "method": "GET", "status": "203"}
    before = counted(**labels)

    exchange(Guard(Echo(status=203), settings), "GET", LABELS + "?name=x")

    assert counted(**labels) == before + 1
    assert f'relayboard_request_seconds_bucket{{generation="v2",le="0.001",method="GET",route="{LABELS}"}}' in (
        render_metrics().decode()
    )


def test_refusals_of_the_guard_are_counted(settings):
    before = counted(route=LABELS, status="415")

    exchange(Guard(Echo(), settings), "POST", LABELS, [b"x"], [("Content-Type", "text/plain")])

    assert counted(route=LABELS, status="415") == before + 1


def test_a_client_that_left_counts_as_499(settings):
    before = counted(route=LABELS, status="499")

    exchange(Guard(Echo(), settings), "POST", LABELS, [b"x"], ends=False)

    assert counted(route=LABELS, status="499") == before + 1


def test_nothing_is_counted_when_metrics_are_off(settings):
    before = counted()

    exchange(Guard(Echo(), replace(settings, metrics=False)), "GET", LABELS)

    assert counted() == before


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_probes_are_not_counted(settings, path):
    before = counted()

    exchange(Guard(Echo(), settings), "GET", path)

    assert counted() == before


def test_invented_paths_and_methods_make_no_new_labels(settings):
    guard = Guard(Echo(), settings)
    before = counted(generation="none", route="other", method="other")

    for number in range(3):
        exchange(guard, f"METHOD{number}", f"/invented/{number}")

    assert counted(generation="none", route="other", method="other") == before + 3


def test_paths_with_parameters_are_counted_by_their_template():
    assert route_of("/relayers/relayer/sync/77/") == ("relay", "/relayers/relayer/sync/{relayer_id}/")
    assert route_of("/relayers/relayer/sync/77/more/") == ("none", "other")
    assert route_of("/chat/widget.js") == ("chat", "/chat/widget.js")
    assert route_of("/chat/0b0a4c0e/messages") == ("chat", "/chat/{channel}/messages")
    assert route_of("/c/ex/0b0a4c0e/s3cret/receive") == ("gateway", "/c/{type}/{uuid}/{secret}/{action}")


def test_processes_that_share_a_folder_show_the_sum_of_all(tmp_path):
    program = (
        "from handlers.asgi.health import connections, count_request, render_metrics;"
        "connections.follow('api', lambda note: (note(1), 15)[1]);"
        f"count_request('GET', '{LABELS}', 200, 0.1); print(render_metrics().decode())"
    )
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    here = Path(__file__).parents[3]

    for number in (1, 2):
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=here, capture_output=True, check=True
        )

        assert counted(run.stdout, route=LABELS, status="200") == number
        assert f'relayboard_pool_connections{{process="api"}} {15 * number}.0' in run.stdout.decode()
        assert f'relayboard_pool_connections_used{{process="api"}} {number}.0' in run.stdout.decode()


@pytest.fixture
def health(database, settings) -> Health:
    return Health(Echo(), settings, database)


def shown(health: Health) -> dict[str, float]:
    """What the page says without labels."""
    page = exchange(health, "GET", "/metrics").body.decode()
    families = text_string_to_metric_families(page)
    return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}


def test_the_page_tells_what_waits_and_keeps_that_for_some_seconds(health, database, workspace):
    amina = make_contact(database, workspace)
    make_messages(database, workspace, amina, 2, status="queued")
    statements: list[str] = []
    first = shown(health)
    event.listen(database.engine, "before_cursor_execute", lambda *seen: statements.append(seen[2]))
    make_messages(database, workspace, make_contact(database, workspace, "+250788000009"), 1, status="queued")
    statements.clear()
    second = shown(health)

    assert first["relayboard_backlog_readable"] == 1
    assert first["relayboard_contacts_waiting"] == second["relayboard_contacts_waiting"] == 1
    assert first["relayboard_schema_is_current"] == 1
    assert statements == []


def test_a_database_that_cannot_be_read_makes_gauges_go_missing_not_wrong(settings):
    nowhere = Database("postgresql://user:hidden@127.0.0.1:1/none")

    page = shown(Health(Echo(), settings, nowhere))

    assert page["relayboard_backlog_readable"] == 0
    assert "relayboard_contacts_waiting" not in page
