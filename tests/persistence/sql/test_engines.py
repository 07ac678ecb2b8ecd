"""A real PgBouncer in transaction mode before PostgreSQL: what a connection cannot keep travels with transactions."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg2
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from persistence.data_requests.erasing import rewrite_files
from persistence.database import Database, Transaction, open_serving_database
from persistence.errors import LostRace, RecordMissing, took_too_long
from persistence.labels import LABELS, create_label
from persistence.lists import ListQuery, fetch_list
from persistence.statements import PREPARED_AFTER
from persistence.workspaces.writes import create_workspace
from relayboard.base.settings import load_settings
from testbed.kept_databases import KeptDatabases
from testbed.poolers import transaction_pooler
from testbed.running import forked_service, wait_until
from testbed.tokens import SECRET_KEY

pytestmark = pytest.mark.pgbouncer

SETTINGS = text(
    "select current_setting('TimeZone'), current_setting('statement_timeout'), current_setting('lock_timeout'), "
    "current_setting('jit'), current_setting('application_name')"
)
OURS = ("UTC", "700ms", "2s", "off", "relayboard")
PATIENT = ("UTC", "700ms", "20s", "off", "relayboard")
LEFT_BEHIND = "SET TIME ZONE 'Asia/Tokyo'; SET statement_timeout = '9s'; SET lock_timeout = '9s'; SET jit = on"
CLIENTS = 6
SENT = 12


@pytest.fixture(scope="module")
def direct_url(kept_databases: KeptDatabases) -> Iterator[str]:
    with kept_databases.lend() as url:
        yield url


@pytest.fixture(scope="module")
def pooled_url(direct_url: str) -> Iterator[str]:
    """A pooler with one connection, which all clients share."""
    with transaction_pooler(direct_url, connections=1) as url:
        yield url


@pytest.fixture
def pooled(pooled_url: str) -> Iterator[Database]:
    with closing(Database(pooled_url, statement_timeout_seconds=0.7, is_behind_pooler=True)) as opened:
        yield opened


def test_the_pooler_loses_what_a_session_sets(pooled_url: str) -> None:
    """Otherwise the other tests show nothing."""
    with pytest.raises(psycopg2.OperationalError, match="unsupported startup parameter"):
        psycopg2.connect(pooled_url.replace("+psycopg2", ""), options="-c jit=off")
    with closing(psycopg2.connect(pooled_url.replace("+psycopg2", ""))) as first, first.cursor() as cursor:
        cursor.execute("SET lock_timeout = '9s'")
        first.commit()
        with closing(psycopg2.connect(pooled_url.replace("+psycopg2", ""))) as second, second.cursor() as other:
            other.execute("SHOW lock_timeout")
            assert other.fetchone() == ("9s",)


def test_settings_travel_with_every_transaction_whatever_others_left_in_the_session(
    pooled: Database, pooled_url: str
) -> None:
    with closing(psycopg2.connect(pooled_url.replace("+psycopg2", ""))) as other, other.cursor() as cursor:
        cursor.execute(LEFT_BEHIND)
        other.commit()

    with pooled.reading() as tx:
        assert [tuple(tx.execute(SETTINGS).one()) for _ in range(2)] == [OURS, OURS]
    with pooled.writing() as tx:
        assert tuple(tx.execute(SETTINGS).one()) == PATIENT
        with tx.connection.begin_nested():
            assert tuple(tx.execute(SETTINGS).one()) == PATIENT
    with pooled.reading_snapshot(0.25) as tx:
        assert tuple(tx.execute(SETTINGS).one()) == ("UTC", "250ms", *OURS[2:])


def test_a_unit_of_work_is_stored_or_not_as_a_whole(pooled: Database) -> None:
    def make(tx: Transaction, name: str) -> int:
        return create_workspace(tx, name, country="RW", timezone="Africa/Kigali", languages=("eng",)).id

    first = pooled.write(lambda tx: make(tx, "first"))

    def fail(tx: Transaction) -> None:
        make(tx, "second")
        raise RecordMissing

    with pytest.raises(RecordMissing):
        pooled.write(fail)
    tries = iter((True, True, False))

    def lose(tx: Transaction) -> int:
        made = make(tx, "third")
        if next(tries):
            raise LostRace
        return made

    third = pooled.write(lose)
    with pooled.reading() as tx:
        found = tx.execute(text("select name from workspace where id >= :first order by id"), {"first": first})
        assert [name for (name,) in found] == ["first", "third"] and third > first


@pytest.mark.parametrize("way", ["reading", "writing"])
def test_a_statement_that_takes_too_long_ends_and_the_connection_serves_on(pooled: Database, way: str) -> None:
    with pytest.raises(OperationalError) as raised, getattr(pooled, way)() as tx:
        tx.execute(text("select pg_sleep(60)"))

    assert took_too_long(raised.value)
    assert pooled.is_reachable()


def test_lists_that_are_read_often_prepare_nothing_that_another_connection_lacks(pooled: Database) -> None:
    def make(tx: Transaction) -> object:
        made = create_workspace(tx, "Lists", country="RW", timezone="Africa/Kigali", languages=("eng",))
        create_label(tx, made.id, "Urgent")
        return made

    workspace = pooled.write(make)

    def read(_number: int) -> int:
        with pooled.reading() as tx:
            return len(fetch_list(ListQuery(tx, workspace), LABELS, None, 5).records)

    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(read, range(4 * (PREPARED_AFTER + 5)))) == {1}
    with pooled.reading() as tx:
        assert tx.execute(text("select count(*) from pg_prepared_statements")).scalar_one() == 0


def test_what_needs_a_session_gets_one_of_the_database_itself(direct_url: str, pooled_url: str) -> None:
    environment = {
        "RELAYBOARD_DATABASE_URL": direct_url,
        "RELAYBOARD_DATABASE_POOLED_URL": pooled_url,
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
    }
    with closing(open_serving_database(load_settings(environment), pool_size=1)) as serving:
        assert rewrite_files(serving)


def test_settings_in_the_url_travel_too(pooled_url: str) -> None:
    given = "options=-c%20search_path%3Dpg_catalog,public%20--work-mem%3D5MB"
    with closing(Database(f"{pooled_url}&{given}", is_behind_pooler=True)) as opened, opened.reading() as tx:
        shown = tx.execute(text("select current_setting('search_path'), current_setting('work_mem')")).one()
        assert tuple(shown) == ("pg_catalog, public", "5MB")


@pytest.mark.parametrize("options", ["-h%20localhost", "-c%20jit", "-c%20jit%3D'off%25'"])
def test_options_that_cannot_travel_are_refused(pooled_url: str, options: str) -> None:
    with pytest.raises(ValueError, match="cannot travel"):
        Database(f"{pooled_url}&options={options}", is_behind_pooler=True)


def test_a_service_works_through_fewer_connections_than_it_has_clients(direct_url: str, tmp_path: Path) -> None:
    with ExitStack() as ending:
        pooled_url = ending.enter_context(transaction_pooler(direct_url, connections=2))
        given = {"DATABASE_POOLED_URL": pooled_url}
        service = ending.enter_context(forked_service(direct_url, tmp_path, ("api", "worker"), **given))

        def send(number: int) -> str:
            made = service.post("/api/v2/contacts.json", {"name": f"C{number}", "urns": [f"tel:+25078800{number:04}"]})
            label = service.post("/api/v2/labels.json", {"name": f"L{number}"})
            assert service.get("/api/v2/labels.json", uuid=label["uuid"])["results"] == [label]
            return str(made["uuid"])

        with ThreadPoolExecutor(CLIENTS) as threads:
            made = list(threads.map(send, range(SENT)))
        start = service.post("/api/v2/broadcasts.json", {"text": "Hello", "contacts": made})

        def is_sent() -> bool:
            found = service.get("/api/v2/broadcasts.json", id=start["id"])["results"][0]
            return bool(found["status"] not in ("pending", "queued"))

        wait_until(is_sent, "the worker to make the messages of the broadcast")
        listed = service.get("/api/v2/contacts.json")["results"]
    assert {each["uuid"] for each in listed} == set(made)
