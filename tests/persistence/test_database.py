"""What the database layer tells about its failures."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError, SQLAlchemyError

from persistence.database import Database, Transaction
from persistence.definitions.checking import check_definition
from persistence.definitions.editing import create_from_form
from persistence.definitions.importing import import_definitions
from persistence.errors import took_too_long
from persistence.flows.simulations import simulate
from persistence.sql.engines import Busy
from persistence.workspaces.records import Workspace
from tests.definition_files import make_definition, make_file, say


def test_an_error_does_not_list_the_values_of_its_statement(database):
    with database.reading() as tx, pytest.raises(SQLAlchemyError) as failed:
        tx.execute(text("select missing from nowhere limit :word"), {"word": "quince"})

    assert "parameters: {" not in str(failed.value) and "hide_parameters=True" in str(failed.value)


def test_the_files_of_a_database_are_for_their_owner_only(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'var' / 'relayboard.db'}")
    with database.writing() as tx:
        tx.execute(text("create table note (id integer)"))
        modes = {each.name: each.stat().st_mode & 0o777 for each in (tmp_path / "var").iterdir()}
    database.close()

    assert modes == dict.fromkeys(["relayboard.db", "relayboard.db-wal", "relayboard.db-shm"], 0o600)
    assert (tmp_path / "var").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_statements_of_a_snapshot_give_up_after_its_timeout(database: Database) -> None:
    with database.reading_snapshot(1.25) as tx:
        assert tx.execute(text("SHOW statement_timeout")).scalar() == "1250ms"


PLAYED: dict[str, Any] = {"definition": make_definition(say("Hello"))}
COMPUTES: dict[str, Callable[[Transaction, Workspace], object]] = {
    "an import": lambda tx, owner: import_definitions(tx, owner, make_file(PLAYED["definition"])),
    "a check": lambda tx, owner: check_definition(tx, owner, PLAYED["definition"]),
    "a new flow": lambda tx, owner: create_from_form(tx, owner, {"name": "Welcome"}),
    "a played flow": lambda tx, owner: simulate(tx, owner, PLAYED),
}


@pytest.mark.parametrize("work", COMPUTES.values(), ids=COMPUTES)
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_reads_large_files_or_plays_flows_may_compute_for_seconds_inside_of_a_transaction(
    database: Database, workspace: Workspace, work: Callable[[Transaction, Workspace], object]
) -> None:
    with database.writing() as tx:
        work(tx, workspace)
        assert tx.execute(text("SHOW idle_in_transaction_session_timeout")).scalar() == "1min"


def test_a_statement_that_takes_too_long_ends_and_its_connection_serves_on(database_url: str) -> None:
    seconds = 0.2 if database_url.startswith("sqlite") else 1.0  # of computing, or of waiting too
    database = Database(database_url, statement_timeout_seconds=seconds, pool_size=1)
    counting = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT count(*) FROM n"
    endless = counting.format(10**9) if database.sqlite else "SELECT pg_sleep(600)"  # which computes nothing
    for way in (database.reading, database.writing, lambda: database.reading_snapshot(seconds / 2)):
        with pytest.raises(OperationalError) as raised, way() as tx:
            tx.execute(text(endless))
        assert took_too_long(raised.value)
        with way() as tx:
            assert tx.execute(text(counting.format(100))).scalar_one() == 100
    database.close()


@pytest.mark.parametrize("is_behind_pooler", [False, True])
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_reading_prepares_statements_only_on_a_connection_of_its_own(
    database_url: str, is_behind_pooler: bool
) -> None:
    database = Database(database_url, is_behind_pooler=is_behind_pooler)
    with database.reading() as tx:
        assert (tx.is_alone, tx.can_prepare) == (True, not is_behind_pooler)
    database.close()


def test_an_impatient_unit_of_work_does_not_wait_for_another_one_on_sqlite(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'relayboard.db'}")
    with database.writing() as tx:
        tx.execute(text("create table note (id integer)"))
        with pytest.raises(Busy), database.writing(patient=False):
            pass
    with database.writing(patient=False) as tx:
        tx.execute(text("insert into note values (1)"))
    with database.reading() as tx:
        assert tx.execute(text("select id from note")).scalars().all() == [1]
    database.close()
