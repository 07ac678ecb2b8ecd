"""What a person is known by in texts: found in documents that mention the person without being the person's own."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, false, or_, select

from persistence.database import Transaction
from persistence.tables.contacts import contact, contact_urn

SHORTEST_PATH = 5
"""Shorter paths of URNs, such as short codes, are words that mean nothing by themselves."""


@dataclass(frozen=True, slots=True)
class Person:
    """A contact that is erased: its ids, the paths of its URNs, and its name."""

    workspace_id: int
    contact_id: int
    uuid: str
    paths: tuple[str, ...]
    name: str | None = None

    @property
    def needles(self) -> tuple[str, ...]:
        """The UUID, and the paths that are long enough to be nobody else's words."""
        return (self.uuid, *self.addresses)

    @property
    def addresses(self) -> tuple[str, ...]:
        return tuple(path for path in self.paths if len(path) >= SHORTEST_PATH)

    def is_in(self, column: ColumnElement[Any], *, by_uuid: bool = True) -> ColumnElement[bool]:
        """Whether the text of a column mentions the person."""
        wanted = self.needles if by_uuid else self.addresses
        text = cast(column, Text)
        return or_(false(), *(text.contains(needle, autoescape=True) for needle in wanted))


def find_person(tx: Transaction, workspace_id: int, contact_id: int) -> Person:
    """The person behind a contact."""
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    uuid, name = tx.execute(select(contact.c.uuid, contact.c.name).where(mine)).one()
    rows = contact_urn.c
    own = (rows.workspace_id == workspace_id) & (rows.contact_id == contact_id)
    paths = tx.execute(select(rows.path).where(own).order_by(rows.id)).scalars()
    return Person(workspace_id, contact_id, uuid, tuple(paths), name)


def redact(document: Any, person: Person) -> Any:
    """A document without the person: a text with an address becomes empty, and what it says of the contact, such as the
    results of a run, is left out."""
    pattern = re.compile("|".join(map(re.escape, person.addresses)) or r"(?!)")
    bare = _leave_out(document, person.uuid)
    return _walk(bare, lambda text: "" if pattern.search(text) else text)


def _leave_out(document: Any, uuid: str) -> Any:
    if isinstance(document, list):
        return [_leave_out(each, uuid) for each in document]
    if not isinstance(document, dict):
        return document
    about = document.get("contact")
    if isinstance(about, dict) and about.get("uuid") == uuid:
        document = {**document, "contact": {**about, **_emptied(about, SAID)}, **_emptied(document, RESULTS)}
    return {key: _leave_out(value, uuid) for key, value in document.items()}


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
