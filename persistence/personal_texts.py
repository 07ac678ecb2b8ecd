"""What each contact of a batch is told: translated, and with the expressions in it evaluated for the contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import select

from flows.expressions import XObject, evaluate_text, has_expressions
from flows.urns import Urn
from persistence.contact_values import FixedClock, environment_of
from persistence.contacts import contact, contact_urn
from persistence.database import Transaction
from persistence.fields import field as field_table
from persistence.outgoing import Draft
from persistence.workspaces import Workspace

REDACTED = "********"

WRITTEN_TO = (contact.c.id, contact.c.uuid, contact.c.name, contact.c.language, contact.c.fields, contact.c.created_on)
"""The columns of a contact that texts are made from."""


@dataclass(frozen=True, slots=True)
class Wording:
    """What is said, by language: texts, attachments as messages carry them, quick replies.

    With `is_evaluated` an expression in a text is no expression any more.
    """

    text: Mapping[str, str]
    base_language: str
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    broadcast_id: int | None = None
    is_evaluated: bool = False


class Writer:
    """Writes what each contact of a batch gets: in its language, else the workspace's first, else the base language.

    The contacts are rows with at least the columns `WRITTEN_TO`; two statements for all of them.
    """

    def __init__(self, tx: Transaction, workspace: Workspace, wording: Wording, contacts: Sequence[Any]) -> None:
        self._workspace = workspace
        self._wording = wording
        self._environment = environment_of(workspace)
        self._clock = FixedClock(tx.now)
        texts = {} if wording.is_evaluated else wording.text
        self._evaluated = {language for language, text in texts.items() if has_expressions(text)}
        self._fields: Sequence[Any] = ()
        self._urns: dict[int, list[str]] = {}
        if self._evaluated:
            known = select(field_table.c.key, field_table.c.uuid).where(field_table.c.workspace_id == workspace.id)
            self._fields = tx.execute(known).all()
            self._urns = _read_urns(tx, workspace, [one.id for one in contacts])

    def write(self, one: Any) -> Draft:
        wording = self._wording
        language = self._choose(wording.text, one)
        text = wording.text[language]
        if language in self._evaluated:
            text = evaluate_text(text, self._context(one), self._environment, self._clock).text
        files = wording.files.get(self._choose(wording.files, one), [])
        replies = wording.quick_replies.get(self._choose(wording.quick_replies, one), [])
        return Draft(one.id, text, tuple(files), tuple(replies), broadcast_id=wording.broadcast_id)

    def _choose(self, translations: Mapping[str, Any], one: Any) -> str:
        wanted = (one.language, self._workspace.default_language)
        return next((language for language in wanted if translations.get(language)), self._wording.base_language)

    def _context(self, one: Any) -> XObject:
        name = one.name or ""
        urns = self._urns.get(one.id, [])
        values = XObject({known.key: _read_value(one.fields.get(known.uuid)) for known in self._fields})
        person = XObject(
            {
                "uuid": one.uuid,
                "name": name,
                "first_name": next(iter(name.split()), ""),
                "language": one.language or "",
                "urn": urns[0] if urns else None,
                "created_on": one.created_on,
                "fields": values,
            },
            default=name or (urns[0].partition(":")[2] if urns else ""),
        )
        return XObject({"contact": person, "fields": values})


def _read_value(stored: Mapping[str, str] | None) -> Any:
    if stored is None:
        return None
    properties: dict[str, Any] = {"text": stored["text"]}
    if "number" in stored:
        properties["number"] = Decimal(stored["number"])
    if "datetime" in stored:
        properties["datetime"] = datetime.fromisoformat(stored["datetime"])
    return XObject(properties, default=properties.get("number", stored["text"]))


def _read_urns(tx: Transaction, workspace: Workspace, contact_ids: Sequence[int]) -> dict[int, list[str]]:
    rows = contact_urn.c
    statement = select(rows.contact_id, rows.scheme, rows.path).where(
        rows.workspace_id == workspace.id, rows.contact_id.in_(contact_ids)
    )
    found: dict[int, list[str]] = {}
    for contact_id, scheme, path in tx.execute(statement.order_by(rows.contact_id, rows.priority, rows.id)):
        shown = f"{scheme}:{REDACTED}" if workspace.is_anonymous else Urn(scheme, path).identity
        found.setdefault(contact_id, []).append(shown)
    return found
