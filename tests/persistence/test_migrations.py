"""The schema's revisions, up and down, on both databases."""

import re
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Column, ForeignKey, Index, MetaData, Table, Text, UniqueConstraint, inspect, text

from persistence import migrations
from persistence.database import Database
from persistence.migrations import (
    FOLDER,
    SchemaOlder,
    check_schema,
    current_revision,
    downgrade,
    list_revisions,
    upgrade,
)
from persistence.migrations.__main__ import main
from persistence.migrations.keys import OWNER, SHARED
from persistence.migrations.part_indexes import PART_INDEX_NAMES, is_computed
from persistence.sql.columns import BigId
from persistence.tables import conditions
from persistence.tables.conditions import metadata
from persistence.tables.policies import policy
from testbed.servers import postgres_database

PARTITION = re.compile(r"_part\d+$")
"""How the names of partitions end, which the tests make (`tests/partitions.py`)."""
GLOBAL = {
    *(
        "registration_window",
        "schema_note",
        "secret_key_check",
        "waiting_registration",
        "worker_heartbeat",
        "write_mark",
    ),
    *("account", "account_mail", "sign_in", "sign_in_link", "sign_in_window"),
}
"""What is of no workspace, and nothing of a workspace refers to it."""
TABLES_OF_SCHEMAS = (
    "SELECT schemaname, count(*) FROM pg_tables WHERE schemaname IN ('ours', 'public') GROUP BY schemaname"
)


def _differences(database: Database, wanted: MetaData) -> list[Any]:
    """As Alembic sees them, whose thinking between two statements is not limited on such a connection."""
    engine = database.create_patient_engine()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_object": _is_compared})
        return list(compare_metadata(context, wanted))


def _is_compared(item: Any, name: str | None, kind: str, *_rest: object) -> bool:
    is_part = PARTITION.search(item.name if kind == "table" else item.table.name)
    is_hidden = kind == "foreign_key_constraint" or name in PART_INDEX_NAMES
    return not (is_part or is_hidden or is_computed(item))


def test_rows_of_workspaces_have_the_workspace_in_all_keys_of_a_server(migrated_database: Database) -> None:
    found = inspect(migrated_database.engine)
    primary_keys, foreign_keys = found.get_multi_pk_constraint(), found.get_multi_foreign_keys()
    spread = {OWNER} if not migrated_database.sqlite else set()

    for table in metadata.sorted_tables:
        is_owned = OWNER in table.c and table.name not in SHARED
        primary = set(primary_keys[None, table.name]["constrained_columns"])
        assert primary == {each.name for each in table.primary_key} | (spread if is_owned else set())
        present = {(*each["constrained_columns"],) for each in foreign_keys[None, table.name]}
        wanted = set()
        for each in table.foreign_keys:
            is_within = is_owned and each.column.table.name not in SHARED
            wanted.add((each.parent.name, *(spread if is_within else ())))
        assert present == wanted, table.name


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=lambda table: table.name)
def test_what_is_unique_for_rows_of_workspaces_is_so_in_their_workspace(table: Table) -> None:
    if OWNER not in table.c or table.name in SHARED:
        assert table.name in SHARED | GLOBAL
        return

    constraints = [each for each in table.constraints if isinstance(each, UniqueConstraint)]
    uniques: list[UniqueConstraint | Index] = [*constraints, *(each for each in table.indexes if each.unique)]
    assert [each.name for each in uniques if OWNER not in each.columns] == []
    assert not table.c[OWNER].nullable


def test_tables_are_made_in_the_schema_that_the_url_names(postgres_url: str) -> None:
    with postgres_database(postgres_url) as url:
        with closing(Database(url)) as plain, plain.writing() as tx:
            tx.execute(text("CREATE SCHEMA ours"))
        with closing(Database(f"{url}&options=-c%20search_path%3Dours,public")) as named:
            upgrade(named.engine)

            with named.reading() as tx:
                found = tx.execute(text(TABLES_OF_SCHEMAS)).all()
                counts = {schema: count for schema, count in found}
    assert counts == {"ours": len(metadata.tables) + 1}  # and that of the revision


def test_upgrading_twice_changes_nothing(migrated_database: Database) -> None:
    first = current_revision(migrated_database.engine)

    upgrade(migrated_database.engine)

    assert current_revision(migrated_database.engine) == first


def test_downgrading_to_the_beginning_leaves_no_table(migrated_database: Database) -> None:
    downgrade(migrated_database.engine)

    assert set(inspect(migrated_database.engine).get_table_names()) <= {"alembic_version"}


def test_revisions_are_known_by_their_files_in_the_order_in_which_alembic_finds_them() -> None:
    found = ScriptDirectory(str(FOLDER)).walk_revisions()

    assert list_revisions() == tuple(each.revision for each in found)[::-1]


def test_a_revision_is_written_from_the_tables_as_it_runs(
    migrated_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = FOLDER.parents[1]
    folder = tmp_path / FOLDER.relative_to(project)
    shutil.copytree(FOLDER, folder)
    shutil.copy(project / "pyproject.toml", tmp_path)
    planned = MetaData(naming_convention=metadata.naming_convention)
    for table in metadata.sorted_tables:
        table.to_metadata(planned)
    planned.tables["label"].append_column(Column("color", Text, server_default=""))
    kinds = {repr(each.type): each.type for table in metadata.sorted_tables for each in table.c}
    Table(
        "planned",
        planned,
        Column("id", BigId, primary_key=True),
        Column(OWNER, ForeignKey("workspace.id"), nullable=False),
        Column("contact_id", BigId, ForeignKey("contact.id", ondelete="CASCADE"), nullable=False),
        *(Column(f"kind_{number}", kind) for number, kind in enumerate(kinds.values())),
        Index("ix_planned_page", OWNER, "id"),
        sqlite_autoincrement=True,
        info=policy("whom people want to contact again", erased="rows"),
    )
    monkeypatch.setattr(conditions, "metadata", planned)
    monkeypatch.setattr(migrations, "FOLDER", folder)
    monkeypatch.setattr(migrations, "list_revisions", list_revisions.__wrapped__)
    newest = list_revisions()[-1]

    assert main(["9999", "add", "what", "is", "planned"]) == 0

    file = str(folder / "versions" / "9999_add_what_is_planned.py")
    for step in (["check"], ["format", "--check"]):
        subprocess.run([sys.executable, "-m", "ruff", *step, file], check=True)
    upgrade(migrated_database.engine)
    assert _differences(migrated_database, planned) == []
    downgrade(migrated_database.engine, newest)
    left = inspect(migrated_database.engine)
    assert set(left.get_table_names()) >= set(metadata.tables) and "planned" not in left.get_table_names()
    assert {each["name"] for each in left.get_columns("label")} == set(metadata.tables["label"].c.keys())


def test_a_schema_that_is_too_old_is_told_from_none(empty_database: Database) -> None:
    with pytest.raises(SchemaOlder, match=r"^the database has no tables yet: run `relayboard migrate`$"):
        check_schema(empty_database.engine)
    first, last = list_revisions()[0], list_revisions()[-1]
    with empty_database.engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{min(first, last)}')")
    with pytest.raises(SchemaOlder, match=r"^the database is at schema 0001, this program needs \d+: run"):
        check_schema(empty_database.engine)
