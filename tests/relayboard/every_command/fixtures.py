"""One world for all commands of a module, on each database."""

import os
from collections.abc import Iterator

import pytest

from persistence.workspace_setup import create_workspace
from testbed.databases import open_database
from testbed.running import RunningService
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY, make_token
from tests.relayboard.every_command.running import Run, Said, run_here
from tests.relayboard.every_command.world import World, made_world


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def own_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("world") / "relayboard.db"
        path.write_bytes(request.getfixturevalue("sqlite_template").read_bytes())
        yield f"sqlite:///{path}"
        return
    template = request.getfixturevalue("postgres_template")
    with postgres_database(request.getfixturevalue("postgres_url"), template) as url:
        yield url


@pytest.fixture(scope="package")
def world(own_database_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("folder")
    environment = {
        "RELAYBOARD_DATABASE_URL": own_database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
    }
    database = open_database(own_database_url)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    token = make_token(database, workspace, "administrator")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        service = RunningService(
            own_database_url, folder, dict(os.environ), database, workspace, token, are_forked=True
        )
        try:
            service.start("api")
            service.wait_until_ready()
            with made_world(service, folder) as made:
                yield made
        finally:
            service.close()


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_command(arguments: list[str], typed: str = "") -> Said:
        return run_here(arguments, typed, capfd, monkeypatch)

    return run_command
