"""Lists from a real standby that streams from PostgreSQL: paused, killed, or no standby at all."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from handlers.app import create_app
from openapi.bundle import bundle
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.sql.columns import new_uuid
from persistence.sql.standby import _end_of
from persistence.tables.service import write_mark
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from relayboard.base.metrics import AWAY, BEHIND, FOLLOWER, STANDBY, WRITER, standby_reads
from relayboard.base.settings import load_settings
from testbed.databases import open_database
from testbed.running import wait_until
from testbed.standbys import StandbyServer, primary_server, standby_server
from testbed.tokens import SECRET_KEY, make_token
from tests.api import Api
from tests.clients import running_client

LABELS = "/api/v2/labels.json"
PATIENT = "60"
"""A standby that is so many seconds behind is still read, so that a paused one shows what is old."""


@pytest.fixture(scope="module")
def primary() -> Iterator[Database]:
    with primary_server() as url, ExitStack() as closing:
        opened = open_database(url)
        closing.callback(opened.close)
        upgrade(opened.engine)
        yield opened


@pytest.fixture(scope="module")
def standby(primary: Database) -> Iterator[StandbyServer]:
    with standby_server(primary.url) as running:
        yield running


@pytest.mark.parametrize(
    ("position", "end"),
    [(8192, 8192), (8192 + 24, 8192), (8192 + 40, 8192), (8192 + 41, 8192 + 41), (8192 - 1, 8192 - 1), (24, 0)],
)
def test_the_header_of_a_page_of_the_log_is_no_record(position: int, end: int) -> None:
    assert _end_of(position) == end


@pytest.fixture
def workspace(primary: Database) -> Workspace:
    with primary.writing() as tx:
        return create_workspace(tx, "Riverside Health", country="RW", timezone="Africa/Kigali", languages=("eng",))


Node = Callable[..., Api]


@pytest.fixture
def node(primary: Database, standby: StandbyServer, workspace: Workspace, tmp_path: Path) -> Iterator[Node]:
    """Makes an API process of its own: `node(token, READ_LAG_SECONDS="1")`; it has read from the standby."""
    with ExitStack() as closing:

        def make(token: str, *, is_used: bool = True, **settings: str) -> Api:
            environment = {
                "RELAYBOARD_DATABASE_URL": primary.url,
                "RELAYBOARD_DATABASE_READ_URL": standby.url,
                "RELAYBOARD_DATABASE_READ_LAG_SECONDS": PATIENT,
                "RELAYBOARD_SECRET_KEY": SECRET_KEY,
                "RELAYBOARD_MEDIA_URL": f"file://{tmp_path / 'media'}",
                "RELAYBOARD_STREAM_SECONDS": "0.2",
                **{f"RELAYBOARD_DATABASE_{name}": value for name, value in settings.items()},
            }
            app = create_app(load_settings(environment), database=primary, check_responses=True)
            api = Api(closing.enter_context(running_client(app)), primary, workspace, token)
            if is_used:
                wait_until(lambda: where_read(api) == STANDBY, "the standby to be read")
            return api

        yield make


@pytest.fixture
def token(primary: Database, workspace: Workspace) -> str:
    return make_token(primary, workspace, "administrator")


@pytest.fixture
def paused(standby: StandbyServer) -> Iterator[StandbyServer]:
    """What is written from now on the standby does not show."""
    standby.run("SELECT pg_wal_replay_pause()")
    wait_until(lambda: standby.run("SELECT pg_get_wal_replay_pause_state()") == [("paused",)], "the pause")
    yield standby
    standby.run("SELECT pg_wal_replay_resume()")


def where_read(api: Api, path: str = LABELS, **query: str) -> str:
    """Where a list was read."""
    kinds = (STANDBY, WRITER, FOLLOWER, BEHIND, AWAY)
    before = {kind: standby_reads.labels(kind)._value.get() for kind in kinds}
    assert api.get(path, **query).status_code == 200
    (found,) = [kind for kind in kinds if standby_reads.labels(kind)._value.get() > before[kind]]
    return found


def names(api: Api) -> list[str]:
    return [each["name"] for each in api.results(LABELS)]


def test_every_list_can_be_read_from_the_standby(node: Node, token: str) -> None:
    api = node(token)
    paths = [
        f"/api/{generation}{path}"
        for generation in ("v1", "v2")
        for path, operations in bundle(generation)["paths"].items()
        if operations.get("get", {}).get("operationId", "").startswith("list_")
        and path != "/sessions.json"  # of browsers alone
        and not operations["get"].get("x-tells-reading")  # the audit log is told who reads
    ]

    assert len(paths) > 40, "so many lists need no parameter"
    assert {path: where_read(api, path) for path in paths} == dict.fromkeys(paths, STANDBY)


def test_a_token_sees_what_it_has_written_at_every_node_and_others_what_the_standby_shows(
    primary: Database, node: Node, token: str, workspace: Workspace, paused: StandbyServer
) -> None:
    first, second = node(token), node(token)
    other = node(make_token(primary, workspace, "editor"))
    name = f"Written {new_uuid()}"

    assert first.post(LABELS, {"name": name}).status_code == 201

    assert [where_read(api) for api in (first, second, other)] == [WRITER, WRITER, STANDBY]
    assert name in names(first) and name in names(second) and name not in names(other)
    paused.run("SELECT pg_wal_replay_resume()")
    wait_until(lambda: where_read(second) == STANDBY, "the standby to have replayed the write")
    assert name in names(second) and name in names(other)


def test_who_follows_changes_reads_where_they_are_told(
    primary: Database, node: Node, token: str, paused: StandbyServer
) -> None:
    api = node(token)

    assert api.get("/api/v2/stream").status_code == 200

    assert where_read(api) == FOLLOWER
    with primary.writing() as tx:
        tx.execute(update(write_mark).values(primary_until=tx.now - timedelta(seconds=1)))
    assert where_read(api) == STANDBY


def test_a_standby_that_is_too_far_behind_is_not_read(
    primary: Database, node: Node, token: str, workspace: Workspace, paused: StandbyServer
) -> None:
    api = node(token, READ_LAG_SECONDS="0.3")
    writer = Api(api.client, primary, workspace, make_token(primary, workspace, "editor"))
    name = f"Late {new_uuid()}"
    writer.post(LABELS, {"name": name})

    wait_until(lambda: where_read(api) == BEHIND, "the standby to count as behind")

    assert name in names(api)
    paused.run("SELECT pg_wal_replay_resume()")
    wait_until(lambda: where_read(api) == STANDBY, "the standby to have caught up")
    assert name in names(api)


def test_no_request_fails_while_the_standby_is_killed_and_started(
    node: Node, token: str, standby: StandbyServer
) -> None:
    api = node(token)

    standby.kill()
    found = [api.get(LABELS).status_code for _ in range(20)]

    assert set(found) == {200} and where_read(api) == AWAY
    standby.start()
    wait_until(lambda: where_read(api) == STANDBY, "the standby to be read again")


def test_what_is_no_standby_of_the_database_is_never_read(
    primary: Database, node: Node, token: str, postgres_url: str
) -> None:
    for url in (primary.url, postgres_url):
        api = node(token, is_used=False, READ_URL=url)
        assert [where_read(api) for _ in range(3)] == [AWAY] * 3
