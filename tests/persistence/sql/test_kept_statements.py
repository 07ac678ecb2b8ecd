"""Statements of lists are built once for each set of conditions; only the values change."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.labels import LABELS, create_label
from persistence.lists import ListQuery, ListSpec, fetch_list
from persistence.sql import fixed_statements, pages
from persistence.sql.pages import Page, Position
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace
from tests.conftest import Clock


@pytest.fixture
def other(database: Database) -> Workspace:
    with database.writing() as tx:
        return create_workspace(tx, "Other")


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The statements of pages that are built, from none on."""
    seen: list[object] = []
    select = pages._select

    def note(*arguments: Any) -> Any:
        seen.append(arguments)
        return select(*arguments)

    monkeypatch.setattr(pages, "_select", note)
    monkeypatch.setattr(fixed_statements, "_KEPT", {})
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
    monkeypatch.setattr(fixed_statements, "KEPT_PREPARED_AFTER", 2)
    monkeypatch.setattr(fixed_statements, "_KEPT", {})
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
    database: Database, workspace: Workspace, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixed_statements, "KEPT_PREPARED_AFTER", 2)
    monkeypatch.setattr(fixed_statements, "MOST_PREPARED", 2)
    monkeypatch.setattr(fixed_statements, "_KEPT", {})
    add(database, workspace, clock, "A", "B", "C")
    first = read(database, workspace)
    third = {"place": first.next}
    second = {"uuid": first.records[1].split('"uuid":"')[1][:36]}

    def prepared(times: int, expected: str, **values: Any) -> list[str]:
        for _ in range(times):
            assert "".join(names(read(database, workspace, **values))) == expected
        with database.reading() as tx:
            found = "SELECT statement FROM pg_prepared_statements WHERE starts_with(name, 'kept_')"
            statements = tx.connection.exec_driver_sql(found).scalars()
            marks = {"label.uuid = ": "one", ") < (": "following", "": "all"}
            return sorted(next(marks[mark] for mark in marks if mark in text) for text in statements)

    assert prepared(9, "CB") == ["all"]
    assert prepared(3, "A", **third) == ["all", "following"]
    assert prepared(2, "B", **second) == ["all", "one"]
    assert prepared(2, "A", **third) == ["all", "following"]
    assert prepared(1, "CB") == ["all", "following"]


def test_the_statement_that_was_kept_first_is_forgotten(
    database: Database,
    workspace: Workspace,
    clock: Clock,
    built: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fixed_statements, "MOST_KEPT", 1)
    add(database, workspace, clock, "A")
    seen = built
    for _ in range(2):
        assert names(read(database, workspace)) == ["A"]
        assert names(read(database, workspace, name="a")) == ["A"]

    assert len(seen) == 4
