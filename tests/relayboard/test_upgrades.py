"""Upgrades by the names of the commands, with the present program and one that is a version ahead."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import requests
from sqlalchemy import create_engine, func, inspect, select, update
from sqlalchemy.engine import make_url

from persistence.database import Database
from persistence.migrations import current_revision, newest_revision
from persistence.migrations.part_indexes import taking_turns
from persistence.tables.channels import channel
from persistence.tables.service import worker_heartbeat
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.gateways import SECRET, add_gateway
from testbed.running import RunningService, forked_service, wait_until
from testbed.tokens import KEYS, SECRET_KEY, make_token
from testbed.traffic import Outside, Traffic
from tests.console_script import call, call_forked, make_environment, started
from tests.next_version import REVISION, make_next_version

LISTENING = r"listens on (http://\S+)"
PAUSE_SECONDS, START_SECONDS = 0.2, 1.0
"""Between rounds of traffic, which otherwise take the time of the nodes, most of all of one that starts."""
ON_ONE = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""For what programs say of a number in a table. How a schema changes, and who does it, is asked on both databases."""


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    return make_environment(
        DATABASE_URL=database_url,
        QUEUE_URL=f"sqlite:///{tmp_path / 'queue.db'}",
        SECRET_KEY=SECRET_KEY,
        MEDIA_URL=f"file://{tmp_path / 'media'}",
        RATE_LIMIT="1000000/hour",
    )


@contextmanager
def held_turn(database_url: str) -> Iterator[None]:
    """Another process that changes the schema."""
    engine = create_engine(database_url)
    with taking_turns(engine):
        yield
    engine.dispose()


@pytest.fixture(scope="module")
def newer_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, so that only the first process compiles what it adds."""
    return make_next_version(tmp_path_factory.mktemp("next"), works_for_older=True)


@pytest.fixture(scope="module")
def only_newer_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a schema that the present program cannot work with."""
    return make_next_version(tmp_path_factory.mktemp("only"), works_for_older=False)


@pytest.fixture
def newer(environment: dict[str, str], newer_program: Path) -> dict[str, str]:
    return {**environment, "PYTHONPATH": str(newer_program)}


@pytest.fixture
def only_newer(environment: dict[str, str], only_newer_program: Path) -> dict[str, str]:
    return {**environment, "PYTHONPATH": str(only_newer_program)}


def revision_of(database_url: str) -> str | None:
    engine = create_engine(database_url)
    try:
        return current_revision(engine)
    finally:
        engine.dispose()


def test_nodes_that_wait_for_anothers_migration_say_so_and_wait_and_migrate_once(
    newer: dict[str, str], database_url: str, tmp_path: Path
) -> None:
    with ExitStack() as turn, ExitStack() as running:
        turn.enter_context(held_turn(database_url))
        both = [running.enter_context(started("migrate", folder=tmp_path, environment=newer)) for _ in range(2)]
        for each in both:
            each.wait_for("waiting until it is done")
            assert each.process.poll() is None
        turn.close()
        for each in both:
            each.wait_for(f'"revision":"{REVISION}"')
        assert [each.process.wait(300) for each in both] == [0, 0], [each.text for each in both]

    assert revision_of(database_url) == REVISION


def refusal() -> str:
    return (
        f"the database is at schema {REVISION}, which this program does not know (it knows {newest_revision()}): "
        "a newer version of Relayboard made it, so start that one"
    )


@ON_ONE
def test_a_newer_program_refuses_an_older_schema_or_waits_unless_it_migrates_and_going_back_needs_yes(
    environment: dict[str, str], newer: dict[str, str], database_url: str, tmp_path: Path
) -> None:
    before = newest_revision()
    ended = call("workspace", "list", folder=tmp_path, environment=newer)
    assert (ended.returncode, ended.stdout) == (1, "")
    needs = f"the database is at schema {before}, this program needs {REVISION}"
    assert ended.stderr == f"relayboard: {needs}: run `relayboard migrate`\n"

    with started("worker", folder=tmp_path, environment=newer) as worker:
        worker.wait_for(f"waiting: {needs}")
        assert revision_of(database_url) == before
        with started("serve", "--no-worker", "--port", "0", folder=tmp_path, environment=newer) as running:
            running.wait_for(LISTENING)
            assert running.stop() == 0
        assert revision_of(database_url) == REVISION
        wait_until((tmp_path / "queue.db").exists, "the worker to begin")
        assert worker.stop() == 0

    refused = call("migrate", "--to", before, folder=tmp_path, environment=newer)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.endswith("make a backup, then say --yes\n")
    assert revision_of(database_url) == REVISION

    done = call("migrate", "--to", before, "--yes", folder=tmp_path, environment=newer)
    assert (done.returncode, done.stdout) == (0, f'{{"revision":"{before}"}}\n'), done.stderr
    assert call_forked("workspace", "list", folder=tmp_path, environment=environment).returncode == 0


def has_worker(database_url: str) -> bool:
    """Whether a worker has said that it is alive, which it does once it has looked at the schema."""
    engine = create_engine(database_url)
    try:
        with engine.connect() as connection:
            return bool(connection.execute(select(func.count()).select_from(worker_heartbeat)).scalar_one())
    finally:
        engine.dispose()


@ON_ONE
def test_what_runs_or_starts_refuses_a_newer_schema_that_it_cannot_work_with(
    environment: dict[str, str], only_newer: dict[str, str], database_url: str, tmp_path: Path
) -> None:
    with ExitStack() as running:
        serve = running.enter_context(
            started("serve", "--no-worker", "--port", "0", folder=tmp_path, environment=environment)
        )
        worker = running.enter_context(started("worker", folder=tmp_path, environment=environment))
        url = serve.wait_for(LISTENING).group(1)
        wait_until_ready(url)
        wait_until(lambda: has_worker(database_url), "the worker to begin")

        assert call("migrate", folder=tmp_path, environment=only_newer).returncode == 0

        ready = requests.get(f"{url}/health/ready", timeout=30)
        assert (ready.status_code, ready.json()) == (
            503,
            {"status": "not ready", "failing": ["schema"], "reasons": {"schema": refusal()}},
        )
        serve.wait_for(f"not ready: the database is at schema {REVISION}")
        worker.wait_for(f"the worker ends: the database is at schema {REVISION}")
        assert worker.process.wait(300) == 1

    for command in ("serve --port 0", "worker", "workspace list", "migrate"):
        ended = call_forked(*command.split(), folder=tmp_path, environment=environment)

        assert (ended.returncode, ended.stdout) == (1, ""), command
        assert ended.stderr == f"relayboard: {refusal()}\n", command


def name_of(database_url: str) -> str:
    return Path(make_url(database_url).database or "").name


def test_deleting_all_tables_needs_the_name_of_the_database(
    environment: dict[str, str], database_url: str, tmp_path: Path
) -> None:
    name = name_of(database_url)

    for options in ([], ["--yes"], ["--database", "another"], ["--yes", "--database", ""]):
        refused = call_forked("migrate", "--to", "base", *options, folder=tmp_path, environment=environment)
        assert (refused.returncode, refused.stdout) == (1, ""), options
        assert name in refused.stderr
    assert revision_of(database_url) == newest_revision()

    done = call_forked("migrate", "--to", "base", "--database", name, folder=tmp_path, environment=environment)

    assert (done.returncode, done.stdout) == (0, '{"revision":null}\n'), done.stderr
    engine = create_engine(database_url)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    engine.dispose()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_name_may_be_typed_at_a_terminal(environment: dict[str, str], database_url: str, tmp_path: Path) -> None:
    """Another one is compared like one that is given."""
    ours, theirs = os.openpty()
    os.write(ours, b"another\n")
    script = f'exec "$0" "$@" < {os.ttyname(theirs)}'
    with started(
        "-c", script, "relayboard", "migrate", "--to", "base", folder=tmp_path, environment=environment, command=["sh"]
    ) as running:
        running.wait_for("Type the name of the database")
        running.wait_for(f"nothing was deleted: the database is called {name_of(database_url)}, not another")
    os.close(ours)
    os.close(theirs)


def wait_until_ready(url: str) -> None:
    def is_ready() -> bool:
        try:
            return requests.get(f"{url}/health/ready", timeout=30).status_code == 200
        except requests.RequestException:
            return False

    wait_until(is_ready, f"{url} to be ready")


@ON_ONE
def test_two_nodes_are_upgraded_one_after_the_other_and_nothing_fails_or_is_lost(
    environment: dict[str, str], newer_program: Path, database_url: str, tmp_path: Path
) -> None:
    """Each node runs the API and a worker; a while both versions do. The nodes of the present program are forked."""
    alike = {name: environment[f"RELAYBOARD_{name}"] for name in ("MEDIA_URL", "RATE_LIMIT")}
    settings = {**alike, "QUEUE_URL": database_url}
    newer = {
        **environment,
        "PYTHONPATH": str(newer_program),
        "RELAYBOARD_QUEUE_URL": database_url,
        "RELAYBOARD_WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "RELAYBOARD_WEBHOOK_RETRY_DELAYS_SECONDS": "0.1,0.1,0.1",
    }
    database = Database(database_url, keys=KEYS)
    with database.writing() as tx:
        workspace = create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali")
    token = make_token(database, workspace, "administrator")

    def start_old(place: ExitStack, name: str) -> RunningService:
        folder = tmp_path / name
        folder.mkdir()
        return place.enter_context(forked_service(database_url, folder, made=(workspace, token), **settings))

    def start_newer(place: ExitStack) -> str:
        node = place.enter_context(started("serve", "--port", "0", folder=tmp_path, environment=newer))
        url = node.wait_for(LISTENING).group(1)
        wait_until_ready(url)
        return url

    with ExitStack() as place:
        outside = Outside()
        place.callback(outside.close)
        callback = add_watched_gateway(database, workspace, outside)
        old = [start_old(place, name) for name in ("first", "second")]
        traffic = Traffic([node.let_go() for node in old], token, callback, outside)
        with traffic.flowing(PAUSE_SECONDS):
            wait_for_more(traffic)
            for number, node in enumerate(old):
                assert [node.stop(name) for name in ("api", "worker")] == [0, 0]
                wait_for_more(traffic)
                traffic.pause_seconds = START_SECONDS
                traffic.nodes[number] = start_newer(place)
                traffic.pause_seconds = PAUSE_SECONDS
                wait_for_more(traffic)
                for each in traffic.nodes:
                    assert requests.get(f"{each}/health/ready", timeout=30).status_code == 200
        traffic.wait_for_rest()

    assert (traffic.failed, traffic.lost) == ([], [])
    assert [text for text, count in outside.sent.items() if count > 1] == []
    assert current_revision(database.engine) == REVISION
    database.close()


def add_watched_gateway(database: Database, workspace: Workspace, outside: Outside) -> str:
    """A gateway whose SMS and events go `outside`; the path that it calls."""
    channel_id = add_gateway(database, workspace, f"{outside.url}/send")
    with database.writing() as tx:
        values = {"webhook_url": f"{outside.url}/hook"}
        uuid = tx.execute(
            update(channel).where(channel.c.id == channel_id).values(values).returning(channel.c.uuid)
        ).scalar_one()
    return f"/c/ex/{uuid}/{SECRET}"


def wait_for_more(traffic: Traffic, count: int = 3) -> None:
    wanted = traffic.rounds + count
    wait_until(lambda: traffic.rounds >= wanted or bool(traffic.failed), f"{count} more rounds")
