"""Statements whose text never changes do the same as text and as what PostgreSQL has prepared."""

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Executable, Text, Update, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

import persistence
from persistence.audit.witness import AUDITED, _can_tell, _concerns, _set
from persistence.database import Database
from persistence.errors import lost_a_race
from persistence.secrets.encryption import Sealed
from persistence.sql import fixed_statements
from persistence.sql.columns import new_uuid
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.sql.listed_rows import ROWS, inserting
from persistence.tables.contacts import contact
from persistence.tables.messages import label
from persistence.workspaces import Workspace
from tests.factories import make_contact

USES = 4
"""The first is sent as text, the later ones are prepared on PostgreSQL."""


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    """What tests declare is forgotten."""
    count = len(fixed_statements.FIXED)
    yield
    del fixed_statements.FIXED[count:]


def of(statement: Executable) -> Fixed:
    return Fixed(lambda _is_sqlite: statement)


def load_all() -> list[Fixed]:
    root = Path(persistence.__file__).parent
    for path in sorted(root.glob("**/*.py")):
        if "versions" not in path.parts and path.name not in ("env.py", "__main__.py"):
            import_module(".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"))
    return list(fixed_statements.FIXED)


def test_lists_are_one_parameter_whatever_their_length(database: Database, workspace: Workspace) -> None:
    uuids = [make_contact(database, workspace, f"+25078800011{number}") for number in range(3)]
    finding = of(select(contact.c.uuid).where(among(contact.c.uuid, "uuids", "UUID")))

    with database.writing() as tx:
        for wanted in ([], uuids[:1], uuids, [new_uuid()]) * USES:
            found = {uuid for (uuid,) in finding.rows(tx, {"uuids": wanted})}
            assert found == set(wanted) & set(uuids)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_searches_for_the_values_of_a_list(database: Database) -> None:
    finding = of(update(contact).where(among(contact.c.id, "wanted")).values(name=None))

    with database.writing() as tx:
        made = finding._for(tx)
        plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {made.text}", made.parameters({"wanted": [1]}))
        steps = [str(row[-1]) for row in plan]

    assert steps[0].startswith("SEARCH contact USING INTEGER PRIMARY KEY")


def test_texts_of_lists_may_contain_what_arrays_are_written_with(database: Database, workspace: Workspace) -> None:
    odd = ["a,b", '"', "\\", "{}", "NULL", "50 %", "it's", "\N{SMILING FACE WITH SMILING EYES}"]
    for number, name in enumerate(odd):
        make_contact(database, workspace, f"+25078800011{number}", name=name)
    finding = of(select(contact.c.name).where(among(contact.c.name, "names", "TEXT")))

    with database.writing() as tx:
        for _ in range(USES):
            for wanted in (odd, odd[:3], odd[3:]):
                assert {name for (name,) in finding.rows(tx, {"names": wanted})} == set(wanted)


def test_rows_are_one_parameter_with_the_types_of_their_columns(database: Database, workspace: Workspace) -> None:
    names = ("uuid", "workspace_id", "name", "status", "is_deleted", "open_ticket_count", "fields")
    names += ("created_on", "modified_on", "last_seen_on")
    adding = inserting(contact, names, (contact.c.uuid, contact.c.id))
    moment = datetime(2026, 3, 2, 8, 10, 10, 123456, tzinfo=UTC)
    said = ["It's 100 % 'O\\k' \N{SMILING FACE WITH SMILING EYES}\n\u2028 %(x)s", None, ""]
    fields = {"a": {"text": 'with "quotes"', "number": "1.50"}}

    with database.writing() as tx:
        for number in range(USES):
            rows = [
                {
                    "uuid": new_uuid(),
                    "workspace_id": workspace.id,
                    "name": name,
                    "status": "active",
                    "is_deleted": number % 2 == 1,
                    "open_ticket_count": 0,
                    "fields": fields,
                    "created_on": moment,
                    "modified_on": moment,
                    "last_seen_on": None,
                }
                for name in said
            ]
            made = dict(adding.rows(tx, {ROWS: rows}))
            stored = tx.execute(select(contact).where(contact.c.id.in_(made.values())).order_by(contact.c.id)).all()
            assert [row.uuid for row in stored] == [row["uuid"] for row in rows]
            assert [row.name for row in stored] == said
            assert {(row.is_deleted, row.created_on, row.last_seen_on) for row in stored} == {
                (number % 2 == 1, moment, None)
            }
            assert all(row.fields == fields for row in stored)


def test_a_statement_tells_how_many_rows_it_changed(database: Database, workspace: Workspace) -> None:
    for number in range(3):
        make_contact(database, workspace, f"+25078800011{number}")
    mine = contact.c.workspace_id == param("owner")
    renaming = of(update(contact).where(mine).values(name=param("name", Text)))

    with database.writing() as tx:
        assert [renaming.run(tx, {"owner": workspace.id, "name": "50 %"}) for _ in range(USES)] == [3] * USES
        assert renaming.run(tx, {"owner": 0, "name": None}) == 0


def test_an_error_is_one_of_a_lost_race_and_the_connection_goes_on(database: Database, workspace: Workspace) -> None:
    names = ("uuid", "workspace_id", "name", "name_key", "message_count", "created_on")
    adding = inserting(label, names)
    row: dict[str, Any] = {"workspace_id": workspace.id, "name": "A", "name_key": "a", "message_count": 0}
    row["created_on"] = database.clock()

    for _ in range(USES):
        twice = [{**row, "uuid": new_uuid()} for _ in range(2)]
        with pytest.raises(DBAPIError) as caught, database.writing() as tx:
            adding.run(tx, {ROWS: twice})
        assert lost_a_race(caught.value)

    with database.writing() as tx:
        assert adding.run(tx, {ROWS: [{**row, "uuid": new_uuid()}]}) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_prepares_a_statement_once_it_has_used_it_often_but_none_behind_a_pooler(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixed_statements, "PREPARED_AFTER", 3)
    counting = of(select(contact.c.id).where(contact.c.workspace_id == param("owner")))
    with database.writing() as tx:
        numbers = []
        for _ in range(5):
            counting.rows(tx, {"owner": workspace.id})
            held = tx.connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar_one()
            numbers.append(held - (numbers[0] if numbers else 0))

    assert numbers[1:] == ([0, 0, 0, 0] if database.is_behind_pooler else [0, 1, 1, 1])


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_could_not_be_prepared_is_prepared_later(database: Database, workspace: Workspace) -> None:
    counting = of(select(contact.c.id).where(contact.c.workspace_id == param("owner")))
    with database.writing() as tx:
        counting.rows(tx, {"owner": workspace.id})
        with pytest.raises(DBAPIError):
            tx.connection.exec_driver_sql("SELECT 1 / 0")
        with pytest.raises(DBAPIError):
            counting.rows(tx, {"owner": workspace.id})  # nothing can be prepared in a broken transaction
        tx.connection.rollback()

    for _ in range(USES):
        with database.writing() as tx:
            assert counting.rows(tx, {"owner": workspace.id}) == []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_statement_without_parameters_is_prepared_too(database: Database, workspace: Workspace) -> None:
    everybody = of(select(contact.c.id))
    with database.reading() as tx:
        assert [everybody.rows(tx, {}) for _ in range(USES)] == [[]] * USES


def test_no_fixed_statement_holds_a_secret_whose_key_belongs_to_an_engine(database: Database) -> None:
    for fixed in load_all():
        compiled: Any = fixed.built(is_sqlite=database.sqlite).compile(dialect=database.engine.dialect)  # type: ignore[attr-defined]
        kinds = [each.type for each in compiled.binds.values()] + [each.type for each in compiled._result_columns]
        assert not any(isinstance(kind, Sealed) for kind in kinds), str(compiled)


def test_no_fixed_statement_does_what_the_audit_log_tells() -> None:
    for fixed in load_all():
        statement = fixed.built(is_sqlite=True)
        rule = AUDITED.get(statement.table.name) if isinstance(statement, UpdateBase) else None
        if rule is None or fixed.is_told:
            continue
        assert isinstance(statement, UpdateBase)
        is_told = _concerns(rule, statement)
        if isinstance(statement, Update):
            is_told = is_told and (not rule.only_end or _can_tell(rule, _set(statement, {})))
        assert not is_told, str(statement)
