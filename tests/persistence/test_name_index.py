"""The index that finds contacts by parts of their names, where PostgreSQL can have it."""

import logging
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, event, insert, inspect, make_url, select, text

from flows.environment import Environment
from flows.queries import ListResolver, parse_query
from persistence.contacts.queries import SearchScope, find_matches
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.migrations.name_index import NAME_INDEX, finds_names
from persistence.tables.contacts import contact
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace
from tests.partitions import partitioning

CROWD = 10_000
SCOPE = SearchScope(ListResolver.of([], [], []), Environment())
on_postgresql = pytest.mark.parametrize("empty_database", ["postgresql"], indirect=True)


def add_crowd(database: Database) -> Workspace:
    """A workspace with many people, one of whom has a name of her own."""
    with database.writing() as tx:
        workspace = create_workspace(tx, "Crowd", country="RW", timezone="Africa/Kigali")
        names = [f"Person {number % 20} {number % 37}" for number in range(CROWD)] + ["Zoë O'Berta"]
        row = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now, "fields": {}}
        tx.execute(insert(contact), [{**row, "name": name} for name in names])
    return workspace


def search(database: Database, workspace: Workspace, query: str) -> list[str | None]:
    parsed = parse_query(query, SCOPE.environment, SCOPE.resolver)
    with database.reading() as tx:
        return list(tx.execute(select(contact.c.name).where(find_matches(workspace.id, parsed, SCOPE))).scalars())


def explain(database: Database, workspace: Workspace, query: str) -> str:
    """The plan of the search."""

    def only_explain(_connection: object, _cursor: object, statement: str, values: Any, *_: object) -> tuple[str, Any]:
        return f"EXPLAIN {statement}", values

    event.listen(database.engine, "before_cursor_execute", only_explain, retval=True)
    plan = search(database, workspace, query)
    event.remove(database.engine, "before_cursor_execute", only_explain)
    return "\n".join(map(str, plan))


def index_names(engine: Engine) -> set[str | None]:
    return {each["name"] for each in inspect(engine).get_indexes("contact")}


@on_postgresql
def test_a_word_of_a_name_that_few_have_is_found_by_the_index(empty_database: Database) -> None:
    upgrade(empty_database.engine)
    workspace = add_crowd(empty_database)
    with empty_database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE contact"))

    for word in ("o'berta", "ZOË", "robert zoë"):
        assert NAME_INDEX in explain(empty_database, workspace, f'name ~ "{word}"')
        assert search(empty_database, workspace, f'name ~ "{word}"') == ["Zoë O'Berta"]
    assert search(empty_database, workspace, "name ~ berta") == []


def test_a_database_with_the_index_or_without_need_not_be_told_about_it(empty_database: Database) -> None:
    upgrade(empty_database.engine)

    assert finds_names(empty_database)
    assert (NAME_INDEX in index_names(empty_database.engine)) is not empty_database.sqlite


@on_postgresql
def test_partitions_of_contacts_have_it_each(empty_database: Database) -> None:
    with partitioning(empty_database.url, 2):
        upgrade(empty_database.engine)
    assert finds_names(empty_database)

    with empty_database.engine.begin() as connection:
        connection.execute(text(f"DROP INDEX {NAME_INDEX}"))
    upgrade(empty_database.engine)

    assert finds_names(empty_database)


@on_postgresql
def test_an_index_that_was_left_half_made_or_folds_case_otherwise_is_made_anew(empty_database: Database) -> None:
    upgrade(empty_database.engine)
    with empty_database.engine.connect() as connection:
        version = connection.dialect.server_version_info or ()
    other = "lower(name)" if version >= (17,) else 'lower(name COLLATE "C")'
    for damage in (
        [f"DROP INDEX {NAME_INDEX}"],
        [f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{NAME_INDEX}'::regclass"],
        [f"DROP INDEX {NAME_INDEX}", f"CREATE INDEX {NAME_INDEX} ON contact USING gin ({other} gin_trgm_ops)"],
    ):
        with empty_database.engine.begin() as connection:
            for statement in damage:
                connection.execute(text(statement))
        assert not finds_names(empty_database)

        upgrade(empty_database.engine)

        assert finds_names(empty_database)


@pytest.fixture
def plain_user(empty_database: Database) -> Iterator[str]:
    """The URL of the database for a user who may make tables in it, and no extension."""
    name = f"plain{uuid4().hex[:12]}"
    with empty_database.engine.begin() as connection:
        connection.execute(text(f"CREATE ROLE {name} LOGIN"))
        connection.execute(text(f"GRANT ALL ON SCHEMA public TO {name}"))
    yield make_url(empty_database.url).set(username=name).render_as_string(hide_password=False)
    with empty_database.engine.begin() as connection:
        connection.execute(text(f"DROP OWNED BY {name}"))
        connection.execute(text(f"DROP ROLE {name}"))


@on_postgresql
def test_a_server_that_lets_us_have_no_extension_searches_all_names(
    empty_database: Database, plain_user: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = Database(plain_user)
    with caplog.at_level(logging.WARNING, "relayboard.migrations"):
        upgrade(database.engine)
    workspace = add_crowd(database)

    assert "names stay without an index: permission denied" in caplog.text
    assert not finds_names(database)
    assert search(database, workspace, "name ~ zoë") == ["Zoë O'Berta"]

    with empty_database.engine.begin() as connection:
        connection.execute(text("CREATE EXTENSION pg_trgm"))
    upgrade(database.engine)

    assert finds_names(database)
    assert search(database, workspace, "name ~ zoë") == ["Zoë O'Berta"]
    database.close()
