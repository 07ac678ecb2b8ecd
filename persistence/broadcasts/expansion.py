"""Creates the messages of a broadcast, with the text for each contact: a batch of contacts at a time, each contact
once. A batch and the progress of the broadcast are stored in one transaction that locks the broadcast's row: a
worker that dies leaves neither, and two workers never create messages of the same broadcast.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, true

from flows.engine import Contact
from flows.engine.contact_texts import ContactTexts, may_see, read_literal
from flows.queries import QueryError
from persistence.broadcasts.records import COMPLETED, FAILED, IS_GOING, PENDING, QUEUED, STARTED, WAITS
from persistence.changes import note_changed
from persistence.contacts.audience import SavedAudience
from persistence.contacts.urns import FixedClock, environment_of
from persistence.database import Transaction
from persistence.flows.assets import load_contact_assets
from persistence.leases import GIVEN_UP, GOT_ON, Leases, list_due_workspaces, list_workspaces
from persistence.messages.incoming import ANEW, NEUTRAL
from persistence.messages.outgoing import Draft, add_outgoing
from persistence.messages.templated import TemplateWish
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow, complete_contacts
from persistence.stamps import BROADCAST_DONE, tell
from persistence.statements import update
from persistence.tables.contacts import contact
from persistence.tables.flows import OF_BROADCAST
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace, find_workspace

logger = logging.getLogger("relayboard.worker")

BATCH = 1000
LEASES = Leases(broadcast, IS_GOING, broadcast.c.modified_on, broadcast.c.id)

PLACE_FUNCTIONS = ("has_state", "has_district", "has_ward")


def list_broadcasting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a broadcast that goes on or that should begin."""
    rows = broadcast.c
    going = list_workspaces(tx, rows.workspace_id, IS_GOING)
    due = list_due_workspaces(tx, rows.workspace_id, WAITS, rows.scheduled_on <= tx.now, rows.scheduled_on)
    return sorted({*going, *due})


def begin_expansion(tx: Transaction, workspace_id: int) -> int | None:
    """The broadcast of a workspace that has waited longest, after this was counted as an attempt; None if none is
    due."""

    def give_up(tx: Transaction, broadcast_id: int) -> None:
        mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.id == broadcast_id)
        note_changed(tx, broadcast, workspace_id, [broadcast_id])
        tell(tx, workspace_id, BROADCAST_DONE, [broadcast_id])
        tx.execute(update(broadcast).where(mine).values(status=FAILED, error=GIVEN_UP, modified_on=tx.now))

    return LEASES.take_next(tx, workspace_id, give_up)


def expand_next(tx: Transaction, workspace_id: int, broadcast_id: int | None = None) -> bool:
    """Create the next messages of a broadcast, or of the one of a workspace that has waited longest; returns whether
    there may be more."""
    theirs = broadcast.c.workspace_id == workspace_id
    tx.execute(update(broadcast).where(theirs, IS_GOING, broadcast.c.status == PENDING).values(status=QUEUED))
    due = (
        select(broadcast)
        .where(theirs, IS_GOING, true() if broadcast_id is None else broadcast.c.id == broadcast_id)
        .order_by(broadcast.c.modified_on, broadcast.c.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = tx.execute(due).first()
    workspace = None if row is None else find_workspace(tx, row.workspace_id)
    if row is None or workspace is None:
        return False
    mine = (broadcast.c.workspace_id == workspace.id) & (broadcast.c.id == row.id)
    note_changed(tx, broadcast, workspace.id, [row.id])
    try:
        audience = SavedAudience(tx, workspace, OF_BROADCAST, row.id, row.query)
        page = audience.next_page(row.last_contact_id, BATCH)
        total = audience.count() if row.status == QUEUED else row.total
    except QueryError as error:
        failed = {"status": FAILED, "error": f"Its query cannot be used: {error.message}", "modified_on": tx.now}
        tx.execute(update(broadcast).where(mine).values(failed))
        tell(tx, workspace.id, BROADCAST_DONE, [row.id])
        logger.warning("Broadcast %s failed: its query cannot be used: %s", row.uuid, error.message)
        return True
    wish = None if row.template is None else TemplateWish(row.template["uuid"], tuple(row.template["variables"]))
    wording = Wording(row.text, row.base_language, row.files, row.quick_replies, row.id, row.is_evaluated, wish)
    texts = Writer(tx, workspace, wording, _hold_contacts(tx, workspace.id, page.contact_ids))
    has_channel = row.channel_id is not None
    made = add_outgoing(tx, workspace.id, texts.write(), channel_id=row.channel_id, leaves_out_unreachable=has_channel)
    started = row.started + len(made)
    change = {"status": STARTED, "started": started, "total": total, "last_contact_id": page.last_contact_id}
    if page.is_end:
        change |= {"status": COMPLETED, "total": started}
        tell(tx, workspace.id, BROADCAST_DONE, [row.id])
    tx.execute(
        update(broadcast).where(mine, broadcast.c.status == row.status).values(modified_on=tx.now, **GOT_ON, **change)
    )
    return True


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
    template: TemplateWish | None = None


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
        values = () if wording.template is None else wording.template.variables
        self._values = {each: read_literal(each) for each in values}
        templates = [texts[key] for key, literal in self._literals.items() if literal is None]
        templates += [each for each, literal in self._values.items() if literal is None]
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
        made = self._fill(one)
        return Draft(
            one.id, *content, broadcast_id=wording.broadcast_id, is_bulk=True, automatic=automatic, template=made
        )

    def _fill(self, one: ContactRow) -> TemplateWish | None:
        wish = self._wording.template
        if wish is None:
            return None
        known = ((each, self._values[each]) for each in wish.variables)
        values = (self._texts.write(each, self._contacts[one.id]) if text is None else text for each, text in known)
        return wish._replace(variables=tuple(values))

    def _choose(self, translations: Mapping[str, Any], one: ContactRow) -> str:
        wanted = (one.language or "", self._workspace.default_language)
        return next((language for language in wanted if translations.get(language)), self._wording.base_language)


def _hold_contacts(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> list[ContactRow]:
    """These contacts without those that were just deleted; the others are locked against deletion until the
    transaction ends."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(ids) & ~contact.c.is_deleted
    statement = select(*CONTACT_COLUMNS).where(mine).order_by(contact.c.id)
    return [ContactRow(*row) for row in tx.execute(statement.with_for_update(read=True))] if ids else []
