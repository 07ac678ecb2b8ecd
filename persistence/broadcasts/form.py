"""What a request for a broadcast says, checked against the workspace (contract reference, broadcasts)."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import or_, select

from persistence.broadcasts.v2 import NewBroadcast
from persistence.contacts.actions import find_contacts
from persistence.contacts.addresses import read_recipients
from persistence.contacts.urns import ensure_owners
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.media.media import MediaFile, find_media
from persistence.messages.outgoing import read_quick_replies
from persistence.sql.columns import is_uuid
from persistence.sql.names import name_key
from persistence.tables.contacts import group
from persistence.translations import read_translations
from persistence.workspaces import Workspace


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> NewBroadcast:
    """The broadcast a request asks for; contacts are made for new addresses. Raises InvalidInput."""
    text, attachments, replies = (
        _by_language(workspace, body, name) for name in ("text", "attachments", "quick_replies")
    )
    if not any(body.get(name) for name in ("urns", "contacts", "groups")):
        raise InvalidInput.across("Name at least one URN, contact or group.")
    files = _find_files(tx, workspace, body, attachments)
    group_ids = find_groups(tx, workspace.id, body.get("groups") or [])
    contact_ids = find_contacts(tx, workspace, body.get("contacts") or [])
    urns = read_recipients(tx, workspace, body.get("urns") or [])
    owners = ensure_owners(tx, workspace.id, urns)
    return NewBroadcast(
        text,
        _choose_base(body, text, attachments, replies),
        contact_ids,
        group_ids,
        urns=[urn.identity for urn in urns],
        address_ids=[owners[urn.identity].contact_id for urn in urns],
        attachments={language: [file.uuid for file in found] for language, found in files.items()},
        files={language: [file.attachment for file in found] for language, found in files.items()},
        quick_replies={language: read_quick_replies(given) for language, given in replies.items()},
    )


def _choose_base(body: Mapping[str, Any], text: Mapping[str, Any], *others: Mapping[str, Any]) -> str:
    """The language that was asked for, which must have a translation, else the first one of the text."""
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
    """The files of each language. Raises InvalidInput at the place of the first reference that names none."""
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


def find_groups(tx: Transaction, workspace_id: int, references: Sequence[str]) -> list[int]:
    """The ids of groups of any kind, named by uuid or name. Raises InvalidInput at the first unknown one."""
    keys = {name_key(reference.strip()) for reference in references}
    uuids = {reference.lower() for reference in references if is_uuid(reference)}
    named = or_(group.c.uuid.in_(uuids), group.c.name_key.in_(keys))
    rows = tx.execute(
        select(group.c.id, group.c.uuid, group.c.name_key).where(group.c.workspace_id == workspace_id, named)
    )
    ids: dict[str, int] = {}
    for row in rows:
        ids |= {row.uuid: row.id, row.name_key: row.id}
    for reference in references:
        if reference.lower() not in ids and name_key(reference.strip()) not in ids:
            raise InvalidInput.on("groups", f'Nothing found for "{reference[:64]}".')
    return [ids.get(reference.lower()) or ids[name_key(reference.strip())] for reference in references]
