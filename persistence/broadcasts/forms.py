"""What people ask for with a broadcast: how a request is read, previewed, and stored or changed until it begins."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Row, Select, func, select, union

from channels.sms import measure
from persistence.broadcasts.expansion import Wording, Writer
from persistence.broadcasts.records import (
    AT_ONCE,
    DRAFT,
    PENDING,
    WAITS,
    NewBroadcast,
    When,
    change_broadcast,
    create_shown,
    delete_broadcast,
    find_times,
)
from persistence.contacts.audience import check_audience, check_query, find_groups, read_audience
from persistence.contacts.owners import find_contacts, find_owners, read_recipients
from persistence.database import Transaction
from persistence.errors import InvalidInput, LimitReached, RecordMissing, Refused
from persistence.media.store import MediaFile, find_media
from persistence.messages.outgoing import Draft, foresee, read_quick_replies
from persistence.messages.templated import find_wish
from persistence.repeating import MONTHLY, NEVER, read_times
from persistence.sessions.replies import CONTACT_COLUMNS, ContactRow
from persistence.sql.columns import is_uuid, time_text
from persistence.sql.names import read_translations
from persistence.tables.contacts import ACTIVE, contact, group, group_membership
from persistence.tables.messages import broadcast, broadcast_contact, broadcast_group
from persistence.workspaces.records import Workspace, hold_workspace

FARTHEST = timedelta(days=366)
MOST_COUNTED = 100_000
REPEATING_PER_WORKSPACE = 250
"""Those that wait for their next time."""
TIMES = ("scheduled_on", "repeat", "days", "repeat_until", "repeat_times")
"""What says when it is sent."""


@dataclass(frozen=True, slots=True)
class _Content:
    text: Mapping[str, str]
    base_language: str
    files: Mapping[str, Sequence[MediaFile]]
    quick_replies: Mapping[str, Sequence[Mapping[str, str]]]


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any], when: When | None = None) -> NewBroadcast:
    """The broadcast of a request; contacts are created for new URNs. `when` is that of a broadcast whose times stay as
    they are. Raises InvalidInput.
    """
    is_draft = bool(body.get("draft"))
    if not body.get("text"):
        raise InvalidInput.on("text", "A value is required.", "required")
    if not is_draft:
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
        template=find_wish(tx, workspace.id, body),
        is_draft=is_draft,
        when=_read_when(tx, workspace, body) if when is None else when,
    )


def create_from_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> str:
    """Creates the broadcast of a request; returns it as its list shows it. Raises InvalidInput, and LimitReached for
    one more that repeats.
    """
    if body.get("repeat") not in (None, NEVER):
        hold_workspace(tx, workspace.id)
    new = read_form(tx, workspace, body)
    _check_room(tx, workspace.id, new)
    return create_shown(tx, workspace, new)


def change_from_form(tx: Transaction, workspace: Workspace, uuid: str, body: Mapping[str, Any]) -> int:
    """Changes those properties that are given of a broadcast that has not begun; its id. One that is no draft any more
    is sent at its time, at once without one. Raises RecordMissing, Refused, InvalidInput, and LimitReached for one more
    that repeats.
    """
    hold_workspace(tx, workspace.id)
    stored = _hold_unbegun(tx, workspace.id, uuid)
    asked = _describe(tx, workspace.id, stored)
    texts = body.get("text")
    if isinstance(texts, dict) and asked["base_language"] not in [language.lower() for language in texts]:
        asked["base_language"] = None
    if "template" in body:
        asked["template_variables"] = None
    asked |= body
    if asked["draft"] and stored.repeated:
        raise InvalidInput.on("draft", "This broadcast has repeated already: it can be stopped.")
    stays = bool(asked["draft"]) == (stored.status == DRAFT) and not body.keys() & set(TIMES)
    if not stays:
        asked |= _describe_when(workspace, stored, body)
    new = read_form(tx, workspace, asked, When.of(stored) if stays else None)
    if new.when.repeat_times is not None and new.when.repeat_times <= stored.repeated:
        raise InvalidInput.on("repeat_times", "This broadcast has repeated so often already: it can be stopped.")
    _check_room(tx, workspace.id, new, besides_id=stored.id)
    change_broadcast(tx, workspace.id, stored.id, new)
    return int(stored.id)


def delete_draft(tx: Transaction, workspace_id: int, uuid: str) -> None:
    """Deletes a draft. Raises RecordMissing, and Refused for a broadcast that is none."""
    stored = _hold_unbegun(tx, workspace_id, uuid)
    if stored.status != DRAFT:
        raise Refused("Only drafts can be deleted. Stop this broadcast, or make a draft of it first.")
    delete_broadcast(tx, workspace_id, stored.id, stored.uuid)


def read_wording(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> Wording:
    """The content of a request, to be written for a contact. Raises InvalidInput."""
    content = _read_content(tx, workspace, body)
    files = {language: [file.attachment for file in found] for language, found in content.files.items()}
    wish = find_wish(tx, workspace.id, body)
    return Wording(content.text, content.base_language, files, content.quick_replies, template=wish)


def _hold_unbegun(tx: Transaction, workspace_id: int, uuid: str) -> Row[Any]:
    """A broadcast that may still be changed, locked: when a worker begins it, it waits."""
    mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.uuid == uuid.lower())
    stored = tx.execute(select(broadcast).where(mine).with_for_update()).first() if is_uuid(uuid) else None
    if stored is None:
        raise RecordMissing
    is_ahead = stored.scheduled_on is not None and stored.scheduled_on > stored.created_on
    if stored.status != DRAFT and not (stored.status == PENDING and is_ahead):
        raise Refused("This broadcast has begun or was stopped: it cannot be changed any more.")
    return stored


def _describe(tx: Transaction, workspace_id: int, stored: Row[Any]) -> dict[str, Any]:
    """A stored broadcast as the request that would create it, without its times."""
    links, named = broadcast_group.c, broadcast_contact.c
    of_groups = select(group.c.uuid).join(broadcast_group, links.group_id == group.c.id)
    of_contacts = select(contact.c.uuid).join(broadcast_contact, named.contact_id == contact.c.id)
    is_there = (named.broadcast_id == stored.id) & named.is_named & ~contact.c.is_deleted
    return {
        "text": stored.text,
        "attachments": {language: files for language, files in stored.attachments.items() if files},
        "quick_replies": {language: replies for language, replies in stored.quick_replies.items() if replies},
        "base_language": stored.base_language,
        "template": stored.template and stored.template["uuid"],
        "template_variables": stored.template and stored.template["variables"],
        "urns": stored.urns,
        "groups": tx.execute(of_groups.where(links.broadcast_id == stored.id)).scalars().all(),
        "contacts": tx.execute(of_contacts.where(is_there).order_by(contact.c.id)).scalars().all(),
        "query": stored.query,
        "draft": stored.status == DRAFT,
    }


def _describe_when(workspace: Workspace, stored: Row[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The times of a stored broadcast, changed as a request says. Another time or another way to repeat comes without
    the days of the former one.
    """
    moment = stored.scheduled_on
    if moment is not None and stored.time_of_day is not None:  # clocks may skip that hour on the next day
        local = moment.astimezone(workspace.zone)
        moment = datetime.combine(local.date(), stored.time_of_day, workspace.zone)
    former = {
        "scheduled_on": moment and moment.isoformat(),
        "repeat": stored.repeat,
        "days": stored.days if given.get("repeat", stored.repeat) == stored.repeat else None,
        "repeat_until": stored.repeat_until and stored.repeat_until.isoformat(),
        "repeat_times": stored.repeat_times,
    }
    if "scheduled_on" in given and stored.repeat == MONTHLY:
        former["days"] = None
    if given.get("repeat", stored.repeat) in (None, NEVER) or given.get("scheduled_on", moment) is None:
        former |= {"repeat": None, "days": None, "repeat_until": None, "repeat_times": None}
    return former | {name: given[name] for name in TIMES if name in given}


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
        "next_times": [time_text(moment) for moment in find_times(workspace, _read_when(tx, workspace, body))],
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


def _read_when(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> When:
    repeat = body.get("repeat") or NEVER
    until, times = body.get("repeat_until") or None, body.get("repeat_times")
    if repeat == NEVER:
        for name in ("days", "repeat_until", "repeat_times"):
            if body.get(name):
                raise InvalidInput.on(name, "Only what repeats has this.")
    if not body.get("scheduled_on"):
        if repeat != NEVER:
            raise InvalidInput.on("scheduled_on", "What repeats needs a time.", "required")
        return AT_ONCE
    moment = datetime.fromisoformat(body["scheduled_on"].upper())
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    if not tx.now < moment <= tx.now + FARTHEST:
        raise InvalidInput.on("scheduled_on", "A time in the future, within a year, is required.")
    if repeat == NEVER:
        return When(moment)
    found = read_times(workspace.zone, moment, repeat, body.get("days") or "", tx.now)
    last = None if until is None else date.fromisoformat(until)
    if last is not None and last < found.due_on.date():
        raise InvalidInput.on("repeat_until", "The last day is before the first time.")
    return When(moment, repeat, found.days, found.time_of_day, last, times)


def _check_room(tx: Transaction, workspace_id: int, new: NewBroadcast, besides_id: int = 0) -> None:
    """Raises LimitReached if no other broadcast may repeat."""
    if new.when.repeat is None or new.is_draft:
        return
    mine = (broadcast.c.workspace_id == workspace_id) & (broadcast.c.id != besides_id)
    count = select(func.count()).select_from(broadcast).where(mine, WAITS, broadcast.c.repeat.is_not(None))
    if tx.execute(count).scalar_one() >= REPEATING_PER_WORKSPACE:
        raise LimitReached.of(REPEATING_PER_WORKSPACE, "broadcasts that repeat", "stop those that are not needed")


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
