"""Joins with the first of the rows that belong to a record."""

from sqlalchemy import select

from persistence.database import Database
from persistence.records import join_first
from persistence.tables.contacts import contact, contact_urn
from tests.api import Api

CONTACTS = "/api/v2/contacts.json"


def test_each_record_has_its_first_row_or_none(api: Api, database: Database) -> None:
    preferred = contact_urn.alias("preferred")
    link = contact_urn.c.contact_id == contact.c.id
    order = (contact_urn.c.priority, contact_urn.c.id)
    urns = [["tel:+250788000003", "telegram:1", "tel:+250788000001"], [], ["telegram:7", "tel:+250788000002"]]
    for each in urns:
        assert api.post(CONTACTS, {"urns": each}).status_code == 201

    joined = join_first(contact, preferred, contact_urn, link, order, contact)
    shown = select(preferred.c.scheme + ":" + preferred.c.path).select_from(joined).order_by(contact.c.id)

    with database.reading() as tx:
        assert list(tx.execute(shown).scalars()) == [each[0] if each else None for each in urns]
