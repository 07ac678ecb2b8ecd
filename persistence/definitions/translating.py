"""Translations of flows by API: the texts of the newest draft or revision for translators, and what comes back from
them, which becomes the newest draft.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flows.definition import DefinitionError, Flow, load
from flows.translation_files import (
    Change,
    Row,
    TranslationFileError,
    apply_changes,
    compare,
    list_changed,
    list_rows,
)
from persistence.channels.channels import Networks
from persistence.database import Transaction
from persistence.definitions.drafts import SavedDraft, list_drafts, read_draft, save_draft
from persistence.definitions.editing import Superseded, require_unarchived, tell_newest
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.flows.records import find_flow
from persistence.flows.translation_sheets import read_texts, write_texts
from persistence.flows.writes import list_revisions, read_revision
from persistence.workspaces.records import Workspace, hold_workspace

NEW, CHANGED = "new", "changed"
"""What becomes of a translation that is not left out."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of a flow, each with what it was in an earlier revision, and of which revision and draft they are."""

    base_language: str
    based_on: int
    draft: str | None
    rows: Sequence[tuple[Row, str | None]]
    file: bytes | None


@dataclass(frozen=True, slots=True)
class Translated:
    """What translations change, what is left without one, and the draft that has them; None if nothing changed."""

    changes: Sequence[Change]
    untranslated: int
    saved: SavedDraft | None


def read_flow_texts(
    tx: Transaction, workspace_id: int, uuid: str, language: str, *, since: int | None = None, kind: str | None = None
) -> Texts:
    """The texts of the newest draft of a flow, or of its newest revision; with `since` those that are not as in that
    revision, and with `kind` as a file of this kind, too. Raises RecordMissing, Refused and InvalidInput.
    """
    flow_id = find_flow(tx, workspace_id, uuid)
    if flow_id is None:
        raise RecordMissing
    if not language:
        raise Refused("The parameter language is required.")
    based_on, draft = _find_newest(tx, workspace_id, flow_id)
    found = _load(tx, workspace_id, flow_id, based_on, draft)
    try:
        rows: list[tuple[Row, str | None]] = [(row, None) for row in list_rows(found, language)]
        if since is not None:
            before = _load_earlier(tx, workspace_id, flow_id, since)
            rows = [(row, text or None) for row, text in list_changed(before, found, language)]
    except TranslationFileError as error:
        raise InvalidInput.on("language", _sentence(error)) from error
    file = None if kind is None else write_texts(found, language, [row for row, _ in rows], kind)
    return Texts(found.language, based_on, draft, rows, file)


def translate_from_form(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    body: Mapping[str, Any],
    *,
    user_id: int | None,
    networks: Networks,
) -> Translated:
    """Saves translations, given as texts or as a file, as the newest draft of a flow. Those that do not fit to
    a text of it are left out and told. Raises Superseded if a revision or draft was saved since those with which the
    caller began; RecordMissing, Refused, LimitReached and InvalidInput.
    """
    is_file = body.get("file") is not None and body.get("format") is not None
    if is_file == (body.get("texts") is not None) or (body.get("file") is None) != (body.get("format") is None):
        raise InvalidInput.across("Send either texts, or a file and its format.")
    field = "texts" if body.get("file") is None else "file"
    # A workbook waits for a place and is read for seconds: before others have to wait for this unit of work.
    tx.may_pause()
    try:
        given = _read_given(body)
    except TranslationFileError as error:
        raise InvalidInput.on(field, _sentence(error), "wrong_form") from error
    hold_workspace(tx, workspace.id)
    flow_id = require_unarchived(tx, workspace.id, uuid)
    begun = {"based_on": body["based_on"], "based_on_draft": body.get("based_on_draft")}
    based_on, draft = _find_newest(tx, workspace.id, flow_id)
    if draft is None and begun["based_on_draft"] is None and begun["based_on"] != based_on:
        raise Superseded(tell_newest(list_revisions(tx, workspace.id, flow_id, 1)[0]))
    found, language = _load(tx, workspace.id, flow_id, based_on, draft), body["language"]
    try:
        changes = compare(found, language, given)
    except TranslationFileError as error:
        raise InvalidInput.on("language", _sentence(error)) from error
    try:
        definition = apply_changes(found, language, changes)
    except DefinitionError as error:
        raise InvalidInput.on(field, str(error), "wrong_form") from error
    saved = None
    if not all(each.problem for each in changes):
        saved = save_draft(tx, workspace, uuid, {**begun, "definition": definition}, user_id=user_id, networks=networks)
    left = sum(not row.translation.strip() for row in list_rows(load(definition), language))
    return Translated(changes, left, saved)


def result_of(change: Change) -> str:
    """What becomes of a translation: why it is left out, or whether the text had none."""
    return change.problem or (CHANGED if change.before.strip() else NEW)


def _read_given(body: Mapping[str, Any]) -> list[Row]:
    if body.get("file") is None:
        return [Row(each["key"], "", each["text"], each["translation"]) for each in body["texts"]]
    return read_texts(body["file"], body["format"])


def _find_newest(tx: Transaction, workspace_id: int, flow_id: int) -> tuple[int, str | None]:
    """The revision of a flow with which whoever changes it now begins, and its newest draft. Raises Refused."""
    revisions = list_revisions(tx, workspace_id, flow_id, 1)
    if not revisions:
        raise Refused("This flow has no revision yet: save one first.")
    drafts = list_drafts(tx, workspace_id, flow_id)
    return (drafts[0]["based_on"], drafts[0]["uuid"]) if drafts else (revisions[0]["number"], None)


def _load(tx: Transaction, workspace_id: int, flow_id: int, number: int, draft: str | None) -> Flow:
    try:
        if draft is not None:
            return load(read_draft(tx, workspace_id, flow_id, draft))
        return load(read_revision(tx, workspace_id, flow_id, number))
    except DefinitionError as error:
        raise Refused(f"The definition of this flow cannot be read: {error}") from error


def _load_earlier(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> Flow:
    """Raises RecordMissing."""
    try:
        return load(read_revision(tx, workspace_id, flow_id, number))
    except DefinitionError as error:
        raise RecordMissing from error


def _sentence(error: TranslationFileError) -> str:
    told = str(error).rstrip(".")
    return f"{told[:1].upper()}{told[1:]}."
