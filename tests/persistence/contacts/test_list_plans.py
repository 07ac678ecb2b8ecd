"""How PostgreSQL reads pages of contacts."""

import re
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from persistence.contacts.v1 import CONTACTS_V1
from persistence.contacts.v2 import CONTACTS
from persistence.database import Database
from persistence.lists import ListQuery, ListSpec, fetch_list, fetch_numbered_list
from persistence.sql import pages
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact
from persistence.workspaces import Workspace
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


def read(database: Database, workspace: Workspace, spec: ListSpec, values: dict[str, Any]) -> list[str]:
    with database.reading() as tx:
        query = ListQuery(tx, workspace, values)
        if spec is CONTACTS:
            first = fetch_list(query, spec, None, 50)
            return [*first.records, *fetch_list(query, spec, first.next, 50).records]
        return [record for page in (1, 2) for record in fetch_numbered_list(query, spec, page, 50).records]


@on_postgresql
@pytest.mark.parametrize("spec", [CONTACTS, CONTACTS_V1], ids=["v2", "v1"])
@pytest.mark.parametrize("values", [{}, {"deleted": True}], ids=str)
def test_a_page_reads_each_contact_once(
    database: Database, workspace: Workspace, crowd: None, spec: ListSpec, values: dict[str, Any]
) -> None:
    seen: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, given: Any, *_: object) -> None:
        seen.append((without_settings(statement), given))

    event.listen(database.engine, "before_cursor_execute", note)
    found = read(database, workspace, spec, values)
    event.remove(database.engine, "before_cursor_execute", note)

    plans = []
    with database.engine.connect() as connection:
        for statement, given in seen:
            if statement.startswith("WITH picked"):
                plans.append("\n".join(connection.exec_driver_sql(f"EXPLAIN {statement}", given).scalars()))
    assert len(found) == 100
    assert len(plans) == 2
    # Once more for `one` contact, whose workspace tells which fields there are.
    assert [len(re.findall(" on contact (?!one)", plan)) for plan in plans] == [1, 1]


@pytest.mark.parametrize("values", [{}, {"deleted": True}, {"reverse": True}], ids=str)
def test_it_is_the_same_page_as_when_they_are_chosen_first(
    database: Database, workspace: Workspace, crowd: None, monkeypatch: pytest.MonkeyPatch, values: dict[str, Any]
) -> None:
    at_once = read(database, workspace, CONTACTS, values)
    monkeypatch.setattr(pages, "execute_plain", lambda *_arguments, **_options: None)

    assert read(database, workspace, CONTACTS, values) == at_once
