"""The indexes that find contacts by parts of their names and numbers, where PostgreSQL can have them."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine, event, insert, inspect, make_url, select, text

from flows.environment import Environment
from flows.queries import ListResolver, parse_query
from persistence.contacts.queries import SearchScope, find_matches
from persistence.database import Database
from persistence.lists import ListQuery, fetch_list
from persistence.messages.records import MESSAGES
from persistence.migrations import downgrade, list_revisions, upgrade
from persistence.migrations.part_indexes import PART_INDEX_NAMES, finds_parts
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.databases import migrate
from testbed.servers import postgres_database

CROWD = 10_000
NAME_INDEX, URN_INDEX = "ix_contact_name_parts", "ix_contact_urn_parts"
SCOPE = SearchScope(ListResolver.of([], [], []), Environment())
WITHOUT_SPACES = {
    "สมชาย ใจดี": ["ใจ", "สมชายใจดี", "ชายใ"],
    "กิ่ง สุข": ["กิ่ง", "สุข"],
    "ສົມຊາຍ ໃຈດີ": ["ໃຈ", "ສົມຊາຍໃຈດີ"],
    "សុខ ចាន់": ["សុខ", "សុខចាន់"],
    "မောင် အောင်": ["အောင်", "မောင်အောင်"],
    "山田\u3000太郎": ["太郎", "山田太郎", "田太"],
    "鈴木花子": ["花子", "鈴木花子"],
    "さとう はなこ": ["はな", "さとうはなこ"],
}
on_postgresql = pytest.mark.parametrize("empty_database", ["postgresql"], indirect=True)
migrated_on_postgresql = pytest.mark.parametrize("migrated_database", ["postgresql"], indirect=True)
crowd_on_postgresql = pytest.mark.parametrize("crowd", ["postgresql"], indirect=True)


def add_crowd(database: Database, size: int = CROWD, others: Iterable[str] = ()) -> Workspace:
    """A workspace with many people, one of whom has a name of her own, and these others; each has a number."""
    with database.writing() as tx:
        workspace = create_workspace(tx, "Crowd", country="RW", timezone="Africa/Kigali")
        names = [f"Person {number % 20} {number % 37}" for number in range(size)]
        names += [*others, "Zoë O'Berta"]
        row = {"workspace_id": workspace.id, "created_on": tx.now, "modified_on": tx.now, "fields": {}}
        tx.execute(insert(contact), [{**row, "name": name} for name in names])
        ids = tx.execute(select(contact.c.id).where(contact.c.workspace_id == workspace.id)).scalars()
        urn = {"workspace_id": workspace.id, "scheme": "tel", "priority": 0}
        paths = [f"+2507{number:08}" for number in range(len(names) - 1)] + ["+250788555777"]
        tx.execute(
            insert(contact_urn),
            [{**urn, "contact_id": one, "path": path} for one, path in zip(ids, paths, strict=True)],
        )
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
    found = inspect(engine)
    return {each["name"] for table in ("contact", "contact_urn") for each in found.get_indexes(table)}


@dataclass(frozen=True)
class Crowd:
    """A workspace with many people in a migrated database, which tests only read."""

    database: Database
    workspace: Workspace
    size: int
    smaller: Workspace


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('crowd') / 'crowd.db'}"
            migrate(url)
        else:
            template = request.getfixturevalue("postgres_template")
            url = stack.enter_context(postgres_database(request.getfixturevalue("postgres_url"), template))
        database = stack.enter_context(closing(Database(url)))
        size = 100 if database.sqlite else CROWD  # only PostgreSQL chooses between ways by it
        workspace, smaller = add_crowd(database, size, WITHOUT_SPACES), add_crowd(database, size // 2)
        tidy_up(database)
        yield Crowd(database, workspace, size + len(WITHOUT_SPACES) + 1, smaller)


def tidy_up(database: Database) -> None:
    if database.sqlite:
        return
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE contact"))
        connection.execute(text("VACUUM ANALYZE contact_urn"))


@pytest.mark.together
@crowd_on_postgresql
@pytest.mark.parametrize(
    ("query", "index"),
    [
        ("name ~ o'berta", NAME_INDEX),
        ("name ~ ZOË", NAME_INDEX),
        ("zoe", NAME_INDEX),
        ('name ~ "robert zoë"', NAME_INDEX),
        ('name = "ZOË O\'BERTA"', NAME_INDEX),
        ("tel ~ 8855577", URN_INDEX),
        ("tel = +250788555777", URN_INDEX),
        ("urn ~ 8855577", URN_INDEX),
        ("8855577", URN_INDEX),
    ],
)
def test_what_few_have_is_found_by_an_index(crowd: Crowd, query: str, index: str) -> None:
    assert index in explain(crowd.database, crowd.workspace, query)
    assert search(crowd.database, crowd.workspace, query) == ["Zoë O'Berta"]


@crowd_on_postgresql
def test_a_part_of_a_name_without_spaces_is_found_by_the_index(crowd: Crowd) -> None:
    for name, parts in WITHOUT_SPACES.items():
        for part in parts:
            assert NAME_INDEX in explain(crowd.database, crowd.workspace, f"name ~ {part}"), part
            assert search(crowd.database, crowd.workspace, f"name ~ {part}") == [name]


@pytest.mark.together
@crowd_on_postgresql
@pytest.mark.parametrize("query", ["name ~ 12", "name ~ ab", "name ~ 王", "name = x", 'tel ~ "9-9"'])
def test_a_part_of_less_than_three_letters_is_looked_for_beside_the_index(crowd: Crowd, query: str) -> None:
    plan = explain(crowd.database, crowd.workspace, query)

    assert NAME_INDEX not in plan
    assert URN_INDEX not in plan


@pytest.mark.together
@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("name ~ berta", 0),
        ('name = "  zoë o\'berta "', 1),
        ('name = "zoë"', 0),
        ('name = "Zo_ O\'Berta"', 0),
        ('name = "%"', 0),
        ('tel ~ "___"', 0),
        ('tel ~ "%%%"', 0),
        ("tel ~ +2507885", 1),
        ("tel = 250788555777", 0),
        ('name != "zoë o\'berta"', -1),
    ],
)
def test_characters_of_patterns_are_characters_and_case_is_none(crowd: Crowd, query: str, count: int) -> None:
    """How many are found, or with a minus, how many are not."""
    assert len(search(crowd.database, crowd.workspace, query)) == count % crowd.size


@crowd_on_postgresql
def test_numbers_of_other_workspaces_are_not_read(crowd: Crowd) -> None:
    plan = explain(crowd.database, crowd.smaller, 'tel ~ "9-9"')

    assert "Seq Scan on contact_urn" not in plan


def test_a_database_with_the_index_or_without_need_not_be_told_about_it(migrated_database: Database) -> None:
    assert finds_parts(migrated_database)
    assert PART_INDEX_NAMES & index_names(migrated_database.engine) == (
        set() if migrated_database.sqlite else {NAME_INDEX, URN_INDEX}
    )


def test_partitions_of_contacts_have_it_each(divided_database: Database) -> None:
    assert finds_parts(divided_database)

    with divided_database.engine.begin() as connection:
        connection.execute(text(f"DROP INDEX {NAME_INDEX}"))
    upgrade(divided_database.engine)

    assert finds_parts(divided_database)


@migrated_on_postgresql
def test_an_index_that_was_left_half_made_or_folds_case_otherwise_is_made_anew(migrated_database: Database) -> None:
    with migrated_database.engine.connect() as connection:
        version = connection.dialect.server_version_info or ()
    other = "lower(name)" if version >= (17,) else 'lower(name COLLATE "C")'
    for damage in (
        [f"DROP INDEX {NAME_INDEX}"],
        [f"UPDATE pg_index SET indisvalid = false WHERE indexrelid = '{NAME_INDEX}'::regclass"],
        [f"DROP INDEX {NAME_INDEX}", f"CREATE INDEX {NAME_INDEX} ON contact USING gin ({other} gin_trgm_ops)"],
    ):
        with migrated_database.engine.begin() as connection:
            for statement in damage:
                connection.execute(text(statement))
        assert not finds_parts(migrated_database)

        upgrade(migrated_database.engine)

        assert finds_parts(migrated_database)


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
    workspace = add_crowd(database, 1)

    assert "names and numbers stay without an index: permission denied" in caplog.text
    assert not finds_parts(database)
    assert search(database, workspace, "name ~ zoë") == ["Zoë O'Berta"]

    with empty_database.engine.begin() as connection:
        connection.execute(text("CREATE EXTENSION pg_trgm"))
    upgrade(database.engine)

    assert finds_parts(database)
    assert search(database, workspace, "name ~ zoë") == ["Zoë O'Berta"]
    database.close()


def add_texts(database: Database, *texts: str) -> Workspace:
    workspace = add_crowd(database, 1)
    with database.writing() as tx:
        owner = tx.execute(select(contact.c.id).limit(1)).scalar_one()
        row = {"workspace_id": workspace.id, "contact_id": owner, "direction": "in", "status": "handled"}
        row |= {"attachments": [], "quick_replies": [], "created_on": tx.now, "modified_on": tx.now}
        tx.execute(insert(message), [{**row, "uuid": str(uuid4()), "text": each} for each in texts])
    return workspace


def find_texts(database: Database, workspace: Workspace, search: str) -> int:
    with database.reading() as tx:
        return len(fetch_list(ListQuery(tx, workspace, {"search": search}), MESSAGES, None, 10).records)


DAMAGES = {
    "sqlite": [
        ["DROP TRIGGER message_words_i", "UPDATE message SET text = 'new text'"],
        ["DROP TRIGGER message_words_u", "DROP TABLE message_words"],
    ],
    "postgresql": [["DROP INDEX ix_message_words"], ["COMMENT ON INDEX ix_message_words IS 'of another form'"]],
}


def test_an_index_of_words_that_is_lost_or_of_another_form_is_made_of_the_messages_there_are(
    migrated_database: Database,
) -> None:
    workspace = add_texts(migrated_database, "first text", "second text")
    for damage in DAMAGES[migrated_database.engine.dialect.name]:
        with migrated_database.engine.begin() as connection:
            for statement in damage:
                connection.execute(text(statement))

        upgrade(migrated_database.engine)

        assert find_texts(migrated_database, workspace, "text") == 2


@migrated_on_postgresql
def test_words_that_few_messages_have_are_found_by_the_index(migrated_database: Database) -> None:
    texts = [f"text {number}{' sometimes' * (number % 60 == 0)}" for number in range(3_000)]
    workspace = add_texts(migrated_database, *texts)
    with migrated_database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE message"))
    plans = list[str]()

    def explain_it(connection: Any, cursor: Any, statement: str, values: Any, *_: object) -> None:
        if "message" in statement and not statement.startswith("EXPLAIN"):
            with connection.engine.connect() as other:
                plans.extend(str(row[0]) for row in other.exec_driver_sql(f"EXPLAIN {statement}", values))

    event.listen(migrated_database.engine, "before_cursor_execute", explain_it)
    for word, number in (("1234", 1), ("sometimes", 10), ("text", 10)):
        plans.clear()
        assert find_texts(migrated_database, workspace, word) == number
        assert ("ix_message_words" in "\n".join(plans)) is (word != "text"), word
    event.remove(migrated_database.engine, "before_cursor_execute", explain_it)


@pytest.mark.parametrize("migrated_database", ["sqlite"], indirect=True)
def test_a_downgrade_leaves_no_trigger_that_the_program_before_cannot_run(migrated_database: Database) -> None:
    downgrade(migrated_database.engine, list_revisions()[-2])

    with migrated_database.engine.connect() as connection:
        names = connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all()
    assert [name for name in names if name.startswith("message_words")] == []
