"""What changed in a workspace, for clients that follow it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import orjson

from persistence.contacts.bulk import block_contacts
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.stream import MOST_ROWS, Change, read_changes, read_clocks
from persistence.tables.flows import flow_run
from persistence.workspaces.records import Workspace
from tests.channel_rows import add_contact
from tests.factories import id_of, make_contact, make_messages
from tests.run_rows import add_flow, add_run, uuid_of
from tests.ticket_rows import add_ticket


def test_runs_and_tickets_are_found_by_the_time_of_their_own_last_change(
    database: Database, workspace: Workspace
) -> None:
    contact_id = add_contact(database, workspace)
    run = uuid_of(database, flow_run, add_run(database, workspace, add_flow(database, workspace), contact_id))
    ticket = add_ticket(database, workspace, contact_id)
    with database.reading() as tx:
        day = timedelta(days=1)
        found = read_changes(tx, workspace, tx.now - day, tx.now + day, 10)

    assert found is not None
    names = [(each.kind, orjson.loads(each.record)["uuid"]) for each in found if each.kind != "contact"]
    assert names == [("run", run), ("ticket", ticket)]


def test_a_contact_is_only_named_when_it_is_made_changed_or_deleted(database: Database, workspace: Workspace) -> None:
    uuid = make_contact(database, workspace)
    contact_id = id_of(database, uuid)

    def named(work: Callable[[Transaction], object]) -> list[tuple[str, str]]:
        with database.reading() as tx:
            before = read_clocks(tx, [workspace.id])[workspace.id]
        with database.writing() as tx:
            work(tx)
        with database.reading() as tx:
            found = read_changes(tx, workspace, before, read_clocks(tx, [workspace.id])[workspace.id], 10)
        return [(each.kind, each.record) for each in found or []]

    expected = [("contact", f'{{"uuid":"{uuid}"}}')]
    assert named(lambda tx: change_contact(tx, workspace, contact_id, ContactChange(name="Amina U."))) == expected
    assert named(lambda tx: block_contacts(tx, workspace.id, [contact_id])) == expected
    named_gone, (kind, gone) = named(lambda tx: delete_contacts(tx, workspace.id, [contact_id]))
    assert ([named_gone], kind) == (expected, "deletion")
    assert {name: orjson.loads(gone)[name] for name in ("type", "uuid")} == {"type": "contact", "uuid": uuid}


def test_rows_of_conversations_come_with_what_people_wrote_and_with_so_many_at_most(
    database: Database, workspace: Workspace
) -> None:
    people = [make_contact(database, workspace, f"+2507880010{each:02}") for each in range(MOST_ROWS + 2)]
    make_messages(database, workspace, people[0], direction="out", status="sent")
    for uuid in people[1:]:
        make_messages(database, workspace, uuid)
    anonymous = replace(workspace, is_anonymous=True)
    with database.reading() as tx:
        day = timedelta(days=1)
        found = read_changes(tx, workspace, tx.now - day, tx.now + day, len(people) * 2)
        masked = read_changes(tx, anonymous, tx.now - day, tx.now + day, len(people) * 2)

    def rows(changes: list[Change] | None) -> list[dict[str, object]]:
        return [orjson.loads(each.record) for each in changes or [] if each.kind == "row"]

    assert [each["uuid"] for each in rows(found)] == people[1 : MOST_ROWS + 1]
    assert [each["urn"] for each in rows(found)[:1]] == ["tel:+250788001001"]
    assert [each["urn"] for each in rows(masked)] == [None] * MOST_ROWS
