from collections.abc import Callable

import pytest
from sqlalchemy import delete

from persistence import pages
from persistence.database import Database
from persistence.errors import RecordMissing
from persistence.labels import LABELS_V1, create_label
from persistence.lists import ListQuery, fetch_numbered_list
from persistence.pages import Page
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.conftest import Clock

Fetch = Callable[[int], Page]


@pytest.fixture
def fetch(database: Database, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Fetch:
    """Fetches a page of two of the workspace's seven labels, which are a long list here."""
    monkeypatch.setattr(pages, "LONG_LIST", 5)
    add(database, workspace, *"ABCDEFG")

    def fetch_page(number: int) -> Page:
        with database.reading() as tx:
            return fetch_numbered_list(ListQuery(tx, workspace), LABELS_V1, number, 2)

    return fetch_page


def add(database: Database, workspace: Workspace, *names: str) -> None:
    with database.writing() as tx:
        for name in names:
            create_label(tx, workspace.id, name)


def remove(database: Database, *names: str) -> None:
    with database.writing() as tx:
        tx.execute(delete(label).where(label.c.name.in_(names)))


def test_a_long_list_is_counted_once_a_minute(
    fetch: Fetch, database: Database, workspace: Workspace, clock: Clock, statements: list[str]
) -> None:
    fetch(1)
    add(database, workspace, "H")
    statements.clear()

    assert (fetch(1).count, fetch(2).count) == (7, 7)
    assert not [statement for statement in statements if "count(" in statement]

    clock.advance(seconds=61)

    assert fetch(1).count == 8


def test_a_short_list_is_counted_each_time(fetch: Fetch, database: Database, workspace: Workspace) -> None:
    remove(database, "A", "B", "C")
    fetch(1)
    add(database, workspace, "H")

    assert fetch(1).count == 5


def test_the_end_of_a_list_that_grew_leads_on(fetch: Fetch, database: Database, workspace: Workspace) -> None:
    fetch(1)
    add(database, workspace, "H", "I")

    assert fetch(4).count == 9
    assert len(fetch(5).records) == 1


def test_a_list_that_became_shorter_ends_where_it_ends(fetch: Fetch, database: Database) -> None:
    fetch(1)
    remove(database, "A", "B", "C", "D")

    page = fetch(2)

    assert (len(page.records), page.count) == (1, 3)
    with pytest.raises(RecordMissing):
        fetch(3)


def test_a_page_left_empty_since_the_count_does_not_exist(fetch: Fetch, database: Database) -> None:
    fetch(1)
    remove(database, "A", "B", "C", "D", "E")

    with pytest.raises(RecordMissing):
        fetch(2)


def test_each_workspace_has_its_own_count(
    fetch: Fetch, database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    fetch(1)
    add(database, other_workspace, "A")

    with database.reading() as tx:
        assert fetch_numbered_list(ListQuery(tx, other_workspace), LABELS_V1, 1, 2).count == 1


def test_each_filter_has_its_own_count(fetch: Fetch, database: Database, workspace: Workspace) -> None:
    fetch(1)

    with database.reading() as tx:
        assert fetch_numbered_list(ListQuery(tx, workspace, {"name": "a"}), LABELS_V1, 1, 2).count == 1
