"""Contacts and messages are changed in one place (`persistence.changes`), and each change leaves its time."""

import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import persistence
from persistence.changes import NOT_SHOWN, change_contacts, change_each_contact, change_each_message, change_messages
from persistence.database import Database
from persistence.sessions.parking import LEASES
from persistence.tables.changes import record_stamp
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces.records import Workspace
from tests.factories import id_of, make_contact, make_messages

HERE = Path(persistence.__file__).parent
UPDATE = re.compile(r"\b(?:update\((?:contact|message)\)|(?:contact|message)\.update\(|UPDATE (?:contact|message)\b)")
DOOR = {"changes.py", "follow_ups.py"}


def test_no_other_module_updates_contacts_or_messages() -> None:
    found = {str(path.relative_to(HERE)) for path in HERE.rglob("*.py") if UPDATE.search(path.read_text())}

    assert {name for name in found if not name.startswith("migrations/")} == DOOR


def test_leases_of_contacts_change_what_no_record_shows() -> None:
    assert {LEASES.until, LEASES.count} <= NOT_SHOWN["contact"]


@pytest.fixture
def amina(database: Database, workspace: Workspace, clock: Any) -> int:
    number = id_of(database, make_contact(database, workspace))
    clock.advance(seconds=1)
    return number


def time_of_contact(database: Database, contact_id: int) -> datetime:
    with database.reading() as tx:
        moment: datetime = tx.execute(select(contact.c.modified_on).where(contact.c.id == contact_id)).scalar_one()
        return moment


@pytest.mark.parametrize("by_condition", [False, True])
def test_each_change_of_a_contact_moves_its_time(
    database: Database, workspace: Workspace, amina: int, by_condition: bool
) -> None:
    which = contact.c.id == amina if by_condition else [amina]
    moments = [time_of_contact(database, amina)]
    for values in ({}, {"name": "Amina"}):
        with database.writing() as tx:
            assert [row[0] for row in change_contacts(tx, workspace.id, which, values)] == [amina]
        moments.append(time_of_contact(database, amina))
    with database.writing() as tx:
        change_each_contact(tx, workspace.id, {amina: {"language": "kin", "fields": {}}})
    moments.append(time_of_contact(database, amina))

    assert moments == sorted(set(moments))


def test_what_no_record_shows_moves_no_time(database: Database, workspace: Workspace, amina: int) -> None:
    before = time_of_contact(database, amina)
    with database.writing() as tx:
        change_contacts(tx, workspace.id, [amina], {"timezone": None, "open_ticket_count": 0})

    assert time_of_contact(database, amina) == before


def test_only_those_are_changed_that_meet_the_condition(database: Database, workspace: Workspace, amina: int) -> None:
    before = time_of_contact(database, amina)
    for which in ([amina], contact.c.id == amina):
        with database.writing() as tx:
            assert not change_contacts(tx, workspace.id, which, {"status": "blocked"}, only=contact.c.is_deleted)

    assert time_of_contact(database, amina) == before


def test_nobody_elses_records_are_changed(
    database: Database, other_workspace: Workspace, workspace: Workspace, amina: int
) -> None:
    (number,) = make_messages(database, workspace, make_contact(database, workspace, "+250788000222"))
    with database.writing() as tx:
        assert not change_contacts(tx, other_workspace.id, [amina], {"name": "X"})
        change_each_contact(tx, other_workspace.id, {amina: {"name": "X"}})
        assert not change_messages(tx, other_workspace.id, [number], {"text": "X"})
        assert not change_messages(tx, other_workspace.id, message.c.id == number, {"text": "X"})
        change_each_message(tx, other_workspace.id, {number: {"text": "X"}})
    with database.reading() as tx:
        assert "X" not in [*tx.execute(select(contact.c.name)).scalars(), *tx.execute(select(message.c.text)).scalars()]


@pytest.mark.parametrize("kind", ["ids", "condition", "each"])
def test_each_change_of_a_message_is_stamped(
    database: Database, workspace: Workspace, amina: int, clock: Any, kind: str
) -> None:
    (number,) = make_messages(database, workspace, make_contact(database, workspace, "+250788000222"))
    stamps: list[datetime] = []
    for status in ("sent", "delivered"):
        clock.advance(seconds=1)
        with database.writing() as tx:
            if kind == "each":
                change_each_message(tx, workspace.id, {number: {"status": status, "sent_on": tx.now}})
            else:
                which = [number] if kind == "ids" else message.c.id == number
                assert change_messages(tx, workspace.id, which, {"status": status, "sent_on": tx.now}) == [number]
            now = tx.now
        with database.reading() as tx:
            mine = (record_stamp.c.kind == "message") & (record_stamp.c.record == number)
            stamps += tx.execute(select(record_stamp.c.stamped_on).where(mine)).scalars()
            row = tx.execute(select(message.c.modified_on, message.c.sent_on).where(message.c.id == number)).one()
        assert tuple(row) == (now, now)

    assert len(stamps) == 2 and stamps[0] < stamps[1]
