"""Reads files that hold one definition, or an export file with several, for commands that need no workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from flows.definition import DefinitionError, Flow, load
from flows.definition.exports import ExportError, ExportFile, read_export
from relayboard.commands.output import CommandFailed

EXPORT_VERSION = "13"
# What export files say all of; other kinds of assets are in the workspace only.
EXPORTED_KINDS = {"flow": "flows", "field": "fields", "group": "groups"}
_IDENTITIES = ("uuid", "key")


@dataclass(frozen=True, slots=True)
class ExportedAssets:
    """What an export file has. Of kinds that it does not list everything counts as known."""

    document: Mapping[str, Any]

    def knows(self, kind: str, identity: str) -> bool:
        """Whether an asset with this UUID or key is in the file, or may be somewhere else."""
        listed = self.document.get(EXPORTED_KINDS.get(kind, ""))
        if not isinstance(listed, list):
            return True
        return any(
            isinstance(item, Mapping) and identity in (item.get(name) for name in _IDENTITIES) for item in listed
        )


def read_document(path: Path) -> Any:
    """The JSON in a file; raises CommandFailed."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read: {error.strerror}") from error
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{path} is no JSON: {error}") from error


def is_export(document: Any) -> bool:
    """Whether a document is an export file rather than one definition."""
    return isinstance(document, Mapping) and isinstance(document.get("flows"), list)


def as_export(document: Any) -> ExportFile:
    """An export file, or one definition as an export file with nothing else; raises CommandFailed."""
    given = document if is_export(document) else {"version": EXPORT_VERSION, "site": "", "flows": [document]}
    try:
        return read_export(given)
    except ExportError as error:
        raise CommandFailed(str(error)) from error


def choose_flow(content: ExportFile, wanted: str | None) -> Flow:
    """The flow of a UUID or name, the first one if nothing is wanted; raises CommandFailed."""
    for definition in content.flows:
        if wanted is None or wanted.lower() in (definition.get("uuid"), str(definition.get("name")).lower()):
            try:
                return load(definition)
            except DefinitionError as error:
                raise CommandFailed(str(error)) from error
    raise CommandFailed(f"there is no flow {wanted} in the file" if wanted else "there is no flow in the file")
