"""Contacts that are made for URNs without an owner, and contacts who are seen.

Values of fields that may name boundaries.
"""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners, hold_in_order, note_seen, read_place_values
from persistence.database import Database
from persistence.stamps import stamped
from persistence.tables.contacts import ACTIVE, STOPPED, contact, contact_urn
from persistence.workspaces.records import Workspace


def test_a_new_urn_keeps_how_it_is_shown_and_only_who_wrote_was_seen(database: Database, workspace: Workspace) -> None:
    shown, bare = Urn("telegram", "1234", display="amina"), Urn("tel", "+250788000111")
    with database.writing() as tx:
        owners = ensure_owners(tx, workspace.id, [shown, bare], seen=[bare.identity])
        rows = tx.execute(
            select(contact_urn.c.path, contact_urn.c.display, contact.c.id, contact.c.last_seen_on)
            .join(contact, contact.c.id == contact_urn.c.contact_id)
            .order_by(contact_urn.c.path)
        )
        found = {path: rest for path, *rest in rows}

    assert found == {
        "1234": ["amina", owners[shown.identity].contact_id, None],
        "+250788000111": [None, owners[bare.identity].contact_id, tx.now],
    }


def test_who_is_changed_and_seen_in_one_unit_of_work_gets_both_and_one_time(
    database: Database, workspace: Workspace
) -> None:
    with database.writing() as tx:
        owners = ensure_owners(tx, workspace.id, [Urn("tel", f"+25078800011{number}") for number in range(3)])
        changed, revived, only_seen = sorted(owner.contact_id for owner in owners.values())
        tx.execute(update(contact).values(status=STOPPED, modified_on=tx.now - timedelta(hours=1)))
    with database.writing() as tx:
        hold_in_order(tx, workspace.id, [changed, revived, only_seen])
        news = {"name": "Ann", "modified_on": stamped(tx, contact, workspace.id)}
        tx.execute(update(contact).where(contact.c.id == changed).values(**news))
        note_seen(tx, workspace.id, [changed, revived])
        note_seen(tx, workspace.id, [only_seen], revives=False)
        seen_on = tx.now

    columns = (contact.c.id, contact.c.name, contact.c.status, contact.c.last_seen_on, contact.c.modified_on)
    with database.reading() as tx:
        rows = tx.execute(select(*columns).order_by(contact.c.id)).all()
    assert [tuple(row[:4]) for row in rows] == [
        (changed, "Ann", ACTIVE, seen_on),
        (revived, None, ACTIVE, seen_on),
        (only_seen, None, STOPPED, seen_on),
    ]
    assert len({row.modified_on for row in rows}) == 1 and rows[0].modified_on >= seen_on


KINDS = {"note": "text", "state": "state"}


@pytest.mark.together
@pytest.mark.parametrize("values", [{"note": {"text": "Kigali"}}, {"state": None}, {"note": None, "state": None}, {}])
def test_boundaries_are_read_only_for_a_value_that_may_name_one(
    database: Database, workspace: Workspace, statements: list[str], values: dict[str, Any]
) -> None:
    with database.reading() as tx:
        assert read_place_values(tx, workspace, {}, values, KINDS) == values

    assert statements == []
