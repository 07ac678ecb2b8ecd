"""Filters of messages that databases find by an index of their own, or know to have no match."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select, text, update

from persistence.database import Database
from persistence.lists import ListQuery, fetch_list, fetch_numbered_list
from persistence.messages.records import APART, MESSAGES, MESSAGES_V1
from persistence.sql.columns import new_uuid
from persistence.statements import PREPARED_AFTER
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from testbed.poolers import without_settings
from tests.channel_rows import add_channel, add_contact

MANY = 4_000
pytestmark = pytest.mark.plans
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def channels(database: Database, workspace: Workspace) -> tuple[int, int]:
    """A channel that has sent many messages, and one that has only received as many."""
    sending, receiving = add_channel(database, workspace), add_channel(database, workspace, address="+250788000999")
    contact_id = add_contact(database, workspace)
    with database.writing() as tx:
        common = {"workspace_id": workspace.id, "contact_id": contact_id, "attachments": [], "quick_replies": []}
        rows = [
            {
                **common,
                "uuid": new_uuid(),
                "channel_id": receiving if number % 2 else sending,
                "direction": "in" if number % 2 else "out",
                "status": "handled" if number % 2 else "sent",
                "created_on": tx.now + timedelta(seconds=number),
                "sent_on": None if number % 2 else tx.now + timedelta(seconds=number + 5),
                "modified_on": tx.now,
            }
            for number in range(MANY)
        ]
        tx.execute(insert(message), rows)
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    return sending, receiving


def explain(database: Database, workspace: Workspace, spec: Any, **values: Any) -> list[str]:
    """The plans of the statements that read a list."""
    seen: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, given: Any, *_: object) -> None:
        seen.append((without_settings(statement), given))

    event.listen(database.engine, "before_cursor_execute", note)
    with database.reading() as tx:
        query = ListQuery(tx, workspace, values)
        fetch_list(query, spec, None, 50) if spec is MESSAGES else fetch_numbered_list(query, spec, 1, 50)
    event.remove(database.engine, "before_cursor_execute", note)
    return [_plan(database, *each) for each in seen if each[0].lstrip().startswith(("SELECT", "WITH"))]


def _plan(database: Database, statement: str, given: Any) -> str:
    how = "EXPLAIN QUERY PLAN" if database.sqlite else "EXPLAIN"
    with database.engine.connect() as connection:
        rows: Sequence[Any] = connection.exec_driver_sql(f"{how} {statement}", given).all()
    return "\n".join(str(row[-1]) for row in rows)


@pytest.mark.together
@pytest.mark.parametrize("name", ["before", "after"])
def test_a_time_among_sent_messages_begins_where_they_were_sent(
    database: Database, workspace: Workspace, channels: tuple[int, int], name: str, clock: Any
) -> None:
    moment: datetime = clock() + timedelta(seconds=MANY // 2)

    bound, *_, page = explain(database, workspace, MESSAGES, folder="sent", **{name: moment})

    assert APART in bound
    assert "ix_message_sent " in page or "ix_message_sent\n" in page, page


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_word_that_few_messages_have_is_not_looked_for_in_all(
    database: Database, workspace: Workspace, channels: tuple[int, int]
) -> None:
    with database.writing() as tx:
        tx.execute(
            update(message)
            .where(message.c.id == select(func.max(message.c.id)).scalar_subquery())
            .values(text="a rare word")
        )

    for search in ("rare", "nowhere"):
        words, *_, page = explain(database, workspace, MESSAGES, search=search)
        assert "message_words" in words, search
        assert "json_each" in page and "ix_message_page" not in page, page


@on_postgresql
@pytest.mark.together
@pytest.mark.parametrize("asked", [{"direction": ["O"]}, {"status": ["S"]}, {"status": ["D"]}], ids=json.dumps)
def test_a_direction_or_status_that_a_channel_never_has_is_not_looked_for_among_all(
    database: Database, workspace: Workspace, channels: tuple[int, int], asked: dict[str, list[str]]
) -> None:
    _, receiving = channels

    for plan in explain(database, workspace, MESSAGES_V1, channel=[receiving], **asked):
        assert "uq_message_channel_id_direction" in plan and "ix_message_page" not in plan


@on_postgresql
@pytest.mark.own_session
@pytest.mark.parametrize("spec", [MESSAGES, MESSAGES_V1], ids=["v2", "v1"])
def test_a_list_that_is_asked_for_again_and_again_is_read_in_its_order(
    database: Database, workspace: Workspace, channels: tuple[int, int], spec: Any
) -> None:
    prepared = text("SELECT name FROM pg_prepared_statements WHERE statement LIKE '%FROM message%'")
    with database.reading() as tx:
        for _ in range(PREPARED_AFTER + 1):
            query = ListQuery(tx, workspace)
            fetch_list(query, spec, None, 50) if spec is MESSAGES else fetch_numbered_list(query, spec, 1, 50)
        (name,) = tx.execute(prepared).scalars()
        tx.connection.exec_driver_sql("SET plan_cache_mode = force_generic_plan")
        statement = tx.connection.exec_driver_sql(
            f"SELECT statement, parameter_types FROM pg_prepared_statements WHERE name = '{name}'"
        ).one()
        given = ", ".join([str(workspace.id)] + ["NULL"] * (len(statement.parameter_types.strip("{}").split(",")) - 1))
        plan = "\n".join(tx.connection.exec_driver_sql(f"EXPLAIN EXECUTE {name}({given})").scalars())

    assert "ix_message_page" in plan and "Seq Scan on message " not in plan, plan
