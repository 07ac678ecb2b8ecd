"""Deep numbered pages of a long list show the same as counting from the top."""

import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import event, select, update

from persistence import pages
from persistence.database import Database
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, fetch_numbered_list
from persistence.messages.records import MESSAGES_V1
from persistence.tables.messages import DELETED, message
from persistence.workspaces.records import Workspace
from tests.conftest import Clock
from tests.factories import make_contact, make_messages

SIZE = 4
Fetch = Callable[[int], list[int]]


@pytest.fixture(autouse=True)
def short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "STEP", 3)
    monkeypatch.setattr(pages, "DEEP", 8)


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> str:
    return make_contact(database, workspace)


@pytest.fixture
def fill(database: Database, workspace: Workspace, amina: str, clock: Clock) -> Callable[..., list[int]]:
    """Messages at given seconds before now, or that many of one moment."""

    def make(*seconds: float, count: int = 1) -> list[int]:
        moments = [clock.moment - timedelta(seconds=one) for one in seconds]
        return [
            one for moment in moments for one in make_messages(database, workspace, amina, count, created_on=moment)
        ]

    return make


@pytest.fixture
def fetch(database: Database, workspace: Workspace) -> Fetch:
    """The ids of a page."""

    def fetch_page(number: int) -> list[int]:
        with database.reading() as tx:
            page = fetch_numbered_list(ListQuery(tx, workspace), MESSAGES_V1, number, SIZE)
        return [orjson.loads(record)["id"] for record in page.records]

    return fetch_page


def count(database: Database, workspace: Workspace, number: int = 3) -> int:
    with database.reading() as tx:
        return fetch_numbered_list(ListQuery(tx, workspace), MESSAGES_V1, number, SIZE).count


def everything(database: Database) -> list[int]:
    """All ids in the documented order."""
    statement = select(message.c.id).where(message.c.visibility != DELETED)
    with database.reading() as tx:
        return list(tx.execute(statement.order_by(message.c.created_on.desc(), message.c.id.desc())).scalars())


def read_all(fetch: Fetch, pages: int) -> list[int]:
    return [one for number in range(1, pages + 1) for one in fetch(number)]


def delete(database: Database, *ids: int) -> None:
    with database.writing() as tx:
        tx.execute(update(message).where(message.c.id.in_(ids)).values(visibility=DELETED))


class TestPlaces:
    def test_every_page_shows_what_counting_from_the_top_shows(
        self, database: Database, workspace: Workspace, fill: Callable[..., list[int]], fetch: Fetch
    ) -> None:
        fill(*range(1000, 1020), count=2)

        assert read_all(fetch, 10) == everything(database)
        assert count(database, workspace) == 40
        with pytest.raises(RecordMissing):
            fetch(11)

    def test_new_messages_move_the_pages_down(
        self, database: Database, workspace: Workspace, fill: Callable[..., list[int]], fetch: Fetch
    ) -> None:
        fill(*range(1000, 1040))
        fetch(5)
        fill(0.5, 0.25, 200)

        assert read_all(fetch, 11) == everything(database)
        assert count(database, workspace) == 43

    def test_messages_that_come_late_with_an_old_time_are_on_their_page(
        self, database: Database, workspace: Workspace, fill: Callable[..., list[int]], fetch: Fetch
    ) -> None:
        fill(*range(1000, 1040))
        fetch(5)
        fill(1010.5, 1020.5, 5000, 900)

        assert read_all(fetch, 11) == everything(database)
        assert count(database, workspace) == 44

    def test_after_deletions_pages_overlap_but_leave_nothing_out_until_new_marks_are_taken(
        self, database: Database, fill: Callable[..., list[int]], fetch: Fetch, clock: Clock
    ) -> None:
        ids = fill(*range(1000, 1060))
        fetch(5)
        delete(database, *ids[20:27])

        assert set(read_all(fetch, 13)) >= set(everything(database)[: 13 * SIZE - 7])

        clock.advance(seconds=601)

        assert read_all(fetch, 14) == everything(database)

    def test_whatever_comes_in_whichever_order_no_page_is_wrong(
        self, database: Database, fill: Callable[..., list[int]], fetch: Fetch, clock: Clock
    ) -> None:
        chance = random.Random(3)
        fill(*(chance.uniform(0, 3000) for _ in range(30)))
        for _ in range(12):
            clock.advance(seconds=chance.choice((1, 100, 400)))
            fill(*(chance.choice((0.1, 250, 2000)) * chance.random() for _ in range(chance.randrange(4))))
            expected = everything(database)
            number = chance.randrange(3, len(expected) // SIZE + 1)

            assert fetch(number) == expected[(number - 1) * SIZE : number * SIZE]


class TestCost:
    @pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # PostgreSQL knows how few ids are so large
    def test_messages_that_came_late_are_found_by_their_ids_and_not_among_all(
        self, database: Database, fill: Callable[..., list[int]], fetch: Fetch
    ) -> None:
        plans: list[str] = []

        def explain(connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
            if "count(" in statement and "row_number" not in statement:
                driver = connection.connection.dbapi_connection
                rows = driver.execute(f"EXPLAIN QUERY PLAN {statement}", parameters).fetchall()
                plans.append("\n".join(row[3] for row in rows))

        fill(*range(1000, 1040))
        fetch(5)
        event.listen(database.engine, "before_cursor_execute", explain)

        fetch(9)

        assert len(plans) == 1 and "SEARCH message USING INTEGER PRIMARY KEY (rowid>?)" in plans[0]

    def test_a_deep_page_takes_two_statements_once_marks_are_taken(
        self, fill: Callable[..., list[int]], fetch: Fetch, statements: list[str]
    ) -> None:
        fill(*range(1000, 1040))
        fetch(5)
        statements.clear()

        fetch(9)

        assert len([one for one in statements if "SELECT" in one]) == 2
        assert "row_number" not in "".join(statements)

    def test_marks_are_taken_again_after_ten_minutes(
        self, fill: Callable[..., list[int]], fetch: Fetch, clock: Clock, statements: list[str]
    ) -> None:
        fill(*range(1000, 1040))
        fetch(5)
        clock.advance(seconds=601)
        statements.clear()

        fetch(5)
        fetch(6)

        assert "".join(statements).count("row_number") == 1

    def test_a_page_that_is_not_full_needs_no_count(
        self, fill: Callable[..., list[int]], fetch: Fetch, statements: list[str]
    ) -> None:
        fill(1000, 1001, 1002)
        statements.clear()

        assert len(fetch(1)) == 3

        assert "count(" not in "".join(statements)

    def test_filters_about_what_changes_later_are_read_from_the_top(self) -> None:
        moment = datetime.fromisoformat("2026-03-02T08:00:00+00:00")

        assert MESSAGES_V1.keeps_places({"direction": ["I"], "before": moment, "contact": ["x"], "id": [1]})
        for changing in (
            {"status": ["S"]},
            {"archived": False},
            {"label": ["Complaint"]},
            {"group_uuids": ["x"]},
            {"urn": ["tel:+250788000111"]},
            {"urns": ["tel:+250788000111"]},
            {"flow": [1]},
            {"type": ["F"]},
        ):
            assert not MESSAGES_V1.keeps_places(changing)
