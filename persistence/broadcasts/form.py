"""Checks a request for a broadcast against the workspace (contract reference, broadcasts), and tells what it would
do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, func, select, union

from flows.segments import measure
from persistence.audience import check_audience, find_groups, read_audience
from persistence.broadcasts.expansion import Wording, Writer
from persistence.broadcasts.writes import NewBroadcast
from persistence.contacts.owners import find_contacts, find_owners, read_recipients
from persistence.contacts.queries import match_query
from persistence.database import Transaction
from persistence.errors import InvalidInput, Refused
from persistence.media.media import MediaFile, find_media
from persistence.messages.outgoing import read_quick_replies
from persistence.sessions.contacts import CONTACT_COLUMNS, ContactRow
from persistence.sql.names import read_translations
from persistence.tables.contacts import ACTIVE, contact, group_membership
from persistence.workspaces import Workspace

FARTHEST = timedelta(days=366)

MOST_COUNTED = 100_000


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
    if body.get("query"):
        check_query(tx, workspace, body["query"])
    return NewBroadcast(
        content.text,
        content.base_language,
        read_audience(tx, workspace, body, allows_query=True),
        attachments={language: [file.uuid for file in found] for language, found in content.files.items()},
        files={language: [file.attachment for file in found] for language, found in content.files.items()},
        quick_replies=content.quick_replies,
        scheduled_on=_read_schedule(tx, body),
    )


def read_wording(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> Wording:
    """The content of a request, to be written for a contact. Raises InvalidInput."""
    content = _read_content(tx, workspace, body)
    files = {language: [file.attachment for file in found] for language, found in content.files.items()}
    return Wording(content.text, content.base_language, files, content.quick_replies)


def check_query(tx: Transaction, workspace: Workspace, text: str) -> ColumnElement[bool]:
    """The condition for the contacts that match the query of a request. Raises InvalidInput."""
    try:
        return match_query(tx, workspace, text, "query")
    except Refused as error:
        raise InvalidInput.on("query", str(error).removeprefix("Parameter query: ")) from error


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
            length = measure(drafts[0].text)
            found["message"] = {
                "text": drafts[0].text,
                "attachments": [dict(each) for each in drafts[0].attachments],
                "quick_replies": [dict(each) for each in drafts[0].quick_replies],
                "encoding": length.encoding,
                "characters": length.characters,
                "segments": length.segments,
            }
    return found


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
