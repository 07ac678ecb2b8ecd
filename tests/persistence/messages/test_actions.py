"""Actions on messages that meet other transactions."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from sqlalchemy import event, func, select, text

from persistence.database import Database, Transaction
from persistence.labels import delete_label
from persistence.messages.actions import (
    add_label,
    archive_messages,
    delete_messages,
    remove_label,
    restore_messages,
)
from persistence.tables.changes import record_stamp
from persistence.tables.messages import ARCHIVED, DELETED, VISIBLE, label, message, message_label
from persistence.workspaces.records import Workspace
from testbed.running import wait_until
from tests.factories import make_contact, make_messages, make_named
from tests.thinned import EVERY_CASE

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""On SQLite one transaction writes at a time, so these meetings cannot be made."""
WAITING = text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
LABEL = 1

Act = Callable[[Transaction, int, Sequence[int]], object]
Asked = list[int | str]
Move = Callable[[Transaction, int, Sequence[int | str]], Asked]


@pytest.fixture
def ids(database: Database, workspace: Workspace) -> list[int]:
    """Three messages; the first bears a label."""
    ids = make_messages(database, workspace, make_contact(database, workspace, "+250788000111"), 3)
    make_named(database, workspace, label, ["Complaint"])
    with database.writing() as tx:
        add_label(tx, workspace.id, ids[:1], LABEL)
    return ids


def uuids_of(database: Database, ids: Sequence[int]) -> list[str]:
    with database.reading() as tx:
        rows = tx.execute(select(message.c.id, message.c.uuid).where(message.c.id.in_(ids)))
        known = {row.id: row.uuid for row in rows}
    return [known[number] for number in ids]


def visibilities(database: Database) -> list[str]:
    with database.reading() as tx:
        return list(tx.execute(select(message.c.visibility).order_by(message.c.id)).scalars())


def check_count(database: Database) -> None:
    """The label's count is that of its visible messages."""
    on = message.c.id == message_label.c.message_id
    counted = select(func.count()).select_from(message_label.join(message, on)).where(message.c.visibility == VISIBLE)
    with database.reading() as tx:
        count = tx.execute(select(label.c.message_count).where(label.c.id == LABEL)).scalar_one_or_none()
        assert (count or 0) == tx.execute(counted).scalar_one()


def is_waiting(database: Database) -> bool:
    with database.reading() as tx:
        return tx.execute(WAITING).scalar_one() > 0


def add_it(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    add_label(tx, workspace_id, ids, LABEL)


def remove_it(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> None:
    remove_label(tx, workspace_id, ids, LABEL)


def delete_it(tx: Transaction, workspace_id: int, _ids: Sequence[int]) -> None:
    uuid = tx.execute(select(label.c.uuid).where(label.c.id == LABEL)).scalar_one()
    delete_label(tx, workspace_id, uuid)


def meet(database: Database, workspace: Workspace, first: Act, ids: Sequence[int], second: Move, asked: Asked) -> Asked:
    """What the second finds missing if it comes while the first has acted, but is not committed."""
    with ThreadPoolExecutor(1) as threads:
        with database.writing() as tx:
            first(tx, workspace.id, ids)
            found = threads.submit(database.write, lambda tx: second(tx, workspace.id, asked))
            wait_until(lambda: found.done() or is_waiting(database), "the second to wait for the first")
            assert not found.done()
        return found.result()


@ON_POSTGRESQL
@pytest.mark.parametrize("first", [add_it, remove_it, delete_it, archive_messages, restore_messages])
@pytest.mark.parametrize("second", [archive_messages, restore_messages])
@pytest.mark.parametrize(
    ("is_archived", "by_uuid"), [*product([False, True], repeat=2)] if EVERY_CASE else [(False, True), (True, False)]
)
def test_messages_that_others_have_just_changed_are_moved_and_counted_as_they_are_then(
    database: Database, workspace: Workspace, ids: list[int], first: Act, second: Move, is_archived: bool, by_uuid: bool
) -> None:
    if is_archived:
        database.write(lambda tx: archive_messages(tx, workspace.id, ids))
    asked: Asked = [*uuids_of(database, ids)] if by_uuid else [*ids]

    assert meet(database, workspace, first, ids[:2], second, asked) == []

    assert visibilities(database) == [ARCHIVED if second is archive_messages else VISIBLE] * 3
    check_count(database)


@ON_POSTGRESQL
@pytest.mark.parametrize("second", [archive_messages, restore_messages])
def test_a_message_that_was_just_deleted_is_missing(
    database: Database, workspace: Workspace, ids: list[int], second: Move
) -> None:
    assert meet(database, workspace, delete_messages, ids[:1], second, ids) == ids[:1]

    assert visibilities(database)[0] == DELETED
    check_count(database)


@ON_POSTGRESQL
def test_what_another_has_just_archived_is_not_changed_again(
    database: Database, workspace: Workspace, ids: list[int]
) -> None:
    meet(database, workspace, archive_messages, ids[:1], archive_messages, ids)

    with database.reading() as tx:
        times = tx.execute(select(record_stamp.c.stamped_on).order_by(record_stamp.c.record)).scalars().all()
    assert times[0] < times[1] == times[2]


@ON_POSTGRESQL
def test_messages_are_locked_in_the_order_of_their_ids(
    database: Database, workspace: Workspace, ids: list[int]
) -> None:
    def hold(tx: Transaction, _workspace_id: int, held: Sequence[int]) -> None:
        tx.execute(select(message.c.id).where(message.c.id.in_(held)).with_for_update(nowait=True))

    with ThreadPoolExecutor(1) as threads, database.writing() as tx:
        hold(tx, workspace.id, ids[:1])
        found = threads.submit(database.write, lambda tx: archive_messages(tx, workspace.id, ids[::-1]))
        wait_until(lambda: found.done() or is_waiting(database), "the action to wait for the first message")
        hold(tx, workspace.id, ids[1:])
        tx.connection.commit()

    assert found.result() == []
    assert visibilities(database) == [ARCHIVED] * 3


@ON_POSTGRESQL
def test_messages_without_labels_are_chosen_and_moved_by_one_statement(
    database: Database, workspace: Workspace, ids: list[int]
) -> None:
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if not statement.startswith("PREPARE "):
            sent.append(statement)

    for action in (archive_messages, restore_messages):
        with database.writing() as tx:
            event.listen(tx.connection, "before_cursor_execute", note)
            action(tx, workspace.id, ids[1:])
            event.remove(tx.connection, "before_cursor_execute", note)
        assert len(sent) == 1
        sent.clear()
