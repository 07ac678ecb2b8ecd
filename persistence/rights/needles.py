"""What a person is known by in texts: found in documents that mention the person without being the person's own."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, false, or_, select

from persistence.contacts.addresses import find_urns
from persistence.contacts.finding import find_contacts
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces import Workspace

SHORTEST_PATH = 5
"""Shorter paths of URNs, such as short codes, are words that mean nothing by themselves."""


@dataclass(frozen=True, slots=True)
class Person:
    """A contact that is erased: its ids, the paths of its URNs, its name, and the UUIDs of contacts that were merged
    into it."""

    workspace_id: int
    contact_id: int
    uuid: str
    paths: tuple[str, ...]
    name: str | None = None
    merged: tuple[str, ...] = ()

    @property
    def uuids(self) -> tuple[str, ...]:
        return (self.uuid, *self.merged)

    @property
    def needles(self) -> tuple[str, ...]:
        """The UUIDs, and the paths that are long enough to be nobody else's words."""
        return (*self.uuids, *self.addresses)

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(path for path in self.paths if len(path) >= SHORTEST_PATH)

    def is_in(self, column: ColumnElement[Any], *, by_uuid: bool = True) -> ColumnElement[bool]:
        """Whether the text of a column mentions the person."""
        wanted = self.needles if by_uuid else self.addresses
        text = cast(column, Text)
        return or_(false(), *(text.contains(needle, autoescape=True) for needle in wanted))


def find_person(tx: Transaction, workspace_id: int, contact_id: int) -> Person:
    """The person behind a contact, who may be deleted: addresses that are free still say whose they were."""
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    uuid, name = tx.execute(select(contact.c.uuid, contact.c.name).where(mine)).one()
    rows = contact_urn.c
    former = rows.contact_id.is_(None) & (rows.former_contact_id == contact_id)
    own = (rows.workspace_id == workspace_id) & ((rows.contact_id == contact_id) | former)
    paths = tx.execute(select(rows.path).where(own).order_by(rows.id)).scalars()
    into = (contact.c.workspace_id == workspace_id) & (contact.c.merged_into_id == contact_id)
    merged = tx.execute(select(contact.c.uuid).where(into).order_by(contact.c.id)).scalars()
    return Person(workspace_id, contact_id, uuid, tuple(paths), name, tuple(merged))


def find_contact_of_person(tx: Transaction, workspace: Workspace, reference: str) -> int:
    """The id of a contact by UUID or URN, also of a deleted one, whose URNs nobody else has got since. Raises
    InvalidInput.
    """
    rows = contact_urn.c
    if is_uuid(reference):
        mine = (contact.c.workspace_id == workspace.id) & (contact.c.uuid == reference.lower())
        return must_exist(tx.execute(select(contact.c.id).where(mine)).scalar_one_or_none(), "contact", reference)
    urn = find_urns(tx, workspace, [reference]).get(reference)
    former = None
    if urn is not None and not workspace.is_anonymous:
        same = (rows.workspace_id == workspace.id) & (rows.scheme == urn.scheme) & (rows.path == urn.path)
        former = tx.execute(select(rows.former_contact_id).where(same, rows.contact_id.is_(None))).scalar()
    return former if former is not None else find_contacts(tx, workspace, [reference], field="contact")[0]


def redact(document: Any, person: Person) -> Any:
    """A document without the person: a text with an address becomes empty, and what it says of the contact, such as the
    results of a run, is left out."""
    pattern = re.compile("|".join(map(re.escape, person.addresses)) or r"(?!)")
    bare = _leave_out(document, person.uuids)
    return _walk(bare, lambda text: "" if pattern.search(text) else text)


def _leave_out(document: Any, uuids: Sequence[str]) -> Any:
    if isinstance(document, list):
        return [_leave_out(each, uuids) for each in document]
    if not isinstance(document, dict):
        return document
    about = document.get("contact")
    if isinstance(about, dict) and about.get("uuid") in uuids:
        document = {**document, "contact": {**about, **_emptied(about, SAID)}, **_emptied(document, RESULTS)}
    return {key: _leave_out(value, uuids) for key, value in document.items()}


def _emptied(document: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: empty for name, empty in names.items() if name in document}


SAID: Mapping[str, Any] = {"name": "", "urn": "", "urn_display": "", "urns": [], "groups": [], "fields": {}}
RESULTS: Mapping[str, Any] = {"results": {}}


def _walk(document: Any, change: Callable[[str], str]) -> Any:
    if isinstance(document, str):
        return change(document)
    if isinstance(document, list):
        return [_walk(each, change) for each in document]
    if isinstance(document, dict):
        return {change(key): _walk(value, change) for key, value in document.items()}
    return document
