"""Contacts that are made for URNs without an owner."""

from sqlalchemy import select

from flows.urns import Urn
from persistence.contacts.urns import ensure_owners
from persistence.database import Database
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces import Workspace


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
