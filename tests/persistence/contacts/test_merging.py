"""Contacts who are probably one person.

Numbers that change by a rule.
"""

from typing import Any

import orjson
import pytest
from sqlalchemy import insert, select

from flows.phones import read_old_form
from flows.urns import parse
from persistence.contacts.deletion import delete_contacts
from persistence.contacts.merging import (
    DOUBLES,
    OLD_NUMBER,
    TWO_SCHEMES,
    Renumbering,
    count_doubles,
    merge_doubles,
    renumber,
)
from persistence.contacts.urns import ensure_owners, find_moves, move_numbers, normalize_numbers
from persistence.database import Database, Transaction
from persistence.errors import LostRace
from persistence.lists import ListQuery, read_list
from persistence.tables.contacts import contact_urn
from persistence.workspaces.records import Workspace
from tests.factories import id_of, make_contact

PAIRS = [
    ("tel:+525512345678", "tel:+5215512345678", OLD_NUMBER),
    ("tel:+2290197000001", "tel:+22997000001", OLD_NUMBER),
    ("tel:+5511987654321", "tel:+551187654321", OLD_NUMBER),
    ("tel:+919876543210", "tel:+9109876543210", OLD_NUMBER),
    ("tel:+919876543211", "tel:09876543211", OLD_NUMBER),
    ("tel:+525512345679", "whatsapp:5215512345679", OLD_NUMBER),
    ("whatsapp:525512345670", "tel:+5215512345670", OLD_NUMBER),
    ("tel:+250788000111", "whatsapp:250788000111", TWO_SCHEMES),
]


def add(database: Database, workspace: Workspace, *urns: str) -> None:
    with database.writing() as tx:
        ensure_owners(tx, workspace.id, [parse(urn) for urn in urns])


def list_doubles(tx: Transaction, workspace: Workspace) -> list[dict[str, Any]]:
    return [orjson.loads(record) for record in read_list(ListQuery(tx, workspace), DOUBLES)]


@pytest.mark.parametrize(("kept", "other", "kind"), PAIRS)
def test_a_pair_is_listed_with_the_one_to_keep(
    database: Database, workspace: Workspace, kept: str, other: str, kind: str
) -> None:
    add(database, workspace, other, kept, "tel:+250788000999", "whatsapp:250788000888", "tel:+551132654321")

    with database.reading() as tx:
        found = list_doubles(tx, workspace)
        counts = {each: count_doubles(tx, workspace, each) for each in (None, OLD_NUMBER, TWO_SCHEMES)}

    assert [(each["urn"], each["other_urn"], each["kind"]) for each in found] == [(kept, other, kind)]
    assert counts == {None: 1, OLD_NUMBER: int(kind == OLD_NUMBER), TWO_SCHEMES: int(kind == TWO_SCHEMES)}


def test_contacts_of_other_workspaces_are_no_doubles(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    add(database, workspace, "tel:+525512345678")
    add(database, other_workspace, "tel:+5215512345678")

    with database.reading() as tx:
        assert not list_doubles(tx, workspace)
        assert not list_doubles(tx, other_workspace)


def test_a_chain_of_doubles_becomes_one_contact_and_other_kinds_stay(database: Database, workspace: Workspace) -> None:
    add(database, workspace, "whatsapp:5215512345678", "tel:+5215512345678", "whatsapp:525512345678")
    add(database, workspace, "tel:+525512345678", "tel:+250788000111", "whatsapp:250788000111")
    make_contact(database, workspace, "+250788000222")

    merged = 0
    while done := database.write(lambda tx: merge_doubles(tx, workspace, OLD_NUMBER, user_id=None)):
        merged += done
    with database.reading() as tx:
        left = list_doubles(tx, workspace)

    assert merged == 3
    assert [(each["kind"], each["urn"]) for each in left] == [(TWO_SCHEMES, "tel:+250788000111")]


BENIN = Renumbering("+229", "+22901", "BJ")


def paths(database: Database, workspace: Workspace) -> set[str]:
    with database.reading() as tx:
        mine = contact_urn.c.workspace_id == workspace.id
        return set(tx.execute(select(contact_urn.c.path).where(mine)).scalars())


def test_a_preview_tells_and_changes_nothing(database: Database, workspace: Workspace) -> None:
    add(database, workspace, "tel:+22997000001", "tel:+2290197000002", "tel:+250788000111")

    report = renumber(database, workspace.id, BENIN, writes=False)

    assert (report.renumbered, report.taken, report.untouched) == (1, 0, 1)
    assert report.examples == [{"old": "+22997000001", "new": "+2290197000001"}]
    assert "+22997000001" in paths(database, workspace)


def test_a_rule_renumbers_once_and_leaves_what_another_has(database: Database, workspace: Workspace) -> None:
    add(database, workspace, "tel:+22997000001", "tel:+22997000002", "tel:+2290197000002", "tel:+250788000111")

    first = renumber(database, workspace.id, BENIN, writes=True)
    again = renumber(database, workspace.id, BENIN, writes=True)

    assert (first.renumbered, first.taken) == (1, 1)
    assert (again.renumbered, again.taken) == (0, 1)
    assert paths(database, workspace) == {"+2290197000001", "+22997000002", "+2290197000002", "+250788000111"}


def test_contacts_of_other_workspaces_stay(
    database: Database, workspace: Workspace, other_workspace: Workspace
) -> None:
    add(database, other_workspace, "tel:+22997000001")

    assert renumber(database, workspace.id, BENIN, writes=True).renumbered == 0
    assert paths(database, other_workspace) == {"+22997000001"}


@pytest.mark.parametrize(
    ("number", "new"),
    [
        ("+5215512345678", "+525512345678"),
        ("+22997000001", "+2290197000001"),
        ("+551187654321", "+5511987654321"),
        ("+9109876543210", "+919876543210"),
        ("+52 1 (55) 1234-5678", "+525512345678"),
        ("0052 1 55 12345678", "+525512345678"),
        ("+525512345678", None),
        ("+551132654321", None),
        ("+250788000111", None),
    ],
)
def test_old_forms_are_told_for_what_they_are(number: str, new: str | None) -> None:
    known = read_old_form(number)

    assert (known and known[0]) == new


def numbers_of(database: Database, workspace: Workspace, contact: str) -> list[str]:
    rows = contact_urn.c
    mine = select(rows.path).where(rows.workspace_id == workspace.id, rows.contact_id == id_of(database, contact))
    with database.reading() as tx:
        return list(tx.execute(mine.order_by(rows.priority)).scalars())


def test_a_number_that_nobody_has_any_more_stands_in_no_way(database: Database, workspace: Workspace) -> None:
    gone = make_contact(database, workspace, "+2290197000001")
    old = make_contact(database, workspace, "+22997000001")
    with database.writing() as tx:
        delete_contacts(tx, workspace.id, [id_of(database, gone)])

    told = renumber(database, workspace.id, BENIN, writes=False)
    done = renumber(database, workspace.id, BENIN, writes=True)

    assert (told.renumbered, told.taken) == (done.renumbered, done.taken) == (1, 0)
    assert numbers_of(database, workspace, old) == ["+2290197000001"]


def test_a_contact_with_both_forms_keeps_the_new_one_in_the_first_place(
    database: Database, workspace: Workspace
) -> None:
    contact = make_contact(database, workspace, "+22997000001")
    with database.writing() as tx:
        mine = {"workspace_id": workspace.id, "contact_id": id_of(database, contact), "scheme": "tel"}
        for place, path in enumerate(("+250788000111", "+2290197000001"), 1):
            tx.execute(insert(contact_urn).values(**mine, path=path, priority=place))

    report = renumber(database, workspace.id, BENIN, writes=True)

    assert (report.renumbered, report.taken) == (1, 0)
    assert numbers_of(database, workspace, contact) == ["+2290197000001", "+250788000111"]


def test_local_numbers_become_international_beside_those_that_nobody_has(
    database: Database, workspace: Workspace
) -> None:
    gone = make_contact(database, workspace, "+250788000111")
    local = make_contact(database, workspace, "0788000111")
    with database.writing() as tx:
        delete_contacts(tx, workspace.id, [id_of(database, gone)])
        changed = normalize_numbers(tx, workspace.id, "RW")

    assert changed == 1
    assert numbers_of(database, workspace, local) == ["+250788000111"]


def test_of_two_who_renumber_at_once_one_has_to_look_again(database: Database, workspace: Workspace) -> None:
    add(database, workspace, "tel:+22997000001")
    rows = contact_urn.c
    with database.reading() as tx:
        found = tx.execute(select(rows.id, rows.path, rows.contact_id).where(rows.workspace_id == workspace.id)).all()
        moves = find_moves(tx, workspace.id, found, {found[0].id: "+2290197000001"})
    renumber(database, workspace.id, BENIN, writes=True)

    with pytest.raises(LostRace), database.writing() as tx:
        move_numbers(tx, workspace.id, moves)
