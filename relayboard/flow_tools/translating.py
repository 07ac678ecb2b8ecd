"""Texts of flows of files for translators, and what comes back from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows.definition import DefinitionError, Flow
from flows.definition.exports import ExportFile
from flows.translation_files import (
    Change,
    Row,
    TranslationFileError,
    apply_changes,
    compare,
    list_rows,
)
from persistence.flows.translation_sheets import FORMATS, read_texts, write_texts
from relayboard.flow_tools.files import read_content
from relayboard.refusal import CommandFailed

SUFFIXES = tuple(f".{each}" for each in FORMATS)


def write_file(flow: Flow, language: str, suffix: str) -> bytes:
    """The texts of a flow as a file with this suffix; raises CommandFailed."""
    try:
        return write_texts(flow, language, list_rows(flow, language), _check_suffix(suffix))
    except TranslationFileError as error:
        raise CommandFailed(str(error)) from error


def read_file(path: Path) -> list[Row]:
    """The rows of a file of a translator; raises CommandFailed."""
    content = read_content(path)
    try:
        return read_texts(content, _check_suffix(path.suffix))
    except TranslationFileError as error:
        raise CommandFailed(f"{path}: {error}") from error


def translate(flow: Flow, language: str, rows: Sequence[Row]) -> tuple[list[Change], dict[str, Any]]:
    """What rows of a translator change, and the definition with it; raises CommandFailed."""
    try:
        changes = compare(flow, language, rows)
        return changes, apply_changes(flow, language, changes)
    except TranslationFileError as error:
        raise CommandFailed(str(error)) from error
    except DefinitionError as error:
        raise CommandFailed(f"{error.field}: {error.message}") from error


def put_in(document: Any, content: ExportFile, definition: Mapping[str, Any]) -> Any:
    """A document of a file with the new definition in place of the old one."""
    if not isinstance(document, Mapping) or not isinstance(document.get("flows"), list):
        return definition
    uuid = definition["uuid"]
    whole = [definition if each.get("uuid") == uuid else each for each in content.flows]
    return {**document, "flows": whole}


def describe_change(change: Change) -> str:
    """A line for people."""
    said = f"{change.before!r} -> {change.row.translation!r}" if change.before else repr(change.row.translation)
    told = f"left out ({change.problem})" if change.problem else "changed"
    return f"{told}: {change.row.text!r}: {said}"


def _check_suffix(suffix: str) -> str:
    if suffix.lower() not in SUFFIXES:
        raise CommandFailed(f"a file of translations ends in {', '.join(SUFFIXES)}, not {suffix or 'nothing'}")
    return suffix.lower().removeprefix(".")
