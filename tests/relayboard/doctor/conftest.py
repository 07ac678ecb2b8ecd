"""A healthy installation, and a folder to break things in."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from testbed.running import RunningService, forked_service, wait_until
from testbed.servers import postgres_database
from tests.relayboard.doctor.patients import Patient, has_worker


@pytest.fixture(scope="module")
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("service")
    with ExitStack() as closing:
        if request.param == "sqlite":
            url = f"sqlite:///{folder / 'relayboard.db'}"
        else:
            url = closing.enter_context(postgres_database(request.getfixturevalue("postgres_url")))
        running = closing.enter_context(forked_service(url, folder))
        wait_until(lambda: has_worker(running), "the worker's heartbeat")
        yield running


@pytest.fixture
def patient(
    service: RunningService, tmp_path: Path, postgres_url: str, sqlite_template: Path, postgres_template: str
) -> Iterator[Patient]:
    settings = {**service.environment, "RELAYBOARD_BASE_URL": service.url}
    made = Patient(service, tmp_path, settings, postgres_url, sqlite_template, postgres_template)
    with made.ending:
        yield made
