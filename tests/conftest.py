"""Fixtures: every test that uses `database` runs on SQLite and on PostgreSQL."""

import gc
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Engine, make_url
from starlette.testclient import TestClient

from handlers.app import create_app
from handlers.token_notes import THREAD as TOKEN_NOTES
from persistence import statements as kept_statements
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.logs import OURS
from relayboard.base.settings import Settings, load_settings
from testbed import databases
from testbed.databases import open_database
from testbed.kept_databases import KeptDatabases
from testbed.kept_rows import KeptRows
from testbed.poolers import release, transaction_pooler, without_settings
from testbed.servers import FOLDER, postgres_database, postgres_server
from testbed.tokens import SECRET_KEY, make_used_token
from tests.ahead import load_share
from tests.api import Api
from tests.clients import end_event_loop, running_client
from tests.each_case import gather
from tests.few_reports import tell_less
from tests.partitions import partitioning
from tests.slow_first import deal
from tests.statement_rules import StatementRules
from tests.thinned import EVERY_CASE, TURNS, find_repeats

# A busy machine is no reason to fail: time limits are tested separately.
EXAMPLES = 100 if EVERY_CASE else 40
# The same are drawn each time, so that no run is red by luck; others with every case.
hypothesis_settings.register_profile(
    "relayboard",
    deadline=None,
    max_examples=EXAMPLES,
    derandomize=not EVERY_CASE,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("relayboard")

PARTITIONS = int(os.environ.get("TEST_PARTITIONS", "0"))
"""How many partitions by workspace the tables of workspaces have on PostgreSQL; 0 for none."""
IS_POOLED = bool(os.environ.get("TEST_POOLER"))
"""Whether the tests on PostgreSQL go through a pooler by transaction, but for those marked `own_session`."""
POOLED = 10
"""Its connections to each database: more than any test uses at once, because a transaction waits for one."""
Made = TypeVar("Made")
GARBAGE = (50_000, 20, 100)
"""How much garbage tests may leave behind before it is looked for: usually a twentieth of their time."""
USUAL = ("workspace", "administrator")
"""The fixtures whose rows are in a file of SQLite from the beginning, in order."""
FRAME = ("BEGIN", "COMMIT", "PRAGMA", "PREPARE", "DEALLOCATE")
"""How statements begin that frame others, or prepare them."""


STATEMENTS = StatementRules()
"""Sees what all tests of a process ask databases."""


def pytest_configure(config: pytest.Config) -> None:
    tell_less(config)
    if "PYTEST_XDIST_WORKER" in os.environ:
        databases.SHARED = Path(config.getoption("basetemp")).parent / "migrated.db"
    event.listen(Engine, "before_cursor_execute", STATEMENTS)
    # Statements are prepared at once, or most tests would end before: the first use is as it comes, others prepared.
    kept_statements.PREPARED_AFTER = 2
    # What is collected stays: looking for garbage meanwhile would take a quarter of the time.
    gc.disable()
    # Each commit to a SQLite file waits for its disk, which takes longer than everything else in most tests.
    if FOLDER and not os.statvfs(FOLDER).f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", FOLDER)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, bool | None, bool | None]:
    """A program that ran in this process configured its logs: later tests would write lines to a stream that ended."""
    root, ours = logging.getLogger(), logging.getLogger(OURS)
    handlers, levels = list(root.handlers), (root.level, ours.level)
    done = yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])
    return done


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    yield
    assert STATEMENTS.take() == [], "a statement measures a key (tests/statement_rules.py)"


def pytest_collection(session: pytest.Session) -> None:
    # Workers that begin with different modules find those of the others compiled, instead of each compiling all. Where
    # some tests are asked for, no others are loaded.
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER"), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if worker is not None and session.config.args == session.config.getini("testpaths"):
        load_share(session.config.rootpath, int(worker.removeprefix("gw")), workers)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> Any:
    return gather(collector, name, obj)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [*([] if IS_POOLED else ["pgbouncer"]), *(["plans"] if PARTITIONS else [])]
    left_out += [] if EVERY_CASE else ["benchmark"]
    left = {item for item in items if any(map(item.get_closest_marker, left_out))}
    if TURNS:
        left.update(find_repeats(items))
    config.hook.pytest_deselected(items=[*left])
    items[:] = [item for item in items if item not in left]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers > 1:
        items[:] = deal(items, lambda item: item.nodeid, workers)


def pytest_collection_finish() -> None:
    # It stays to the end: the garbage collector need not walk over it again and again.
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(*GARBAGE)


def pytest_sessionfinish() -> None:
    end_event_loop()


class Clock:
    """A clock that tests move; each reading is a millisecond later, so that no two times are equal."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.moment += timedelta(milliseconds=1)
        return self.moment

    def advance(self, **duration: float) -> None:
        self.moment += timedelta(**duration)


class UsualRows:
    """The workspace of most tests and its administrator, whose making would take longer than most of what is tested:
    made once for each kind of database, and then stored again where a test's clock stands as it stood then. Files of
    SQLite begin with what their tests will ask for.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, bool], tuple[datetime, KeptRows[Any], datetime]] = {}
        self._files: dict[tuple[str, ...], bytes] = {}
        self._filled: dict[str, tuple[str, ...]] = {}

    def make(self, name: str, database: Database, work: Callable[[], Made]) -> Made:
        clock, key = database.clock, (name, database.sqlite)
        if not isinstance(clock, Clock):
            return work()
        if key not in self._kept:
            begun = clock.moment
            self._kept[key] = begun, KeptRows(database, work), clock.moment
            made: Made = self._kept[key][1].made
            return made
        begun, rows, ended = self._kept[key]
        if name in self._filled.get(database.url, ()):
            clock.moment = max(clock.moment, ended)
            return rows.made
        if clock.moment != begun or not rows.store(database):
            return work()
        clock.moment = ended
        return rows.made

    def begin(self, path: Path, template: Path, *names: str) -> None:
        """Make a file like the template, with the rows of these names if they were made before."""
        if not all((name, True) in self._kept for name in names):
            names = ()
        if names not in self._files:
            path.write_bytes(template.read_bytes())
            database = open_database(f"sqlite:///{path}")
            assert all(self._kept[name, True][1].store(database) for name in names)
            database.close()
            self._files[names] = path.read_bytes()
        path.write_bytes(self._files[names])
        self._filled[f"sqlite:///{path}"] = names


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres_server(like=None if PARTITIONS else databases.migrated_server()) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_url: str) -> Iterator[str]:
    """The name of a migrated database that tests copy."""
    if not PARTITIONS and databases.migrated_server():
        yield databases.TEMPLATE
        return
    with postgres_database(postgres_url) as url:
        engine = create_engine(url)
        with partitioning(url, PARTITIONS) if PARTITIONS else nullcontext():
            upgrade(engine)
        engine.dispose()
        name = make_url(url).database
        assert name is not None
        yield name


@pytest.fixture(scope="session")
def kept_databases(postgres_url: str, postgres_template: str) -> Iterator[KeptDatabases]:
    kept = KeptDatabases(postgres_url, postgres_template)
    yield kept
    kept.close()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database file that tests copy; its pages are small, because most tables have no more than one."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    path.write_bytes(databases.migrated_file())
    with closing(sqlite3.connect(path)) as connection:
        for statement in ("PRAGMA journal_mode=DELETE", "PRAGMA page_size=1024", "VACUUM", "PRAGMA journal_mode=WAL"):
            connection.execute(statement)
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(
    request: pytest.FixtureRequest, tmp_path: Path, clock: Callable[[], datetime], usual_rows: UsualRows
) -> Iterator[str]:
    """The URL of a migrated database, empty but for the usual rows that the test asks for."""
    if request.param == "sqlite":
        path = tmp_path / "relayboard.db"
        names = [name for name in USUAL if name in request.fixturenames and isinstance(clock, Clock)]
        usual_rows.begin(path, request.getfixturevalue("sqlite_template"), *names)
        yield f"sqlite:///{path}"
        return
    with request.getfixturevalue("kept_databases").lend() as url:
        yield url


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_database_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a database for the tests of a module whose workspaces do not disturb each other."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('shared') / 'relayboard.db'}"
        return
    with request.getfixturevalue("kept_databases").lend() as url:
        yield url


@pytest.fixture
def woken() -> list[str]:
    """The jobs that were woken, in order."""
    return []


@pytest.fixture(scope="session")
def pooler_url(postgres_url: str) -> Iterator[str]:
    with transaction_pooler(postgres_url, connections=POOLED) as url:
        yield url


@pytest.fixture
def pooler(database_url: str, request: pytest.FixtureRequest) -> Iterator[str | None]:
    """The URL of a pooler by transaction, if tests are to use one and this one may."""
    is_used = IS_POOLED and not database_url.startswith("sqlite")
    is_direct = request.node.get_closest_marker("own_session") is not None
    url = request.getfixturevalue("pooler_url") if is_used and not is_direct else None
    yield url
    if url is not None:
        release(url, database_url)


@pytest.fixture
def database(database_url: str, pooler: str | None, clock: Clock, woken: list[str]) -> Iterator[Database]:
    made = open_database(database_url, pooler=pooler, clock=clock, wake=lambda kinds: woken.extend(sorted(kinds)))
    yield made
    made.close()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    environment = {
        "RELAYBOARD_DATABASE_URL": database_url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{tmp_path / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "1000000/hour",
        "RELAYBOARD_STREAM_SECONDS": "0.2",
        "RELAYBOARD_SYNC_HOLD_SECONDS": "0",
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.01,0.01,0.01",
    }
    return load_settings(environment)


@pytest.fixture(scope="session")
def usual_rows() -> UsualRows:
    return UsualRows()


@pytest.fixture
def workspace(database: Database, usual_rows: UsualRows) -> Workspace:

    def make() -> Workspace:
        with database.writing() as tx:
            return create_workspace(
                tx, "Riverside Health", country="RW", timezone="Africa/Kigali", languages=("eng", "kin")
            )

    return usual_rows.make("workspace", database, make)


@pytest.fixture
def other_workspace(database: Database) -> Workspace:
    with database.writing() as tx:
        return create_workspace(tx, "Hilltop Schools", country="KE", timezone="Africa/Nairobi", languages=("swa",))


@pytest.fixture
def make_client(database: Database, settings: Settings) -> Callable[..., Any]:
    """A test client of an application with changed settings: `make_client(page_size=3)`."""

    @contextmanager
    def make(**changes: Any) -> Iterator[TestClient]:
        app: Any = create_app(replace(settings, **changes), database=database, check_responses=True)
        with running_client(app) as client:
            yield client

    return make


@pytest.fixture
def http(make_client: Callable[..., Any]) -> Iterator[TestClient]:
    """Requests without a token."""
    with make_client() as client:
        yield client


@pytest.fixture
def administrator(database: Database, workspace: Workspace, usual_rows: UsualRows) -> str:
    """The token of an administrator of `workspace`."""
    return usual_rows.make("administrator", database, lambda: make_used_token(database, workspace, "administrator"))


@pytest.fixture
def api(http: TestClient, database: Database, workspace: Workspace, administrator: str) -> Api:
    """Requests of an administrator of `workspace`."""
    return Api(http, database, workspace, administrator)


@pytest.fixture
def other_api(http: TestClient, database: Database, other_workspace: Workspace) -> Api:
    """Requests of an administrator of another workspace."""
    return Api(http, database, other_workspace, make_used_token(database, other_workspace, "administrator"))


@pytest.fixture
def statements(database: Database) -> Iterator[list[str]]:
    """The SQL statements since the fixture was created or the list was cleared, without those for tokens and rate
    limits, which run from time to time in any request.
    """
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        is_occasional = threading.current_thread().name == TOKEN_NOTES or "rate_window" in statement
        if not (is_occasional or "api_token" in statement or statement.startswith(FRAME)):
            seen.append(without_settings(statement))

    event.listen(database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(database.engine, "before_cursor_execute", note)
