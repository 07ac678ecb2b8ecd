"""Creates the messages of a broadcast, with the text for each contact: a batch of contacts at a time, each contact
once. A batch and the progress of the broadcast are stored in one transaction that locks the broadcast's row: a
worker that dies leaves neither, and two workers never create messages of the same broadcast.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, func, select, true, union, update

from channels.sms import measure
from flows.engine import Contact
from flows.engine.contact_texts import ContactTexts, may_see, read_literal
from flows.queries import QueryError
from persistence.broadcasts.records import COMPLETED, FAILED, IS_GOING, PENDING, QUEUED, STARTED, WAITS, NewBroadcast
from persistence.changes import note_changed
from persistence.contacts.audience import SavedAudience, check_audience, check_query, find_groups, read_audience
from persistence.contacts.owners import find_contacts, find_owners, read_recipients
from persistence.contacts.urns import FixedClock, environment_of
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.flows.assets import load_contact_assets
from persistence.leases import GIVEN_UP, GOT_ON, Leases
from persistence.media.store import MediaFile, find_media
from persistence.messages.incoming import ANEW, NEUTRAL
from persistence.messages.outgoing import Draft, add_outgoing, foresee, read_quick_replies
from persistence.messages.templated import TemplateWish, find_wish
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow, complete_contacts
from persistence.sql.due_work import list_due_workspaces, list_workspaces
from persistence.sql.names import read_translations
from persistence.tables.contacts import ACTIVE, contact, group_membership
from persistence.tables.flows import OF_BROADCAST
from persistence.tables.messages import broadcast
from persistence.workspaces.records import Workspace, find_workspace

logger = logging.getLogger("relayboard.worker")

BATCH = 1000
LEASES = Leases(broadcast, IS_GOING, broadcast.c.modified_on, broadcast.c.id)

PLACE_FUNCTIONS = ("has_state", "has_district", "has_ward")

FARTHEST = timedelta(days=366)

MOST_COUNTED = 100_000


def list_broadcasting_workspaces(tx: Transaction) -> list[int]:
    """The workspaces with a broadcast that goes on or that should begin."""
    rows = broadcast.c
    going = list_workspaces(tx, rows.workspace_id, IS_GOING)
    due = list_due_workspaces(tx, rows.workspace_id, WAITS, rows.scheduled_on <= tx.now, rows.scheduled_on)
    return sorted({*going, *due})


def begin_next(tx: Transaction, workspace_id: int) -> bool:
    """Begins the broadcasts of a workspace whose time has come; returns whether there may be more. They are created at
    this moment for those who list them, so the transaction does nothing else and ends soon: who asks for what was
    created since the last time misses none.
    """
    rows = broadcast.c
    theirs = rows.workspace_id == workspace_id
    due = select(rows.id).where(theirs, WAITS, rows.scheduled_on <= tx.now).order_by(rows.scheduled_on, rows.id)
    ids = list(tx.execute(due.limit(BATCH).with_for_update(skip_locked=True)).scalars())
    if ids:
        begun = {"status": QUEUED, "created_on": tx.now, "modified_on": tx.now}
        tx.execute(update(broadcast).where(theirs, rows.id.in_(ids)).values(begun))
        note_changed(tx, broadcast, workspace_id, ids)
    return len(ids) == BATCH


def begin_expansion(tx: Transaction, workspace_id: int) -> int | None:
    """The broadcast of a workspace that has waited longest, after this was counted as an attempt; None if none is
    due."""

    def give_up(tx: Transaction, broadcast_id: int) -> None:
        mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.id == broadcast_id)
        note_changed(tx, broadcast, workspace_id, [broadcast_id])
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


@dataclass(frozen=True, slots=True)
class _Content:
    text: Mapping[str, str]
    base_language: str
    files: Mapping[str, Sequence[MediaFile]]
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]]


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> NewBroadcast:
    """The broadcast of a request; contacts are created for new URNs. Raises InvalidInput."""
    check_audience(body, allows_query=True)
    content = _read_content(tx, workspace, body)
    return NewBroadcast(
        content.text,
        content.base_language,
        read_audience(tx, workspace, body, allows_query=True),
        attachments={language: [file.uuid for file in found] for language, found in content.files.items()},
        files={language: [file.attachment for file in found] for language, found in content.files.items()},
        quick_replies=content.quick_replies,
        scheduled_on=_read_schedule(tx, body),
        template=find_wish(tx, workspace.id, body),
    )


def read_wording(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> Wording:
    """The content of a request, to be written for a contact. Raises InvalidInput."""
    content = _read_content(tx, workspace, body)
    files = {language: [file.attachment for file in found] for language, found in content.files.items()}
    wish = find_wish(tx, workspace.id, body)
    return Wording(content.text, content.base_language, files, content.quick_replies, template=wish)


def preview(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> dict[str, Any]:
    """The number of recipients of a request for a broadcast, the length of its texts, and the message to one contact.
    Nothing is stored. Raises InvalidInput.
    """
    wording = read_wording(tx, workspace, body)
    count = _count_recipients(tx, workspace, body)
    lengths = {language: measure(text) for language, text in wording.text.items()}
    base = lengths[wording.base_language].segments
    found: dict[str, Any] = {
        "recipients": min(count, MOST_COUNTED),
        "is_exact": count <= MOST_COUNTED,
        "segments": {language: length.segments for language, length in lengths.items()},
        "total_segments": min(count, MOST_COUNTED) * base,
        "message": None,
    }
    if body.get("contact"):
        (contact_id,) = find_contacts(tx, workspace, [body["contact"]], field="contact")
        mine = (contact.c.workspace_id == workspace.id) & (contact.c.id == contact_id)
        row = ContactRow(*tx.execute(select(*CONTACT_COLUMNS).where(mine)).one())
        drafts = Writer(tx, workspace, wording, [row]).write()
        if drafts:
            found["message"] = _preview_message(*foresee(tx, workspace.id, drafts[0]))
    return found


def _preview_message(draft: Draft, failed_reason: str | None) -> dict[str, Any]:
    length, filled = measure(draft.text), draft.filled
    return {
        "text": draft.text,
        "attachments": [dict(each) for each in draft.attachments],
        "quick_replies": [dict(each) for each in draft.quick_replies],
        "template": filled and filled.shown,
        "failed_reason": failed_reason,
        "encoding": length.encoding,
        "characters": length.characters,
        "segments": length.segments,
    }


def _hold_contacts(tx: Transaction, workspace_id: int, ids: Sequence[int]) -> list[ContactRow]:
    """These contacts without those that were just deleted; the others are locked against deletion until the
    transaction ends."""
    mine = (contact.c.workspace_id == workspace_id) & contact.c.id.in_(ids) & ~contact.c.is_deleted
    statement = select(*CONTACT_COLUMNS).where(mine).order_by(contact.c.id)
    return [ContactRow(*row) for row in tx.execute(statement.with_for_update(read=True))] if ids else []


def _read_schedule(tx: Transaction, body: Mapping[str, Any]) -> datetime | None:
    text = body.get("scheduled_on")
    if not text:
        return None
    moment = datetime.fromisoformat(text.upper())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    if not tx.now < moment <= tx.now + FARTHEST:
        raise InvalidInput.on("scheduled_on", "A time in the future, within a year, is required.")
    return moment


def _read_content(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> _Content:
    text, attachments, replies = (
        _by_language(workspace, body, name) for name in ("text", "attachments", "quick_replies")
    )
    return _Content(
        text,
        _choose_base(body, text, attachments, replies),
        _find_files(tx, workspace, body, attachments),
        {language: read_quick_replies(given) for language, given in replies.items()},
    )


def _choose_base(body: Mapping[str, Any], text: Mapping[str, Any], *others: Mapping[str, Any]) -> str:
    """The requested language, which must have a translation, otherwise the first language of the text."""
    asked = body.get("base_language")
    if not asked:
        return next(iter(text))
    base = str(asked).lower()
    if any(base not in given for given in (text, *filter(None, others))):
        raise InvalidInput.across("There is no translation in the base language.")
    return base


def _find_files(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], attachments: Mapping[str, Sequence[str]]
) -> dict[str, list[MediaFile]]:
    """The files of each language. Raises InvalidInput for the first unknown reference."""
    known = find_media(tx, workspace.id, [one for references in attachments.values() for one in references])
    for language, references in attachments.items():
        for index, reference in enumerate(references):
            if reference not in known:
                place = {str(index): [f'Nothing found for "{reference[:64]}".']}
                is_translated = isinstance(body["attachments"], dict)
                raise InvalidInput({"attachments": {language: place} if is_translated else place})
    return {language: [known[reference] for reference in references] for language, references in attachments.items()}


def _by_language(workspace: Workspace, body: Mapping[str, Any], name: str) -> dict[str, Any]:
    given = body.get(name) or {}
    if not isinstance(given, dict):
        return {str(body.get("base_language") or workspace.default_language).lower(): given}
    return read_translations(given, name)


def _count_recipients(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> int:
    """How many contacts would get the broadcast, counted up to one more than is told; URNs without an owner count."""
    check_audience(body, allows_query=True)
    urns = read_recipients(tx, workspace, body.get("urns") or [])
    owners = find_owners(tx, workspace.id, urns)
    named = [*find_contacts(tx, workspace, body.get("contacts") or []), *(each.contact_id for each in owners.values())]
    exists = (contact.c.workspace_id == workspace.id) & ~contact.c.is_deleted
    sources: list[Select[int]] = [select(contact.c.id).where(exists, contact.c.id.in_(named))]
    members = select(contact.c.id).join(group_membership, group_membership.c.contact_id == contact.c.id)
    sources += [
        members.where(exists, contact.c.status == ACTIVE, group_membership.c.group_id == group_id)
        for group_id in find_groups(tx, workspace.id, body.get("groups") or [])
    ]
    if body.get("query"):
        matches = check_query(tx, workspace, body["query"])
        sources.append(select(contact.c.id).where(matches, contact.c.status == ACTIVE))
    some = select(union(*sources).subquery().c.id).limit(MOST_COUNTED + 1).subquery()
    known = tx.execute(select(func.count()).select_from(some)).scalar_one()
    return known + len({urn.identity for urn in urns} - owners.keys())
