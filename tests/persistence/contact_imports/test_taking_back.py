"""An import is taken back: what goes, what becomes as before, and what stays because somebody has touched it."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update

from flows.urns import Urn
from persistence.contact_imports import running, taking_back
from persistence.contact_imports.contact_imports import cancel_import
from persistence.contact_imports.taking_back import count_taking_back, take_back
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.merging import merge_contacts
from persistence.contacts.writes import ContactChange, change_contact, create_contact, set_urns
from persistence.data_jobs import KEPT_FOR, LEASE, remove_old_files
from persistence.database import Database
from persistence.errors import Refused
from persistence.fields import create_field
from persistence.groups.groups import add_members, create_group, remove_members
from persistence.sql.columns import new_uuid
from persistence.tables.contacts import contact, contact_note, contact_urn, field, group, group_membership
from persistence.tables.data_jobs import imported_contact
from persistence.users import add_member
from tests.factories import id_of, make_messages
from tests.persistence.contact_imports.test_contact_imports import Desk, Killed, csv_of, desk, die

__all__ = ["desk"]

HEADER = ["Phone", "Name", "Age"]
Touch = Callable[[Desk, int], None]


def counted(desk: Desk, uuid: str) -> tuple[int, int, int]:
    with desk.database.reading() as tx:
        counts = count_taking_back(tx, desk.workspace, uuid)[1]
    return counts["removed"], counts["restored"], counts["kept"]


def undo(desk: Desk, uuid: str) -> tuple[int, int, int]:
    """Counts, takes back and returns what was done, which is what was counted."""
    before = counted(desk, uuid)
    with desk.database.writing() as tx:
        take_back(tx, desk.workspace, uuid)
    desk.work()
    done = desk.show(uuid)
    assert (done["status"], done["error"]) == ("taken_back", None) and done["finished_on"] is not None
    assert (done["removed"], done["restored"], done["kept"]) == before
    with desk.database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(imported_contact)).scalar_one() == 0
    return before


def make(desk: Desk, change: ContactChange) -> int:
    with desk.database.writing() as tx:
        return create_contact(tx, desk.workspace, change)


def alter(desk: Desk, contact_id: int, change: ContactChange) -> None:
    with desk.database.writing() as tx:
        change_contact(tx, desk.workspace, contact_id, change)


def rename(desk: Desk, contact_id: int) -> None:
    alter(desk, contact_id, ContactChange(name="Else"))


def write_to(desk: Desk, contact_id: int) -> None:
    with desk.database.reading() as tx:
        uuid = tx.execute(select(contact.c.uuid).where(contact.c.id == contact_id)).scalar_one()
    make_messages(desk.database, desk.workspace, uuid)


def note(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        row = {"uuid": new_uuid(), "workspace_id": desk.workspace.id, "contact_id": contact_id}
        tx.execute(insert(contact_note), [{**row, "text": "Called", "created_on": tx.now}])


def join(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        add_members(tx, desk.workspace.id, create_group(tx, desk.workspace.id, "Fathers"), [contact_id])


def leave(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        found = tx.execute(select(group.c.id).where(group.c.name == "Mothers")).scalar_one()
        remove_members(tx, desk.workspace.id, found, [contact_id])


def get_urn(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        own = tx.execute(select(contact_urn.c.path).where(contact_urn.c.contact_id == contact_id)).scalar_one()
        set_urns(tx, desk.workspace.id, contact_id, [Urn("tel", own), Urn("tel", "+250788000009")])


def block(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        tx.execute(update(contact).where(contact.c.id == contact_id).values(status="blocked"))


def fill(desk: Desk, contact_id: int) -> None:
    with desk.database.writing() as tx:
        create_field(tx, desk.workspace.id, "Village", "text")
    alter(desk, contact_id, ContactChange(fields={"village": "Gasharu"}))


TOUCHES: list[Touch] = [rename, write_to, note, join, leave, get_urn, block, fill]


def test_contacts_that_somebody_has_touched_stay_and_the_others_go(desk: Desk) -> None:
    with desk.database.writing() as tx:
        create_group(tx, desk.workspace.id, "Mothers")
    names = ["Bosco", *(touch.__name__ for touch in TOUCHES)]
    rows = [[f"+25078800010{number}", name, "27"] for number, name in enumerate(names)]
    done = desk.run([HEADER, *rows], group="Mothers")
    uuids = {each["name"]: each["uuid"] for each in desk.contacts()}
    for touch in TOUCHES:
        touch(desk, id_of(desk.database, uuids[touch.__name__]))

    assert undo(desk, done["uuid"]) == (1, 0, len(TOUCHES))

    left = [each for each in desk.contacts() if not each.get("deleted")]
    assert {each["uuid"] for each in left} == set(uuids.values()) - {uuids["Bosco"]}
    assert {each["fields"]["age"] for each in left} == {"27"}


def test_what_an_import_changed_is_as_before_where_it_is_still_what_it_wrote(desk: Desk) -> None:
    with desk.database.writing() as tx:
        mothers = create_group(tx, desk.workspace.id, "Mothers")
    phones = [Urn("tel", f"+25078800000{number}") for number in range(1, 5)]
    ids = [make(desk, ContactChange(name="Old", urns=[each], fields={"age": "20"})) for each in phones]
    with desk.database.writing() as tx:
        add_members(tx, desk.workspace.id, mothers, [ids[1]])
    before = state(desk)
    rows = [["Phone", "Other", "Name", "Age"]] + [
        [f"+25078800000{number}", f"+25078800001{number}", f"New {number}", "--"] for number in range(1, 4)
    ]
    done = desk.run([*rows, ["+250788000004", "", "", ""]], {"Other": "urn:tel"}, group="Mothers")
    assert done["updated"] == 4, desk.rejects(done)
    alter(desk, ids[2], ContactChange(name="Mine"))

    assert undo(desk, done["uuid"]) == (0, 4, 1)

    after = state(desk)
    expected = {**before, ids[2]: ("Mine", *before[ids[2]][1:])}
    assert after == expected


def state(desk: Desk) -> dict[int, Any]:
    with desk.database.reading() as tx:
        urns = tx.execute(select(contact_urn.c.contact_id, contact_urn.c.path)).all()
        members = set(tx.execute(select(group_membership.c.contact_id)).scalars())
        rows = tx.execute(select(contact.c.id, contact.c.name, contact.c.fields)).all()
    return {
        row.id: (row.name, row.fields, {path for who, path in urns if who == row.id}, row.id in members) for row in rows
    }


def test_an_address_over_which_was_written_since_stays(desk: Desk) -> None:
    contact_id = make(desk, ContactChange(name="Old", urns=[Urn("tel", "+250788000001")]))
    done = desk.run([["Phone", "Other"], ["+250788000001", "+250788000002"]], {"Other": "urn:tel"})
    (shown,) = desk.contacts()
    make_messages(desk.database, desk.workspace, shown["uuid"], urn="tel:+250788000002")

    assert undo(desk, done["uuid"]) == (0, 0, 1)
    assert state(desk)[contact_id][2] == {"+250788000001", "+250788000002"}


def test_a_contact_of_several_rows_is_taken_back_as_one(desk: Desk) -> None:
    known = make(desk, ContactChange(name="Old", urns=[Urn("tel", "+250788000001")]))
    rows = [HEADER, *([f"+25078800000{n}", name, ""] for name in ("One", "Two") for n in (1, 2))]
    done = desk.run(rows)

    assert undo(desk, done["uuid"]) == (1, 1, 0)
    assert state(desk)[known][0] == "Old"


def test_values_of_fields_that_are_gone_stand_in_no_way_and_do_not_come_back(desk: Desk) -> None:
    known = make(desk, ContactChange(urns=[Urn("tel", "+250788000001")], fields={"age": "20"}))
    done = desk.run([HEADER, ["+250788000001", "", "--"], ["+250788000002", "New", "3"]])
    with desk.database.writing() as tx:
        tx.execute(delete(field).where(field.c.key == "age"))

    assert undo(desk, done["uuid"]) == (1, 0, 0)
    assert state(desk)[known][1] == {}


def test_whoever_was_merged_stays(desk: Desk) -> None:
    done = desk.run([HEADER, *([f"+25078800000{number}", "New", ""] for number in range(3))])
    first, second, _ = (each["uuid"] for each in desk.contacts())
    with desk.database.writing() as tx:
        user_id = add_member(tx, desk.workspace.id, "ann@example.org", "administrator")
        pair = [tx.execute(select(contact.c.id).where(contact.c.uuid == each)).scalar_one() for each in (first, second)]
        merge_contacts(tx, desk.workspace, *pair, user_id=user_id)

    assert undo(desk, done["uuid"]) == (1, 0, 0)
    assert [each["uuid"] for each in desk.contacts()] == [first]


def test_a_later_import_is_taken_back_before_an_earlier_one(desk: Desk) -> None:
    first = desk.run([HEADER, ["+250788000001", "First", ""]])
    second = desk.run([HEADER, ["+250788000001", "Second", ""]])

    assert counted(desk, first["uuid"]) == (0, 0, 1)
    assert undo_only(desk, second["uuid"]) == "taken_back"
    assert undo(desk, first["uuid"]) == (1, 0, 0)


def undo_only(desk: Desk, uuid: str) -> str:
    with desk.database.writing() as tx:
        take_back(tx, desk.workspace, uuid)
    desk.work()
    return str(desk.show(uuid)["status"])


def test_taking_back_goes_on_after_a_crash_and_is_done_once(
    desk: Desk, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(taking_back, "AT_ONCE", 2)
    done = desk.run([HEADER, *([f"+25078800000{number}", "New", ""] for number in range(7))])
    with desk.database.writing() as tx:
        take_back(tx, desk.workspace, done["uuid"])

    with pytest.raises(Killed):
        desk.work_until(4, die)
    between = desk.show(done["uuid"])
    assert (between["status"], between["removed"], between["finished_on"]) == ("running", 4, None)
    with desk.database.writing() as tx, pytest.raises(Refused):
        cancel_import(tx, desk.workspace, done["uuid"])
    assert counted(desk, done["uuid"]) == (7, 0, 0)
    clock.moment += LEASE * 2
    desk.work()

    assert [desk.show(done["uuid"])[name] for name in ("status", "removed", "kept")] == ["taken_back", 7, 0]
    again = desk.run([HEADER, ["+250788000001", "Again", ""]])
    assert undo_only(desk, done["uuid"]) == "taken_back"
    assert counted(desk, again["uuid"]) == (1, 0, 0) and desk.show(done["uuid"])["removed"] == 7


def test_a_cancelled_import_is_taken_back_as_far_as_it_came(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHUNK_ROWS", 2)
    uuid = desk.upload(csv_of([HEADER, *([f"+25078800000{number}", "New", ""] for number in range(7))]))
    with desk.database.writing() as tx, pytest.raises(Refused):
        take_back(tx, desk.workspace, uuid)
    desk.start(uuid)

    desk.work_until(4, lambda: desk.cancel(uuid))
    desk.work()

    assert undo(desk, uuid) == (4, 0, 0)


def test_nothing_is_kept_of_contacts_that_are_deleted_and_of_imports_that_are_forgotten(
    desk: Desk, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("persistence.data_jobs.FORGOTTEN_AT_ONCE", 2)
    desk.run([HEADER, *([f"+25078800000{number}", "New", ""] for number in range(6))])
    gone = id_of(desk.database, desk.contacts()[0]["uuid"])
    with desk.database.writing() as tx:
        delete_contacts(tx, desk.workspace.id, [gone])
    assert kept_of(desk.database) == 5
    clock.moment += KEPT_FOR * 2
    remove_old_files(desk.database, desk.store, 10)
    assert (kept_of(desk.database), desk.imports()) == (0, {})


def kept_of(database: Database) -> int:
    with database.reading() as tx:
        return tx.execute(select(func.count()).select_from(imported_contact)).scalar_one()


def test_an_import_that_changed_nothing_cannot_be_taken_back(desk: Desk) -> None:
    make(desk, ContactChange(name="Old", urns=[Urn("tel", "+250788000001")]))
    done = desk.run([HEADER, ["+250788000001", "Old", ""]])
    with desk.database.writing() as tx, pytest.raises(Refused):
        take_back(tx, desk.workspace, done["uuid"])
    assert desk.show(done["uuid"])["status"] == "completed"
