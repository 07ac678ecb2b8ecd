"""Contacts who are probably one person."""

from typing import Any

import orjson
import pytest

from flows.urns import parse
from persistence.contacts.doubles import DOUBLES, OLD_NUMBER, TWO_SCHEMES, count_doubles, merge_doubles
from persistence.contacts.urns import ensure_owners
from persistence.database import Database, Transaction
from persistence.lists import ListQuery, read_list
from persistence.workspaces import Workspace
from tests.factories import make_contact

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
