"""Reads files that hold one definition, or an export file with several."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from flows.definition import DefinitionError, Flow, load
from flows.definition.exports import ExportError, ExportFile, read_export
from relayboard.refusal import CommandFailed

LARGEST_BYTES = 64 * 1024**2
MOST_VALUES = 8_000_000
"""A file of empty lists takes fifty times its size in memory: so many values take half a gigabyte."""


def read_document(path: Path) -> Any:
    """The JSON content of a file; raises CommandFailed. No more of it is read than it may have, whatever it is."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > LARGEST_BYTES:
        raise CommandFailed(f"{path} has more than {LARGEST_BYTES // 1024**2} MiB: divide it into several files")
    if sum(map(content.count, (b",", b"[", b"{"))) > MOST_VALUES:
        raise CommandFailed(f"{path} has more than {MOST_VALUES:,} values: divide it into several files")
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{path} is not JSON: {error}") from error


def as_export(document: object) -> ExportFile:
    """An export file, or one definition as an export file that contains only it; raises CommandFailed."""
    try:
        return read_export(document)
    except ExportError as error:
        raise CommandFailed(str(error)) from error


def choose_flow(content: ExportFile, wanted: str | None) -> Flow:
    """The flow with a UUID or name, by default the first one; raises CommandFailed."""
    for definition in content.flows:
        if wanted is None or wanted.lower() in (definition.get("uuid"), str(definition.get("name")).lower()):
            try:
                return load(definition)
            except DefinitionError as error:
                raise CommandFailed(str(error)) from error
    raise CommandFailed(f"there is no flow {wanted} in the file" if wanted else "there is no flow in the file")
