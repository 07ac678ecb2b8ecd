"""How PostgreSQL reads pages of contacts."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from persistence.contacts.records import CONTACTS_V1
from persistence.database import Database
from persistence.lists import ListQuery, ListSpec, fetch_list, fetch_numbered_list
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact
from persistence.workspaces.records import Workspace
from testbed.poolers import without_settings

MANY = 4_000
pytestmark = pytest.mark.plans
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def crowd(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        common = {"workspace_id": workspace.id, "fields": {}, "created_on": tx.now, "modified_on": tx.now}
        rows = [
            {**common, "uuid": new_uuid(), "name": f"Person {number}", "is_deleted": number % 2 == 0}
            for number in range(MANY)
        ]
        tx.execute(insert(contact), rows)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE contact"))


def read(
    database: Database, workspace: Workspace, spec: ListSpec, values: dict[str, Any], *, page: int = 1
) -> list[str]:
    with database.reading() as tx:
        query = ListQuery(tx, workspace, values)
        if spec is CONTACTS_V1:
            return fetch_numbered_list(query, spec, page, 50).records
        first = fetch_list(query, spec, None, 50)
        return [*first.records, *fetch_list(query, spec, first.next, 50).records]


def explain(database: Database, read_pages: Callable[[], list[str]]) -> list[str]:
    """The plans of the statements that read pages."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, given: Any, *_: object) -> None:
        seen.append((without_settings(statement), given))

    event.listen(database.engine, "before_cursor_execute", note)
    assert len(read_pages()) >= 50
    event.remove(database.engine, "before_cursor_execute", note)
    with database.engine.connect() as connection:
        return [
            "\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", given).scalars())
            for statement, given in seen
            if statement.startswith("WITH picked")
        ]


@on_postgresql
@pytest.mark.own_session
def test_contacts_that_a_deep_page_skips_are_not_read(database: Database, workspace: Workspace, crowd: None) -> None:
    with database.create_patient_engine().connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM contact"))

    (plan,) = explain(database, lambda: read(database, workspace, CONTACTS_V1, {}, page=30))

    assert re.search(r"Index Only Scan (Backward )?using ix_contact_page", plan)
