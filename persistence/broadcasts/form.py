"""Checks a request for a broadcast against the workspace (contract reference, broadcasts)."""

from collections.abc import Mapping, Sequence
from typing import Any

from persistence.audience import check_audience, read_audience
from persistence.broadcasts.v2 import NewBroadcast
from persistence.database import Transaction
from persistence.errors import InvalidInput
from persistence.media.media import MediaFile, find_media
from persistence.messages.outgoing import read_quick_replies
from persistence.translations import read_translations
from persistence.workspaces import Workspace


def read_form(tx: Transaction, workspace: Workspace, body: Mapping[str, Any]) -> NewBroadcast:
    """The broadcast of a request; contacts are created for new URNs. Raises InvalidInput."""
    text, attachments, replies = (
        _by_language(workspace, body, name) for name in ("text", "attachments", "quick_replies")
    )
    check_audience(body)
    files = _find_files(tx, workspace, body, attachments)
    audience = read_audience(tx, workspace, body)
    return NewBroadcast(
        text,
        _choose_base(body, text, attachments, replies),
        audience,
        attachments={language: [file.uuid for file in found] for language, found in files.items()},
        files={language: [file.attachment for file in found] for language, found in files.items()},
        quick_replies={language: read_quick_replies(given) for language, given in replies.items()},
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
