"""Changes flows one by one, as people do in an editor: what they save is imported as a file with one definition is, so
that it is checked, linked and stored in the same way.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import select

from flows.definition import DefinitionError, Flow, change_base_language, load
from flows.definition.exports.model import FILE_VERSION
from flows.definition.migrating import NEWEST
from flows.definition.steps_14 import LONGEST_EXPIRATIONS_MINUTES
from persistence.channels.channels import Networks
from persistence.database import Transaction
from persistence.definitions.checking import FoundInFlow, check_import
from persistence.definitions.importing import ImportRefused, ImportReport, import_definitions
from persistence.errors import Clash, InvalidInput, RecordMissing, Refused
from persistence.flows.records import MESSAGE, find_flow
from persistence.flows.writes import NO_REVISION, TYPES, list_revisions, read_revision
from persistence.sql.columns import new_uuid
from persistence.sql.names import check_room, free_name, must_exist
from persistence.tables.flows import flow
from persistence.tokens import Areas, check_area
from persistence.workspaces.records import Workspace, hold_workspace

FLOWS_PER_WORKSPACE = 2000
"""With those that imports made; only a new one is refused."""
DEFINED_TYPES = {stored: defined for defined, stored in TYPES.items()}
AREAS_OF_MADE = {
    "fields": "contacts",
    "globals": "flows",
    "groups": "contacts",
    "labels": "messages",
    "topics": "tickets",
}
"""What a definition creates when it is stored, by the area of tokens that may."""
NO_RECORD: dict[str, Any] = {"number": NO_REVISION}
ONE_OF_THREE = "Send either a definition, or the number of an earlier revision to restore, or a draft to publish."
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Superseded(Clash):
    """Somebody has saved another revision since the one with which the caller began."""

    code = "conflict"


@dataclass(frozen=True, slots=True)
class SavedRevision:
    """The newest revision, as `list_revisions` shows it, whether this made it, and what is wrong with its flow."""

    record: Mapping[str, Any]
    is_new: bool
    found: Sequence[FoundInFlow]


def save_from_form(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    body: Mapping[str, Any],
    *,
    user_id: int | None,
    networks: Networks = None,
    areas: Areas = None,
) -> SavedRevision:
    """Saves a definition, or an earlier one again, as the newest revision of a flow, which keeps its name. Raises
    Superseded if another one was saved since the revision with which the caller began; NotAllowed if a token with these
    areas may not create what the definition needs; RecordMissing, Refused and InvalidInput.
    """
    tx.may_pause()
    hold_workspace(tx, workspace.id)
    flow_id = require_unarchived(tx, workspace.id, uuid)
    given, field = body.get("definition"), "definition"
    if (given is None) == (body.get("restore") is None):
        raise InvalidInput.across(ONE_OF_THREE)
    if given is None:
        given, field = _read_revision(tx, workspace.id, flow_id, body["restore"]), "restore"
    return save_definition_of(
        tx, workspace, uuid, given, body["based_on"], field, user_id=user_id, networks=networks, areas=areas
    )


def save_definition_of(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    given: Mapping[str, Any],
    based_on: int,
    field: str,
    *,
    user_id: int | None,
    networks: Networks = None,
    areas: Areas = None,
) -> SavedRevision:
    """`save_from_form` with a definition that is in hand, or was named in another field. The workspace is held."""
    flow_id = require_unarchived(tx, workspace.id, uuid)
    [newest] = list_revisions(tx, workspace.id, flow_id, 1) or [NO_RECORD]
    if based_on != newest["number"]:
        raise Superseded(tell_newest(newest))
    row = tx.execute(select(flow.c.name, flow.c.type).where(flow.c.id == flow_id)).one()
    try:
        definition = load(given)
    except DefinitionError as error:
        raise InvalidInput.on(field, str(error), "wrong_form") from error
    if definition.type != DEFINED_TYPES[row.type]:
        raise InvalidInput.on(field, f'The type of this flow is "{DEFINED_TYPES[row.type]}", and cannot be changed.')
    document = _as_file({**definition.raw, "uuid": uuid.lower(), "name": row.name})
    checked = check_import(tx, workspace, document, networks=networks, user_id=user_id)
    if isinstance(checked.refusal, ImportRefused):
        raise InvalidInput.on(field, str(checked.refusal), "wrong_form") from checked.refusal
    if checked.refusal is not None:
        raise checked.refusal
    _check_made(checked.report, areas)
    [record] = list_revisions(tx, workspace.id, flow_id, 1)
    return SavedRevision(record, record["number"] != newest["number"], checked.found)


def create_from_form(
    tx: Transaction, workspace: Workspace, body: Mapping[str, Any], *, user_id: int | None = None, areas: Areas = None
) -> int:
    """Creates an empty flow, or a copy of another one; returns its id. Raises InvalidInput and LimitReached,
    and NotAllowed as `save_from_form` does."""
    tx.may_pause()
    hold_workspace(tx, workspace.id)
    if not body.get("name"):
        raise InvalidInput.on("name", "A value is required.", "required")
    name = free_name(tx, workspace.id, flow, body["name"])["name"]
    check_room(tx, workspace.id, flow, limit=FLOWS_PER_WORKSPACE)
    copied = body.get("copy_of")
    if copied is None:
        language = (body.get("base_language") or workspace.default_language).lower()
        definition = _make_empty(language, body.get("type") or MESSAGE)
    elif body.get("type"):
        raise InvalidInput.on("type", "A copy has the type of its original.")
    else:
        original_id = must_exist(find_flow(tx, workspace.id, copied), "copy_of", copied)
        definition = renew_uuids(load(_read_newest(tx, workspace.id, original_id)))
    return _store(tx, workspace, _change({**definition, "uuid": new_uuid(), "name": name}, body), user_id, areas)


def change_from_form(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    body: Mapping[str, Any],
    *,
    user_id: int | None = None,
    areas: Areas = None,
) -> int:
    """Changes the name, the base language or the expiry of a flow, as a new revision; returns its id. Raises
    RecordMissing, Refused, InvalidInput, and NotAllowed as `save_from_form` does."""
    tx.may_pause()
    hold_workspace(tx, workspace.id)
    flow_id = require_unarchived(tx, workspace.id, uuid)
    for name in ("type", "copy_of"):
        if body.get(name) is not None:
            raise InvalidInput.on(name, "Only a new flow can have this.")
    definition = _change(_read_newest(tx, workspace.id, flow_id), body)
    if body.get("name"):
        definition["name"] = free_name(tx, workspace.id, flow, body["name"], besides_id=flow_id)["name"]
    return _store(tx, workspace, definition, user_id, areas)


def require_unarchived(tx: Transaction, workspace_id: int, uuid: str) -> int:
    """The id of a flow that may be changed. Raises RecordMissing, and Refused if it is archived."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid.lower())
    row = tx.execute(select(flow.c.id, flow.c.is_archived).where(mine)).first()
    if row is None:
        raise RecordMissing
    if row.is_archived:
        raise Refused("This flow is archived: restore it first.")
    flow_id: int = row.id
    return flow_id


def tell_newest(newest: Mapping[str, Any]) -> str:
    """Which revision of a flow is the newest, and who saved it when."""
    if newest["number"] == NO_REVISION:
        return "This flow has no revision yet: begin with 0."
    saving = tell_saving(newest["created_on"], newest["created_by"])
    return f"The newest revision of this flow is {newest['number']}, {saving}."


def tell_saving(when: str, by: Mapping[str, Any] | None) -> str:
    """When something was saved, and by whom, if that is known."""
    return f"saved on {when}" + (f" by {by['name'] or by['email']} ({by['email']})" if by else "")


def renew_uuids(original: Flow) -> dict[str, Any]:
    """The definition of a flow with new UUIDs for all that belongs to it: itself, nodes, actions, exits, categories and
    cases, wherever they are named. Two flows may not share them, because results and translations go by them.
    """
    old = [original.uuid]
    for node in original.nodes:
        old += [node.uuid, *(each.uuid for each in node.actions), *(each.uuid for each in node.exits)]
        if node.router is not None:
            old += [*(each.uuid for each in node.router.categories), *(each.uuid for each in node.router.cases)]
    renewed = {uuid.lower(): new_uuid() for uuid in old}
    text = orjson.dumps(dict(original.raw)).decode()
    copied: dict[str, Any] = orjson.loads(UUID.sub(lambda found: renewed.get(found[0].lower(), found[0]), text))
    return copied


def _make_empty(language: str, kind: str) -> dict[str, Any]:
    return {
        "spec_version": ".".join(map(str, NEWEST)),
        "language": language,
        "type": DEFINED_TYPES[kind],
        "revision": 0,
        "expire_after_minutes": 0,
        "localization": {},
        "nodes": [],
    }


def _change(definition: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """The definition with the base language and expiry of a form. Raises InvalidInput."""
    changed = dict(definition)
    language, minutes = body.get("base_language"), body.get("expires")
    if language is not None:
        try:
            changed = change_base_language(changed, language.lower())
        except DefinitionError as error:
            raise InvalidInput.on("base_language", f"{error.message[:1].upper()}{error.message[1:]}.") from error
    if minutes is not None:
        longest = LONGEST_EXPIRATIONS_MINUTES.get(changed["type"], 0)
        if minutes > longest:
            raise InvalidInput.on("expires", f"At most {longest} minutes in flows of this type.", "out_of_range")
        changed["expire_after_minutes"] = minutes
    return changed


def _read_newest(tx: Transaction, workspace_id: int, flow_id: int) -> dict[str, Any]:
    """The newest definition, in the newest version. Raises Refused."""
    number = tx.execute(
        select(flow.c.definition_revision).where(flow.c.workspace_id == workspace_id, flow.c.id == flow_id)
    ).scalar_one()
    try:
        return dict(load(read_revision(tx, workspace_id, flow_id, number)).raw)
    except DefinitionError as error:
        raise Refused(f"The definition of this flow cannot be read: {error}") from error


def _read_revision(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> dict[str, Any]:
    try:
        return read_revision(tx, workspace_id, flow_id, number)
    except DefinitionError as error:
        raise InvalidInput.on("restore", f"There is no revision {number}.", "unknown_reference") from error


def _as_file(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {"version": FILE_VERSION, "flows": [definition]}


def _check_made(report: ImportReport, areas: Areas) -> None:
    """Raises NotAllowed if a token with these areas may not create what an import made."""
    for plural, names in report.made.items():
        if names:
            check_area(areas, AREAS_OF_MADE[plural])


def _store(
    tx: Transaction, workspace: Workspace, definition: Mapping[str, Any], user_id: int | None, areas: Areas
) -> int:
    try:
        report = import_definitions(tx, workspace, _as_file(definition), user_id=user_id)
    except ImportRefused as error:
        raise Refused(f"The definition of this flow cannot be stored: {error}") from error
    _check_made(report, areas)
    flow_id = find_flow(tx, workspace.id, report.flows[0]["uuid"])
    assert flow_id is not None, "an import has stored it"
    return flow_id
