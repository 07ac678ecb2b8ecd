"""A world for the commands of a folder's tests, on each database."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest

from persistence.workspaces.writes import create_workspace
from testbed.databases import open_database
from testbed.running import RunningService
from testbed.servers import postgres_database
from testbed.tokens import SECRET_KEY, make_token
from tests.relayboard.every_command.running import Run, Said, run_here
from tests.relayboard.every_command.world import World, made_world


class Worlds:
    """The worlds that the tests of one process use, one after the other.

    A test takes away what those after it do not need. Processes that share the tests may call them in another order:
    who comes too late has a world of its own.
    """

    def __init__(self, make: Callable[[], AbstractContextManager[World]]) -> None:
        self._make = make
        self._made = ExitStack()
        self._world: World | None = None
        self._last = -1

    def give(self, place: int) -> World:
        """The world for the test at a place in the order of all tests."""
        if self._world is None or place < self._last:
            self.renew()
        self._last = place
        assert self._world is not None
        return self._world

    def renew(self) -> None:
        """Make another world, for the tests that follow."""
        self.close()
        self._world = self._made.enter_context(self._make())

    def close(self) -> None:
        self._made.close()
        self._world = None


@pytest.fixture(scope="package", params=["sqlite", "postgresql"])
def make_database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[], AbstractContextManager[str]]:
    """Makes databases for worlds; gives their URLs."""
    if request.param == "postgresql":
        postgres_url = request.getfixturevalue("postgres_url")
        template = request.getfixturevalue("postgres_template")
        return lambda: postgres_database(postgres_url, template)
    source: Path = request.getfixturevalue("sqlite_template")

    @contextmanager
    def make_file() -> Iterator[str]:
        path = tmp_path_factory.mktemp("world") / "relayboard.db"
        path.write_bytes(source.read_bytes())
        yield f"sqlite:///{path}"

    return make_file


@contextmanager
def _running(database_url: str, folder: Path) -> Iterator[World]:
    """A world in a folder, with its service; commands find it by the environment."""
    environment = {
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
    }
    database = open_database(database_url)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    token = make_token(database, workspace, "administrator")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        service = RunningService(database_url, folder, dict(os.environ), database, workspace, token, are_forked=True)
        try:
            service.start("api")
            service.wait_until_ready()
            with made_world(service, folder) as made:
                yield made
        finally:
            service.close()


@pytest.fixture(scope="package")
def worlds(
    make_database: Callable[[], AbstractContextManager[str]], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Worlds]:
    @contextmanager
    def make() -> Iterator[World]:
        with make_database() as url, _running(url, tmp_path_factory.mktemp("folder")) as made:
            yield made

    made = Worlds(make)
    yield made
    made.close()


@pytest.fixture
def world(worlds: Worlds, request: pytest.FixtureRequest) -> World:
    return worlds.give(request.session.items.index(request.node))


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run_command(arguments: list[str], typed: str = "") -> Said:
        return run_here(arguments, typed, capfd, monkeypatch)

    return run_command
