"""The tables of the audiences of broadcasts and flow starts."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, select

from persistence.tables.contacts import contact, group
from persistence.tables.flow_starts import flow_start, flow_start_contact, flow_start_group
from persistence.tables.messages import broadcast, broadcast_contact, broadcast_group


@dataclass(frozen=True, slots=True)
class AudienceTables:
    """The tables of the audiences of broadcasts or of starts: the main table, and those that link it to contacts and
    groups. `link` is the column of both that refers to the main table.
    """

    thing: Table
    contacts: Table
    groups: Table
    link: str

    def list_contacts(self, shown: ColumnElement[Any]) -> Select[Any]:
        """The contacts of a broadcast or start, for its record."""
        links = self.contacts.c
        named = select(shown.label("item")).join(self.contacts, links.contact_id == contact.c.id)
        mine = named.where(links[self.link] == self.thing.c.id, links.is_named)
        return mine.order_by(contact.c.id).correlate(self.thing)

    def list_groups(self, shown: ColumnElement[Any]) -> Select[Any]:
        """The groups of a broadcast or start, for its record."""
        links = self.groups.c
        chosen = select(shown.label("item")).join(self.groups, links.group_id == group.c.id)
        mine = chosen.where(links[self.link] == self.thing.c.id, ~links.is_excluded)
        return mine.order_by(group.c.id).correlate(self.thing)


OF_BROADCAST = AudienceTables(broadcast, broadcast_contact, broadcast_group, "broadcast_id")
OF_START: AudienceTables = AudienceTables(flow_start, flow_start_contact, flow_start_group, "start_id")
