"""What a person is known by in texts: found in documents that mention the person without being the person's own.

The number of a person as people write it: international with and without `+`, national, with spaces, hyphens, dots,
slashes and brackets. The database finds texts that may have it by its last digits; what is found is then read closely.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Any

from sqlalchemy import ColumnElement, Text, cast, false, or_, select

from flows.phones import typed_forms
from persistence.contacts.owners import find_contacts, find_urns
from persistence.database import Transaction
from persistence.sql.columns import is_uuid
from persistence.sql.names import must_exist
from persistence.sql.query_functions import JoinedText
from persistence.tables.contacts import contact, contact_urn
from persistence.workspaces.records import Workspace

SHORTEST_PATH = 5
"""Shorter paths of URNs, such as short codes, are words that mean nothing by themselves."""

SAID: Mapping[str, Any] = {"name": "", "urn": "", "urn_display": "", "urns": [], "groups": [], "fields": {}}
RESULTS: Mapping[str, Any] = {"results": {}}

SHORTEST_ENDING = 6

_BETWEEN = r"[ \-.()/]{0,3}"
_ANOTHER_COUNTRY = re.compile(r"(?:\+|(?<!\d)00)\d{1,3}[ \-.()/]{1,3}\Z")
_LONGEST_CODE = 8


@dataclass(frozen=True, slots=True)
class SearchTerms:
    """What is looked for in texts: numbers in every form, other addresses as they are. None is found inside a longer
    number.
    """

    others: tuple[str, ...]
    endings: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_be_in(self, text: ColumnElement[str]) -> list[ColumnElement[bool]]:
        """Conditions of which at least one holds for each text in which something is found, and for few others."""
        others = [text.contains(each, autoescape=True) for each in self.others]
        return [*others, *(JoinedText(text).contains(each) for each in self.endings)]

    def are_in(self, text: str) -> bool:
        return any(not self._is_abroad(text, found) for found in self.pattern.finditer(text))

    def _is_abroad(self, text: str, found: re.Match[str]) -> bool:
        """Whether digits are the end of a number that begins with the code of another country."""
        before = text[max(0, found.start() - _LONGEST_CODE) : found.start()]
        return found.group()[0].isdigit() and _ANOTHER_COUNTRY.search(before) is not None


def _find_endings(spellings: Sequence[str]) -> Sequence[str]:
    """The digits with which all spellings end, if they are many; otherwise the spellings."""
    columns = zip(*(reversed(each) for each in spellings), strict=False)
    common = "".join(digits[0] for digits in takewhile(lambda digits: len(set(digits)) == 1, columns))
    return [common[::-1]] if len(common) >= SHORTEST_ENDING else spellings


def _written_together(digits: str) -> str:
    return rf"(?<!\d)(?<!\d[\-.]){digits}(?!\d|[\-.]\d)"


def _written_apart(digits: str) -> str:
    """With spaces inside, digits after a space belong to the number too."""
    return rf"(?<!\d)(?<!\d[ \-.]){_BETWEEN.join(digits)}(?![ \-.]?\d)"


def _bounded(address: str) -> str:
    first, last = (r"(?<!\d)" if address[0] in "+0123456789" else "", r"(?!\d)" if address[-1].isdigit() else "")
    return first + re.escape(address) + last


@dataclass(frozen=True, slots=True)
class Person:
    """A contact that is erased: its ids, the paths of its URNs, its name, the UUIDs of contacts that were merged into
    it, and the phone numbers among the paths, with `+`."""

    workspace_id: int
    contact_id: int
    uuid: str
    paths: tuple[str, ...]
    name: str | None = None
    merged: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()

    @property
    def uuids(self) -> tuple[str, ...]:
        return (self.uuid, *self.merged)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The paths that are long enough to be nobody else's words."""
        return tuple(path for path in self.paths if len(path) >= SHORTEST_PATH)

    @property
    def terms(self) -> SearchTerms:
        known = {form for number in self.numbers for form in (number, number.removeprefix("+"))}
        return make_terms(self.numbers, tuple(path for path in self.addresses if path not in known))

    def may_be_in(self, column: ColumnElement[Any], *, by_uuid: bool = True) -> ColumnElement[bool]:
        """A condition for texts and documents that mention the person, and few others: `is_in` decides."""
        text = cast(column, Text)
        uuids = [text.contains(uuid) for uuid in self.uuids if by_uuid]
        return or_(false(), *uuids, *self.terms.may_be_in(text))

    def is_in(self, text: str, *, by_uuid: bool = True) -> bool:
        """Whether a text mentions the person."""
        return (by_uuid and any(uuid in text for uuid in self.uuids)) or self.terms.are_in(text)


def find_person(tx: Transaction, workspace_id: int, contact_id: int) -> Person:
    """The person behind a contact, who may be deleted: addresses that are free still say whose they were."""
    mine = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id)
    uuid, name = tx.execute(select(contact.c.uuid, contact.c.name).where(mine)).one()
    rows = contact_urn.c
    former = rows.contact_id.is_(None) & (rows.former_contact_id == contact_id)
    own = (rows.workspace_id == workspace_id) & ((rows.contact_id == contact_id) | former)
    urns = tx.execute(select(rows.scheme, rows.path).where(own).order_by(rows.id)).all()
    paths = tuple(path for _, path in urns)
    numbers = tuple(f"+{path.removeprefix('+')}" for scheme, path in urns if _is_number(scheme, path))
    into = (contact.c.workspace_id == workspace_id) & (contact.c.merged_into_id == contact_id)
    merged = tx.execute(select(contact.c.uuid).where(into).order_by(contact.c.id)).scalars()
    return Person(workspace_id, contact_id, uuid, paths, name, tuple(merged), numbers)


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
    """A document without the person: a text with an address becomes empty and a figure that is one null; what it says
    of the contact, such as the results of a run, is left out."""
    terms = person.terms
    return _walk(_leave_out(document, person.uuids), terms.are_in)


@lru_cache(maxsize=8)
def make_terms(numbers: tuple[str, ...], others: tuple[str, ...]) -> SearchTerms:
    """Numbers are in their international form, with `+`."""
    spellings = [typed_forms(number) for number in numbers]
    forms = [
        form for digits in spellings for each in digits for form in (_written_together(each), _written_apart(each))
    ]
    words = [_bounded(each) for each in others]
    endings = tuple(dict.fromkeys(ending for digits in spellings for ending in _find_endings(digits)))
    return SearchTerms(others, endings, re.compile("|".join([*forms, *words]) or r"(?!)"))


def _is_number(scheme: str, path: str) -> bool:
    return (scheme == "tel" and path.startswith("+")) or (scheme == "whatsapp" and path.isdecimal())


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


def _walk(document: Any, is_named: Callable[[str], bool]) -> Any:
    if isinstance(document, list):
        return [_walk(each, is_named) for each in document]
    if isinstance(document, dict):
        return {"" if is_named(key) else key: _walk(value, is_named) for key, value in document.items()}
    if isinstance(document, str):
        return "" if is_named(document) else document
    is_number = isinstance(document, int | float) and not isinstance(document, bool)
    return None if is_number and is_named(f"{document:.0f}") else document
