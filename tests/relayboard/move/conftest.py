"""A server to move from, and a way to move from it."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from persistence.database import Database
from persistence.media.store import FolderStore
from persistence.move.moves import Move, open_move
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.move.mover import Mover
from relayboard.move.progress import Progress
from relayboard.move.source import Source
from testbed.databases import open_database
from testbed.running import RunningService, forked_service
from tests.conftest import Clock
from tests.relayboard.move.other_server import TOKEN, OtherServer
from tests.relayboard.move.other_workspace import fill


@pytest.fixture
def other() -> Iterator[OtherServer]:
    with OtherServer().running() as server:
        yield server


class Moving:
    """Passes of a move into one workspace; what it waited and said."""

    def __init__(self, database: Database, workspace: Workspace, other: Any, folder: Path, token: str = TOKEN) -> None:
        self.database = database
        self.workspace = workspace
        self.other = other
        self.token = token
        self.store = FolderStore(f"file://{folder}")
        self.waits: list[float] = []
        self.said: list[str] = []

    def source(self) -> Source:
        return Source(self.other.url, self.token, wait=self.waits.append, tell=self.said.append)

    def mover(self, **options: Any) -> Mover:
        source = self.source()
        with self.database.writing() as tx:
            move = open_move(tx, self.workspace, self.other.url)
        return Mover(self.database, self.store, source, move, Progress(self.said.append), **options)

    def run(self, **options: Any) -> Move:
        mover = self.mover(**options)
        mover.run()
        return mover.move


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def moved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Moving]:
    """A workspace that was moved once, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("moved")
    with ExitStack() as stack:
        if request.param == "sqlite":
            (folder / "moved.db").write_bytes(request.getfixturevalue("sqlite_template").read_bytes())
            url = f"sqlite:///{folder / 'moved.db'}"
        else:
            url = stack.enter_context(request.getfixturevalue("kept_databases").lend())
        database = stack.enter_context(closing(open_database(url, clock=Clock())))
        other = stack.enter_context(OtherServer().running())
        fill(other)
        with database.writing() as tx:
            workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
        moving = Moving(database, workspace, other, folder / "media")
        moving.run()
        yield moving


@pytest.fixture
def moving(database: Database, workspace: Workspace, other: OtherServer, tmp_path: Path) -> Moving:
    return Moving(database, workspace, other, tmp_path / "media")


@pytest.fixture(scope="module")
def relayboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Another Relayboard, behind its own API process."""
    folder = tmp_path_factory.mktemp("there")
    with forked_service(f"sqlite:///{folder / 'there.db'}", folder, ("api",)) as service:
        yield service


@pytest.fixture
def from_relayboard(database: Database, workspace: Workspace, relayboard: RunningService, tmp_path: Path) -> Moving:
    return Moving(database, workspace, relayboard, tmp_path / "media", relayboard.token)
