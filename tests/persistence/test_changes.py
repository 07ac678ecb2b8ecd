"""Conversations and the times of changes follow what is visible, whatever the order of transactions."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Row, select

from flows.urns import Urn
from persistence.changes import change_messages
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.urns import ensure_owners
from persistence.conversations import COUNTED, mark_read
from persistence.database import Database, Transaction
from persistence.follow_ups import forget_messages
from persistence.messages.actions import archive_messages, delete_messages, restore_messages
from persistence.messages.incoming import Received, finish_messages, store_received
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.stamps import INBOX, NewMessage, Unread, WorkspaceChanges
from persistence.tables.changes import conversation, day_count, record_stamp
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_channel
from tests.factories import id_of, make_contact

ON_POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
"""On SQLite one transaction writes at a time, so these meetings cannot be made."""
PHONE = "+250788000111"


@pytest.fixture
def amina(database: Database, workspace: Workspace) -> int:
    return id_of(database, make_contact(database, workspace, PHONE))


@pytest.fixture
def channel_id(database: Database, workspace: Workspace) -> int:
    return add_channel(database, workspace, allow_international=True)


def only(database: Database) -> Row[Any]:
    """The only conversation."""
    with database.reading() as tx:
        return tx.execute(select(conversation)).one()


def stamps(database: Database) -> dict[int, datetime]:
    """When each message changed."""
    with database.reading() as tx:
        rows = tx.execute(select(record_stamp).where(record_stamp.c.kind == "message"))
        return {row.record: row.stamped_on for row in rows}


def send(tx: Transaction, workspace: Workspace, contact_id: int) -> int:
    (message_id,) = create_outgoing(tx, workspace.id, [Draft(contact_id, "Hello")])
    return message_id


def receive(database: Database, workspace: Workspace, channel_id: int, *keys: str) -> list[int]:
    """Messages of the contact that nobody has handled yet."""
    with database.writing() as tx:
        (owner,) = ensure_owners(tx, workspace.id, [Urn("tel", PHONE)]).values()
        reports = [Received(owner, f"Message {key}", tx.now, key) for key in keys]
        stored = store_received(tx, workspace.id, channel_id, reports)
        return [stored[key].message_id for key in keys]


def put_into_inbox(database: Database, workspace: Workspace, ids: list[int]) -> None:
    with database.writing() as tx:
        finish_messages(tx, workspace.id, dict.fromkeys(ids))


@pytest.mark.usefixtures("amina")
def test_a_conversation_is_unread_once_its_message_is_in_the_inbox(
    database: Database, workspace: Workspace, channel_id: int
) -> None:
    ids = receive(database, workspace, channel_id, "a", "b")
    found = only(database)
    assert (found.message_id, found.folder, found.unread_count, found.is_unread) == (ids[1], None, 0, False)

    put_into_inbox(database, workspace, ids)

    found = only(database)
    assert (found.message_id, found.folder, found.unread_count, found.is_unread) == (ids[1], "inbox", 2, True)


def test_what_is_read_stays_read_and_later_messages_are_unread(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    put_into_inbox(database, workspace, receive(database, workspace, channel_id, "a", "b"))
    with database.writing() as tx:
        mark_read(tx, workspace.id, [amina])
    assert (only(database).unread_count, only(database).is_unread) == (0, False)

    put_into_inbox(database, workspace, receive(database, workspace, channel_id, "c"))
    assert (only(database).unread_count, only(database).is_unread) == (1, True)


def test_each_conversation_is_counted_by_its_own_messages(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    bosco = id_of(database, make_contact(database, workspace, "+250788000222"))
    put_into_inbox(database, workspace, receive(database, workspace, channel_id, "a", "b"))
    with database.writing() as tx:
        (owner,) = ensure_owners(tx, workspace.id, [Urn("tel", "+250788000222")]).values()
        stored = store_received(tx, workspace.id, channel_id, [Received(owner, "Hello", tx.now, "c")])
        last = stored["c"].message_id
    put_into_inbox(database, workspace, [last])
    with database.writing() as tx:
        mark_read(tx, workspace.id, [amina])
        archive_messages(tx, workspace.id, [last])

    with database.reading() as tx:
        rows = {row.contact_id: row for row in tx.execute(select(conversation))}
    assert (rows[amina].unread_count, rows[amina].is_unread) == (0, False)
    assert (rows[bosco].unread_count, rows[bosco].is_unread, rows[bosco].folder) == (0, False, "archived")

    with database.writing() as tx:
        restore_messages(tx, workspace.id, [last])
    with database.reading() as tx:
        rows = {row.contact_id: row for row in tx.execute(select(conversation))}
    assert (rows[bosco].unread_count, rows[bosco].is_unread, rows[bosco].folder) == (1, True, "inbox")
    assert rows[amina].unread_count == 0


def test_an_older_message_that_comes_later_does_not_become_the_last(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    with database.writing() as tx:
        last = send(tx, workspace, amina)
    with database.writing() as tx:
        (owner,) = ensure_owners(tx, workspace.id, [Urn("tel", PHONE)]).values()
        late = Received(owner, "Sent yesterday", tx.now - timedelta(days=1), "late")
        store_received(tx, workspace.id, channel_id, [late])

    assert (only(database).message_id, only(database).folder) == (last, "outbox")


def test_no_more_than_the_last_messages_are_counted(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    put_into_inbox(database, workspace, receive(database, workspace, channel_id, *map(str, range(COUNTED + 2))))

    assert only(database).unread_count == COUNTED


def test_the_number_of_unread_messages_is_right_whatever_happens_to_them(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    """What came is added up to a hundred, what went is counted anew: both find what the definition says."""
    keys = map(str, itertools.count())

    def come(number: int) -> list[int]:
        return receive(database, workspace, channel_id, *itertools.islice(keys, number))

    def change(action: Callable[[Transaction, int, list[int]], object], ids: list[int]) -> None:
        with database.writing() as tx:
            action(tx, workspace.id, ids)
        assert only(database).unread_count == defined_unread(database)

    def handle(tx: Transaction, workspace_id: int, ids: list[int]) -> None:
        finish_messages(tx, workspace_id, dict.fromkeys(ids))

    first, waiting = come(60), come(3)
    change(handle, first)
    change(archive_messages, first[50:])
    change(handle, second := come(COUNTED - 60))
    change(restore_messages, first[50:55])
    change(handle, come(20))
    change(handle, waiting)
    change(archive_messages, second[:30])
    change(handle, come(1))
    change(lambda tx, owner, _ids: mark_read(tx, owner, [amina]), [])
    change(handle, come(2))
    change(restore_messages, second[:30])
    change(delete_messages, come(2))
    change(handle, come(COUNTED + 5))
    change(handle, come(1))
    assert only(database).unread_count == COUNTED


def defined_unread(database: Database) -> int:
    """How many of the last messages are in the inbox and came after the one that was read."""
    with database.reading() as tx:
        last = select(message.c.id, message.c.folder).order_by(message.c.created_on.desc(), message.c.id.desc())
        rows = tx.execute(last.limit(COUNTED)).all()
    return sum(row.folder == INBOX and row.id > only(database).read_id for row in rows)


@pytest.mark.parametrize(
    ("kinds", "found"),
    [
        ((Unread.SAME, Unread.MORE), Unread.MORE),
        ((Unread.FEWER, Unread.SAME), Unread.FEWER),
        ((Unread.FEWER, Unread.MORE), Unread.CHANGED),
        ((Unread.MORE, Unread.FEWER), Unread.CHANGED),
        ((Unread.CHANGED, Unread.MORE), Unread.CHANGED),
    ],
)
def test_messages_that_come_and_go_at_once_are_counted_anew(kinds: tuple[Unread, Unread], found: Unread) -> None:
    changes = WorkspaceChanges()
    for number, kind in enumerate(kinds, start=1):
        changes.see(7, kind, number)

    assert (changes.seen[7], changes.came[7]) == (found, 3)


def test_a_conversation_shows_its_last_message_that_is_there(
    database: Database, workspace: Workspace, channel_id: int, amina: int
) -> None:
    ids = receive(database, workspace, channel_id, "a", "b")
    put_into_inbox(database, workspace, ids)
    with database.writing() as tx:
        archive_messages(tx, workspace.id, ids[1:])
    assert (only(database).message_id, only(database).folder, only(database).unread_count) == (ids[1], "archived", 1)

    with database.writing() as tx:
        delete_messages(tx, workspace.id, ids[1:])
    assert (only(database).message_id, only(database).folder) == (ids[0], "inbox")

    with database.writing() as tx:
        delete_messages(tx, workspace.id, ids[:1])
    with database.reading() as tx:
        assert tx.execute(select(conversation.c.id)).all() == []


def test_a_conversation_goes_with_its_contact_and_with_its_last_message(
    database: Database, workspace: Workspace, amina: int
) -> None:
    bosco = id_of(database, make_contact(database, workspace, "+250788000222"))
    with database.writing() as tx:
        send(tx, workspace, amina)
        last = send(tx, workspace, bosco)
    with database.writing() as tx:
        delete_contacts(tx, workspace.id, [amina])
        forget_messages(tx, workspace.id, [last])

    with database.reading() as tx:
        assert tx.execute(select(conversation.c.id)).all() == []
    assert last not in stamps(database)


@ON_POSTGRESQL
def test_a_message_that_is_committed_later_has_the_later_time(
    database: Database, workspace: Workspace, amina: int
) -> None:
    bosco = id_of(database, make_contact(database, workspace, "+250788000222"))

    with database.writing() as tx:
        slow = send(tx, workspace, amina)
        with database.writing() as other:
            quick = send(other, workspace, bosco)

    assert stamps(database)[slow] > stamps(database)[quick]


@ON_POSTGRESQL
def test_a_conversation_is_right_whichever_transaction_began_first(
    database: Database, workspace: Workspace, amina: int
) -> None:
    with database.writing() as tx:
        first = send(tx, workspace, amina)
        with database.writing() as other:
            second = send(other, workspace, amina)

    assert first < second
    with database.reading() as tx:
        newest = tx.execute(select(message.c.id).order_by(message.c.created_on.desc(), message.c.id.desc())).first()
    assert newest is not None and only(database).message_id == newest.id


def test_a_change_of_a_message_gives_it_a_new_time(database: Database, workspace: Workspace, amina: int) -> None:
    with database.writing() as tx:
        message_id = send(tx, workspace, amina)
    before = stamps(database)[message_id]

    with database.writing() as tx:
        change_messages(tx, workspace.id, [message_id])

    assert stamps(database)[message_id] > before


def test_each_new_message_is_looked_at_after_one_in_the_inbox() -> None:
    changes = WorkspaceChanges()
    moment = datetime(2026, 3, 2, tzinfo=UTC)
    changes.new_messages = [
        NewMessage(1, 11, None, "I", moment, INBOX),
        NewMessage(2, 12, None, "O", moment, "sent"),
        NewMessage(3, 13, None, "I", moment, None, is_deleted=True),
        NewMessage(5, 14, None, "O", moment, "sent"),
        NewMessage(4, 14, None, "O", moment, "sent"),
        NewMessage(6, 14, None, "O", moment - timedelta(seconds=1), "sent"),
    ]

    written = changes.last_messages()

    assert changes.seen == {11: Unread.MORE, 13: Unread.SAME} and changes.came[11] == 1
    assert [(each.contact_id, each.id) for each in written] == [(12, 2), (14, 5)]


def test_with_the_clock_only_conversations_that_need_no_more_than_their_newest_message_are_written() -> None:
    """Those with an unread or a deleted message need more; the messages after these in the list count all the same."""
    early, late = datetime(2025, 11, 29, 10, tzinfo=UTC), datetime(2025, 11, 29, 11, tzinfo=UTC)
    changes = WorkspaceChanges()
    changes.new_messages += [
        NewMessage(1, 1, 7, "I", early, INBOX),
        NewMessage(2, 2, 7, "O", early, None, is_deleted=True),
        NewMessage(3, 3, 7, "O", late, "outbox"),
        NewMessage(4, 3, 7, "O", early, "outbox"),
        NewMessage(5, 4, None, "O", early, "outbox"),
        NewMessage(6, 4, None, "O", early, "sent"),
        NewMessage(7, 1, 7, "O", late, "outbox"),
    ]

    lasts = changes.last_messages()

    assert [(each.contact_id, each.id, each.folder) for each in lasts] == [(3, 3, "outbox"), (4, 6, "sent")]
    assert changes.seen == {1: Unread.MORE, 2: Unread.SAME}


def test_a_contact_is_active_once_a_day_also_on_the_first(
    database: Database, workspace: Workspace, amina: int, channel_id: int
) -> None:
    def receive(tx: Transaction, number: str, *texts: tuple[str, datetime]) -> None:
        urn = Urn("tel", number)
        owner = ensure_owners(tx, workspace.id, [urn], channel_id=channel_id)[urn.identity]
        store_received(tx, workspace.id, channel_id, [Received(owner, text, moment, text) for text, moment in texts])

    with database.writing() as tx:
        today, yesterday = tx.now, tx.now - timedelta(days=1)
        receive(tx, "+250788000222", ("new", today), ("again", today), ("late", yesterday))
        receive(tx, PHONE, ("known", today))
    with database.writing() as tx:
        receive(tx, "+250788000222", ("once more", today), ("later still", yesterday))
        receive(tx, PHONE, ("last", yesterday))

    with database.reading() as tx:
        rows = tx.execute(select(day_count.c.day, day_count.c.number).where(day_count.c.kind == "active")).all()
    assert {day: number for day, number in rows} == {today.date(): 2, yesterday.date(): 2}
