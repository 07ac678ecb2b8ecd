"""Statements are built once, and do the same as text and as what PostgreSQL has prepared."""

import itertools
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import ColumnElement, Select, Update, bindparam, event, literal, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql.dml import UpdateBase

import persistence
from persistence import pages, statements
from persistence.audit import _can_tell, _concerns, _set
from persistence.database import Database, Transaction
from persistence.errors import lost_a_race, took_too_long
from persistence.labels import LABELS, create_label
from persistence.lists import ListQuery, ListSpec, fetch_list
from persistence.pages import Page, Position
from persistence.secrets.encryption import Sealed
from persistence.sql.columns import BigId, new_uuid
from persistence.statements import Compiled, Statement, among, execute_kept, insert_rows, statement
from persistence.tables.contacts import contact
from persistence.tables.messages import label
from persistence.tables.policies import policy_of
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from tests.conftest import Clock
from tests.factories import make_contact, make_contacts

USES = 4
"""The first is sent as text, the later ones are prepared on PostgreSQL."""


@pytest.fixture(autouse=True)
def own() -> Iterator[None]:
    """What tests declare is forgotten."""
    count = len(statements.STATEMENTS)
    yield
    del statements.STATEMENTS[count:]


def load_all() -> list[Statement[Any]]:
    root = Path(persistence.__file__).parent
    for path in sorted(root.glob("**/*.py")):
        if "versions" not in path.parts and path.name not in ("env.py", "__main__.py"):
            import_module(".".join(path.relative_to(root.parent).with_suffix("").parts).removesuffix(".__init__"))
    return list(statements.STATEMENTS)


def test_lists_are_one_parameter_whatever_their_length(database: Database, workspace: Workspace) -> None:
    uuids = [make_contact(database, workspace, f"+25078800011{number}") for number in range(3)]

    @statement
    def find(uuids: Sequence[str]) -> Select[str]:
        return select(contact.c.uuid).where(among(contact.c.uuid, uuids, "UUID"))

    with database.writing() as tx:
        for wanted in ([], uuids[:1], uuids, [new_uuid()]) * USES:
            found = {uuid for (uuid,) in find.rows(tx, wanted)}
            assert found == set(wanted) & set(uuids)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_searches_for_the_values_of_a_list(database: Database) -> None:
    @statement
    def forget(ids: Sequence[int]) -> Update:
        return update(contact).where(among(contact.c.id, ids)).values(name=None)

    with database.writing() as tx:
        made = Compiled(forget.built(is_sqlite=True), tx.dialect)
        plan = tx.connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {made.text}", made.parameters({"ids": [1]}))
        steps = [str(row[-1]) for row in plan]

    assert steps[0].startswith("SEARCH contact USING INTEGER PRIMARY KEY")


def test_texts_of_lists_may_contain_what_arrays_are_written_with(database: Database, workspace: Workspace) -> None:
    odd = ["a,b", '"', "\\", "{}", "NULL", "50 %", "it's", "\N{SMILING FACE WITH SMILING EYES}"]
    for number, name in enumerate(odd):
        make_contact(database, workspace, f"+25078800011{number}", name=name)

    @statement
    def find(names: Sequence[str]) -> Select[str | None]:
        return select(contact.c.name).where(among(contact.c.name, names, "TEXT"))

    with database.writing() as tx:
        for _ in range(USES):
            for wanted in (odd, odd[:3], odd[3:]):
                assert {name for (name,) in find.rows(tx, names=wanted)} == set(wanted)


def test_rows_are_one_parameter_with_the_types_of_their_columns(database: Database, workspace: Workspace) -> None:
    names = ("uuid", "workspace_id", "name", "status", "is_deleted", "open_ticket_count", "fields")
    names += ("created_on", "modified_on", "last_seen_on")
    add_rows = insert_rows(contact, names, (contact.c.uuid, contact.c.id))
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
            made = dict(add_rows.rows(tx, rows))
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

    @statement
    def rename(workspace_id: int, name: str | None) -> Update:
        return update(contact).where(contact.c.workspace_id == workspace_id).values(name=name)

    with database.writing() as tx:
        assert [rename.run(tx, workspace.id, name="50 %") for _ in range(USES)] == [3] * USES
        assert rename.run(tx, 0, None) == 0


def test_an_error_is_one_of_a_lost_race_and_the_connection_goes_on(database: Database, workspace: Workspace) -> None:
    names = ("uuid", "workspace_id", "name", "name_key", "message_count", "created_on")
    add_rows = insert_rows(label, names)
    row: dict[str, Any] = {"workspace_id": workspace.id, "name": "A", "name_key": "a", "message_count": 0}
    row["created_on"] = database.clock()

    for _ in range(USES):
        twice = [{**row, "uuid": new_uuid()} for _ in range(2)]
        with pytest.raises(DBAPIError) as caught, database.writing() as tx:
            add_rows.run(tx, twice)
        assert lost_a_race(caught.value)

    with database.writing() as tx:
        assert add_rows.run(tx, [{**row, "uuid": new_uuid()}]) == 1


class Letter(Enum):
    A, B, C = "a", "b", "c"


def list_ids_of(workspace_id: int) -> Select[int]:
    return select(contact.c.id).where(contact.c.workspace_id == workspace_id)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_prepares_a_statement_once_it_has_used_it_often_but_none_behind_a_pooler(
    database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "PREPARED_AFTER", 3)
    list_ids = statement(list_ids_of)
    with database.writing() as tx:
        numbers = []
        for _ in range(5):
            list_ids.rows(tx, workspace.id)
            held = tx.connection.exec_driver_sql("SELECT count(*) FROM pg_prepared_statements").scalar_one()
            numbers.append(held - (numbers[0] if numbers else 0))

    assert numbers[1:] == ([0, 0, 0, 0] if database.is_behind_pooler else [0, 1, 1, 1])


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_what_could_not_be_prepared_is_prepared_later(database: Database, workspace: Workspace) -> None:
    list_ids = statement(list_ids_of)
    with database.writing() as tx:
        list_ids.rows(tx, workspace.id)
        with pytest.raises(DBAPIError):
            tx.connection.exec_driver_sql("SELECT 1 / 0")
        with pytest.raises(DBAPIError):
            list_ids.rows(tx, workspace.id)  # nothing can be prepared in a broken transaction
        tx.connection.rollback()

    for _ in range(USES):
        with database.writing() as tx:
            assert list_ids.rows(tx, workspace.id) == []


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_statement_without_parameters_is_prepared_too(database: Database, workspace: Workspace) -> None:
    everybody = statement(lambda: select(contact.c.id))
    with database.reading() as tx:
        assert [everybody.rows(tx) for _ in range(USES)] == [[]] * USES


@pytest.mark.own_session
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize("uses", [0, 1, USES])
def test_work_whose_connection_was_ended_is_done_on_another(
    database: Database, workspace: Workspace, uses: int, caplog: pytest.LogCaptureFixture
) -> None:
    list_ids = statement(list_ids_of)
    ended: list[int] = []

    def work(tx: Transaction) -> list[object]:
        server = tx.connection.connection.dbapi_connection.info.backend_pid  # type: ignore[union-attr]
        for _ in range(uses):
            list_ids.rows(tx, workspace.id)
        if not ended:
            ended.append(server)
            with database.engine.connect() as other:
                other.exec_driver_sql(f"SELECT pg_terminate_backend({server}, 1000)")
        return list(list_ids.rows(tx, workspace.id))

    assert database.write(work) == []
    assert caplog.records == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_statement_of_sqlite_that_takes_too_long_ends_with_an_error_of_the_database(database: Database) -> None:
    @statement
    def count(most: int) -> Any:
        numbers = select(literal(1).label("number")).cte("numbers", recursive=True)
        numbers = numbers.union_all(select(numbers.c.number + 1).where(numbers.c.number < most))
        return select(numbers.c.number)

    with database.reading_snapshot(0.05) as tx, pytest.raises(DBAPIError) as caught:
        count.rows(tx, 10**9)

    assert took_too_long(caught.value)


def test_whoever_listens_to_a_database_hears_its_statements(database: Database, workspace: Workspace) -> None:
    list_ids = statement(list_ids_of)
    heard: list[str] = []
    event.listen(database.engine, "before_cursor_execute", lambda *told: heard.append(told[2]))

    with database.writing() as tx:
        for _ in range(USES):
            list_ids.rows(tx, workspace.id)

    assert len([each for each in heard if each.startswith(("SELECT contact.id", "EXECUTE"))]) == USES


def build_all(*, is_sqlite: bool) -> Iterator[tuple[Statement[Any], Any]]:
    """Each statement, with each combination of what is behind its `*`."""
    for each in load_all():
        choices = [[False, True] if kind is bool else list(kind) for kind in each.choices.values()]
        for chosen in itertools.product(*choices):
            yield each, each.built(is_sqlite=is_sqlite, **dict(zip(each.choices, chosen, strict=True)))


def test_no_statement_holds_a_secret_whose_key_belongs_to_an_engine(database: Database) -> None:
    for _, built in build_all(is_sqlite=database.sqlite):
        compiled = built.compile(dialect=database.engine.dialect)
        columns = getattr(built, "exported_columns", ())
        kinds = [each.type for each in (*compiled.bind_names, *columns)]
        assert not any(isinstance(kind, Sealed) for kind in kinds), str(compiled)


def test_no_statement_does_what_the_audit_log_tells() -> None:
    for each, built in build_all(is_sqlite=True):
        rule = policy_of(built.table).audited if isinstance(built, UpdateBase) else None
        if rule is None or each.is_told:
            continue
        assert isinstance(built, UpdateBase)
        is_told = _concerns(rule, built)
        if isinstance(built, Update):
            is_told = is_told and (not rule.only_end or _can_tell(rule, _set(built, {})))
        assert not is_told, str(built)


@pytest.fixture
def other(database: Database) -> Workspace:
    with database.writing() as tx:
        return create_workspace(tx, "Other")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The statements of pages that are built, from none on."""
    seen: list[object] = []
    select = pages._select_window

    def note(*arguments: Any, **options: Any) -> Any:
        seen.append(arguments)
        return select(*arguments, **options)

    monkeypatch.setattr(pages, "_select_window", note)
    monkeypatch.setattr(statements, "_KEPT", {})
    return seen


def add(database: Database, workspace: Workspace, clock: Clock, *names: str) -> None:
    for name in names:
        clock.advance(seconds=1)
        with database.writing() as tx:
            create_label(tx, workspace.id, name)


def read(
    database: Database, workspace: Workspace, spec: ListSpec = LABELS, place: Position | None = None, **values: Any
) -> Page:
    with database.reading() as tx:
        return fetch_list(ListQuery(tx, workspace, values), spec, place, 2)


def names(page: Page) -> list[str]:
    return [record.split('"name":"')[1].split('"')[0] for record in page.records]


def test_a_statement_is_built_once_and_gets_the_values_of_each_request(
    database: Database, workspace: Workspace, other: Workspace, clock: Clock, built: list[object]
) -> None:
    add(database, workspace, clock, "A", "B", "C")
    add(database, other, clock, "D")
    seen = built

    assert names(read(database, workspace)) == ["C", "B"]
    assert names(read(database, other)) == ["D"]
    assert names(read(database, workspace)) == ["C", "B"]
    assert len(seen) == 1

    assert names(read(database, workspace, name="A")) == ["A"]
    assert names(read(database, workspace, name="D")) == []
    assert names(read(database, other, name="D")) == ["D"]
    assert len(seen) == 2


def test_the_pages_after_a_position_and_before_one_have_statements_of_their_own(
    database: Database, workspace: Workspace, clock: Clock, built: list[object]
) -> None:
    add(database, workspace, clock, "A", "B", "C", "D", "E")
    seen = built
    for _ in range(2):
        first = read(database, workspace)
        second = read(database, workspace, place=first.next)
        third = read(database, workspace, place=second.next)
        assert [names(page) for page in (first, second, third)] == [["E", "D"], ["C", "B"], ["A"]]
        assert names(read(database, workspace, place=third.previous)) == ["C", "B"]
        assert names(read(database, workspace, place=second.previous)) == ["E", "D"]

    assert len(seen) == 3


def test_a_prepared_statement_finds_the_same(
    database: Database, workspace: Workspace, other: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "PREPARED_AFTER", 2)
    monkeypatch.setattr(statements, "_KEPT", {})
    add(database, workspace, clock, "100 % of A's", "B", "C")
    add(database, other, clock, "D")
    for _ in range(8):
        first = read(database, workspace)
        assert (names(first), names(read(database, workspace, place=first.next))) == (["C", "B"], ["100 % of A's"])
        assert names(read(database, other)) == ["D"]
        uuid = first.records[0].split('"uuid":"')[1][:36]
        assert names(read(database, workspace, uuid=uuid)) == ["C"]
        assert names(read(database, other, uuid=uuid)) == []


@pytest.mark.own_session
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_connection_prepares_so_many_statements_those_that_it_uses_most(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statements, "MOST_PREPARED", 2)

    @statement
    def find(label_id: int, *, letter: Letter) -> Select[int]:
        return select(label.c.id).where(label.c.id == label_id, label.c.name == letter.value)

    with database.reading() as tx:
        tx.connection.exec_driver_sql("DEALLOCATE ALL")
        tx.connection.info[statements.USES] = {}

        def prepared(times: int, letter: Letter) -> str:
            for _ in range(times):
                assert find.rows(tx, 1, letter=letter) == []
            found = tx.connection.exec_driver_sql("SELECT statement FROM pg_prepared_statements").scalars()
            return "".join(sorted(one.value for text in found for one in Letter if f"'{one.value}'" in text))

        assert prepared(9, Letter.A) == "a"
        assert prepared(3, Letter.B) == "ab"
        assert prepared(2, Letter.C) == "ac"
        assert prepared(2, Letter.B) == "ab"
        assert prepared(1, Letter.A) == "ab"


def test_the_statement_that_was_kept_first_is_forgotten(
    database: Database,
    workspace: Workspace,
    clock: Clock,
    built: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(statements, "MOST_KEPT", 1)
    add(database, workspace, clock, "A")
    seen = built
    for _ in range(2):
        assert names(read(database, workspace)) == ["A"]
        assert names(read(database, workspace, name="a")) == ["A"]

    assert len(seen) == 4


def test_conditions_whose_parameters_alone_differ_in_name_are_not_taken_for_each_other(
    database: Database, workspace: Workspace
) -> None:
    make_contacts(database, workspace, 2)
    named = contact.c.id == bindparam("wanted_id", None, type_=BigId, required=False)
    with database.reading() as tx:
        ids = tx.execute(select(contact.c.id).order_by(contact.c.id)).scalars().all()

        def read(condition: ColumnElement[bool], **values: int) -> list[int]:
            chosen = select(contact.c.id).where(condition)
            return [one for (one,) in execute_kept(tx, (contact,), ("one",), (condition,), lambda: chosen, values)]

        assert read(named, wanted_id=ids[0]) == [ids[0]]
        assert read(contact.c.id == ids[1]) == [ids[1]]
        assert read(named, wanted_id=ids[0]) == [ids[0]]
