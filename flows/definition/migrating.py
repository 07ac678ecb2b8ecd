"""Migrates definitions of any version to a newer one, step by step (flow format, versions and migrations).

Versions of the definition format (flow format, versions and migrations).
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from flows.definition import steps_13, steps_14
from flows.definition.errors import DefinitionError
from flows.definition.legacy.definitions import is_legacy, migrate_legacy
from flows.definition.raw_parts import JsonObject, NewUuid, copy_parts, derive_uuids, read_text
from flows.words import told

Version: TypeAlias = tuple[int, int, int]

STEPS: dict[Version, Callable[[JsonObject, NewUuid], None]] = {
    (13, 1, 0): steps_13.name_templating,
    (13, 2, 0): steps_13.name_language,
    (13, 3, 0): steps_13.look_up_webhook_json,
    (13, 4, 0): steps_13.split_templating,
    (13, 5, 0): steps_13.merge_templating,
    (13, 6, 0): steps_13.shorten_names,
    (13, 6, 1): steps_13.shorten_result_lookups,
    (14, 0, 0): steps_14.clamp_expirations,
    (14, 1, 0): steps_14.split_on_webhook_status,
    (14, 2, 0): steps_14.name_ticket_notes,
    (14, 3, 0): steps_14.split_on_locals,
    (14, 3, 1): steps_14.join_arguments,
    (14, 4, 0): steps_14.forget_all_urns,
    (14, 4, 1): steps_14.straighten_webhook_splits,
    (14, 4, 2): steps_14.expect_missing_status,
}

# From the flow itself down to the parameters of a component of a message template.
PARTS_DEPTH = 10
OLDEST: Version = (13, 0, 0)
NEWEST: Version = (14, 4, 2)
VERSION = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})(?:\.([0-9]{1,3}))?")


def migrate(
    definition: Mapping[str, Any],
    *,
    to: str | None = None,
    new_uuid: NewUuid | None = None,
    media_url: str = "",
    is_own: bool = False,
) -> dict[str, Any]:
    """A definition in version `to`, by default the newest one; a definition that is newer than `to` keeps its version.
    Definitions before version 13 become 13.0 first; relative URLs of their attachments are resolved against
    `media_url`. `new_uuid` gives UUIDs for parts that get one, otherwise they are derived from the definition. The
    given definition is not changed, and shares only the editor's data with the result, unless the caller gives it away
    (`is_own`); it is checked only as far as the steps need. Raises DefinitionError.
    """
    if not isinstance(definition, Mapping):
        raise DefinitionError(f"a definition is an object, not {told(definition)}")
    if isinstance(definition.get("flows"), list):
        raise DefinitionError("this is an export file; `read_export` reads it and gives its definitions")
    target = NEWEST if to is None else read_version(to)
    new_uuid = new_uuid or derive_uuids(definition)
    if is_legacy(definition):
        migrated = migrate_legacy(definition, new_uuid, media_url)
        version = OLDEST
    else:
        version = _check_version(definition)
        migrated = dict(definition) if is_own else _copy(definition)
    for step_version, step in STEPS.items():
        if version < step_version <= target:
            step(migrated, new_uuid)
            migrated["spec_version"] = write_version(step_version)
    return migrated


def newer_version(version: Version) -> str:
    """Why a version cannot be read that is newer than this program."""
    return f"version {write_version(version)} is newer than {write_version(NEWEST)}, the newest that is known here"


def read_version(text: object) -> Version:
    """A version string as numbers. Raises DefinitionError."""
    found = VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise DefinitionError(f"{told(text)} is not a version such as 13.2.0", field="spec_version")
    major, minor, patch = found.groups(default="0")
    return int(major), int(minor), int(patch)


def write_version(version: Version) -> str:
    """A version in the form of definitions, such as `13.6.1`."""
    return ".".join(str(number) for number in version)


def _copy(definition: Mapping[str, Any]) -> JsonObject:
    # No step changes the editor's data, which may be of any depth.
    return {key: item if key == "_ui" else copy_parts(item, PARTS_DEPTH) for key, item in definition.items()}


def _check_version(definition: Mapping[str, Any]) -> Version:
    flow = read_text(definition, "uuid")[:36]
    try:
        version = read_version(definition.get("spec_version"))
    except DefinitionError as error:
        raise DefinitionError(error.message, flow=flow, field=error.field) from error
    if version < OLDEST:
        raise DefinitionError(
            f"version {write_version(version)} is older than 13, but the flow has nodes, as newer ones have",
            flow=flow,
            field="spec_version",
        )
    if version[:2] > NEWEST[:2]:
        raise DefinitionError(newer_version(version), flow=flow, field="spec_version")
    return version
