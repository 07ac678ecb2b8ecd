"""The texts for each contact of a batch: translated, and with expressions evaluated for the contact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.engine import Contact
from flows.engine.contact_texts import ContactTexts, may_see, read_literal
from persistence.contacts.values import FixedClock, environment_of
from persistence.database import Transaction
from persistence.flows.assets import load_contact_assets
from persistence.messages.circles import ANEW, NEUTRAL
from persistence.messages.outgoing import Draft
from persistence.sessions.contacts import ContactRow, complete_contacts
from persistence.workspaces import Workspace

PLACE_FUNCTIONS = ("has_state", "has_district", "has_ward")


@dataclass(frozen=True, slots=True)
class Wording:
    """The content by language: texts, attachments as in messages, quick replies. With `is_evaluated`, texts contain no
    expressions.
    """

    text: Mapping[str, str]
    base_language: str
    files: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    broadcast_id: int | None = None
    is_evaluated: bool = False


class Writer:
    """Writes the content for each contact of a batch: in its language, otherwise the workspace's first language,
    otherwise the base language. A batch needs no statements unless a text contains expressions: then four, one more if
    groups may be read, three for tickets, two for boundaries.
    """

    def __init__(self, tx: Transaction, workspace: Workspace, wording: Wording, contacts: Sequence[ContactRow]) -> None:
        self._workspace = workspace
        self._wording = wording
        self._rows = contacts
        texts = wording.text
        self._literals = dict(texts) if wording.is_evaluated else {key: read_literal(texts[key]) for key in texts}
        self._contacts: Mapping[int, Contact] = {}
        templates = [texts[key] for key, literal in self._literals.items() if literal is None]
        if templates:
            tx.may_pause()
            groups, tickets = (any(may_see(text, part) for text in templates) for part in ("group", "ticket"))
            places = any(name in text.lower() for text in templates for name in PLACE_FUNCTIONS)
            assets = load_contact_assets(tx, workspace, with_places=places, with_tickets=tickets)
            self._texts = ContactTexts(assets, environment_of(workspace), FixedClock(tx.now))
            keys = {each.uuid: each.key for each in assets.fields.values()}
            self._contacts = complete_contacts(
                tx, workspace.id, contacts, keys, with_groups=groups, with_tickets=tickets
            )

    def write(self) -> list[Draft]:
        """The messages in the order of the contacts; None for contacts whose text is empty."""
        drafts = (self._write(one) for one in self._rows)
        return [draft for draft in drafts if not draft.is_empty]

    def _write(self, one: ContactRow) -> Draft:
        wording = self._wording
        language = self._choose(wording.text, one)
        text = self._literals[language]
        if text is None:
            text = self._texts.write(wording.text[language], self._contacts[one.id])
        files = wording.files.get(self._choose(wording.files, one), [])
        replies = wording.quick_replies.get(self._choose(wording.quick_replies, one), [])
        automatic = ANEW if wording.is_evaluated else NEUTRAL
        content = (text, tuple(files), tuple(replies))
        return Draft(one.id, *content, broadcast_id=wording.broadcast_id, is_bulk=True, automatic=automatic)

    def _choose(self, translations: Mapping[str, Any], one: ContactRow) -> str:
        wanted = (one.language or "", self._workspace.default_language)
        return next((language for language in wanted if translations.get(language)), self._wording.base_language)
