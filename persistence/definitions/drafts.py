"""Drafts of flows: definitions that people save while they draw, and that no contact gets before they are published. A
flow has one line of drafts, of which the newest counts; what is published is a revision, and ends the line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy import Executable, delete, insert, select

from flows.definition import DefinitionError, load
from persistence.channels.channels import Networks
from persistence.database import Transaction
from persistence.definitions.checking import FoundInFlow, check_definition
from persistence.definitions.editing import (
    DEFINED_TYPES,
    ONE_OF_THREE,
    SavedRevision,
    Superseded,
    require_unarchived,
    save_definition_of,
    tell_newest,
    tell_saving,
)
from persistence.errors import InvalidInput, RecordMissing, Refused
from persistence.flows.testing import PlayedTests, play_tests
from persistence.flows.writes import list_revisions, read_revision, says_the_same
from persistence.sql.columns import new_uuid, time_text
from persistence.statements import update
from persistence.tables.accounts import user
from persistence.tables.flows import flow, flow_draft
from persistence.tokens import Areas
from persistence.users import USER_NAME
from persistence.workspaces.records import Workspace, hold_workspace

KEPT = 20
"""Of a flow; older ones are deleted when another is saved."""
SAME_DRAFT = timedelta(minutes=10)
"""What a person saves within this time after the beginning of their own draft replaces it: an editor saves every few
seconds, and twenty drafts would be a minute."""
NOT_NEWER = "There is no revision {number} yet."
REQUIRED = "required"
FAILING = "Tests of this flow fail, or cannot be played: {names}."
NAMED = 5
"""Tests that a refusal names."""


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """The newest draft, as `list_drafts` shows it, or None if what was saved says the same as the newest revision. That
    is `revision`.
    """

    record: Mapping[str, Any] | None
    revision: Mapping[str, Any]
    is_new: bool
    found: Sequence[FoundInFlow]


def list_drafts(tx: Transaction, workspace_id: int, flow_id: int) -> list[dict[str, Any]]:
    """The drafts of a flow, newest first, and who saved each."""
    rows = flow_draft.c
    columns = (rows.uuid, rows.based_on, rows.spec_version, rows.saved_on, user.c.email, USER_NAME)
    saved = flow_draft.outerjoin(user, user.c.id == rows.created_by_id)
    found = select(*columns).select_from(saved).where(_of(workspace_id, flow_id)).order_by(rows.id.desc())
    return [
        {
            "uuid": row.uuid,
            "based_on": row.based_on,
            "spec_version": row.spec_version,
            "saved_on": time_text(row.saved_on),
            "created_by": None if row.email is None else {"email": row.email, "name": row.name.strip()},
        }
        for row in tx.execute(found)
    ]


def read_draft(tx: Transaction, workspace_id: int, flow_id: int, uuid: str) -> dict[str, Any]:
    """The definition of a draft; raises RecordMissing."""
    mine = _of(workspace_id, flow_id) & (flow_draft.c.uuid == uuid.lower())
    text = tx.execute(select(flow_draft.c.definition).where(mine)).scalar_one_or_none()
    if text is None:
        raise RecordMissing
    definition: dict[str, Any] = orjson.loads(text)
    return definition


def save_draft(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    body: Mapping[str, Any],
    *,
    user_id: int | None,
    networks: Networks = None,
) -> SavedDraft:
    """Saves a definition, which may be unfinished, as the newest draft of a flow; nothing else is made or changed. One
    that says the same as the newest revision ends the drafts. Raises Superseded if another draft was saved since the
    one with which the caller began; RecordMissing, Refused and InvalidInput.
    """
    if body.get("definition") is None or any(body.get(each) is not None for each in ("restore", "publish")):
        raise InvalidInput.across("A draft is a definition.")
    tx.may_pause()
    hold_workspace(tx, workspace.id)
    flow_id = require_unarchived(tx, workspace.id, uuid)
    row = tx.execute(select(flow.c.name, flow.c.type, flow.c.definition_revision).where(flow.c.id == flow_id)).one()
    live = _read_live(tx, workspace.id, flow_id)
    if body["based_on"] > row.definition_revision:
        raise InvalidInput.on("based_on", NOT_NEWER.format(number=body["based_on"]), "unknown_reference")
    newest = _require_newest(tx, workspace.id, flow_id, body.get("based_on_draft"))
    given = {**body["definition"], "uuid": uuid.lower(), "name": row.name}
    if given.get("type") != DEFINED_TYPES[row.type]:
        raise InvalidInput.on("definition", f'The type of this flow is "{DEFINED_TYPES[row.type]}".')
    text = orjson.dumps(given).decode()
    checked = check_definition(tx, workspace, given, networks)
    if _is_live(tx, workspace.id, flow_id, row.definition_revision, given):
        tx.execute(delete(flow_draft).where(_of(workspace.id, flow_id)))
        return SavedDraft(None, live, False, checked.found)
    is_new = newest is None or newest.definition != text or newest.based_on != body["based_on"]
    if is_new:
        dependencies = [] if checked.inspection is None else checked.inspection.dependencies
        values = {
            "uuid": new_uuid(),
            "based_on": body["based_on"],
            "spec_version": str(given.get("spec_version") or "")[:16],
            "definition": text,
            "dependencies": [each.to_json() for each in dependencies],
            "saved_on": tx.now,
        }
        if newest is not None and newest.created_by_id == user_id and tx.now - newest.created_on < SAME_DRAFT:
            tx.execute(
                update(flow_draft).where(_of(workspace.id, flow_id), flow_draft.c.id == newest.id).values(values)
            )
        else:
            values |= {"created_by_id": user_id, "created_on": tx.now}
            tx.execute(insert(flow_draft).values(workspace_id=workspace.id, flow_id=flow_id, **values))
            _delete_old(tx, workspace.id, flow_id)
    record = list_drafts(tx, workspace.id, flow_id)[0]
    return SavedDraft(record, live, is_new, checked.found)


def publish_draft(
    tx: Transaction,
    workspace: Workspace,
    uuid: str,
    body: Mapping[str, Any],
    *,
    user_id: int | None,
    networks: Networks = None,
    areas: Areas = None,
) -> tuple[SavedRevision, PlayedTests]:
    """Makes the newest draft of a flow its newest revision, and ends the drafts; plays its tests before. Raises
    Superseded if there is another draft or revision than the caller has seen; RecordMissing, Refused and InvalidInput,
    also if tests fail and `tests` are required.
    """
    if any(body.get(each) is not None for each in ("definition", "restore")):
        raise InvalidInput.across(ONE_OF_THREE)
    tx.may_pause()
    flow_id = require_unarchived(tx, workspace.id, uuid)
    draft = _require_newest(tx, workspace.id, flow_id, body["publish"])
    assert draft is not None, "one was named"
    definition = orjson.loads(draft.definition)
    try:
        load(definition)
    except DefinitionError as error:
        raise InvalidInput.on("publish", str(error), "wrong_form") from error
    # Before others have to wait for this unit of work.
    played = play_tests(tx, workspace, definition)
    if body.get("tests") == REQUIRED and not played.all_passed:
        names = ", ".join(f'"{each}"' for each in played.not_passed[:NAMED])
        raise InvalidInput.on("tests", FAILING.format(names=names))
    hold_workspace(tx, workspace.id)
    _require_newest(tx, workspace.id, flow_id, body["publish"])
    saved = save_definition_of(
        tx, workspace, uuid, definition, body["based_on"], "publish", user_id=user_id, networks=networks, areas=areas
    )
    tx.execute(delete(flow_draft).where(_of(workspace.id, flow_id)))
    return saved, played


def _require_newest(tx: Transaction, workspace_id: int, flow_id: int, seen: str | None) -> Any:
    """The row of the newest draft, None if there is none; raises Superseded if it is not the one that was seen."""
    newest = tx.execute(_select_newest(workspace_id, flow_id)).first()
    if newest is not None and newest.uuid != (seen or "").lower():
        person = {"email": newest.email, "name": newest.name.strip()} if newest.email else None
        raise Superseded(f"The newest draft of this flow was {tell_saving(time_text(newest.saved_on), person)}.")
    if newest is None and seen is not None:
        live = _read_live(tx, workspace_id, flow_id)
        raise Superseded(f"The drafts of this flow were published or discarded. {tell_newest(live)}")
    return newest


def _read_live(tx: Transaction, workspace_id: int, flow_id: int) -> Mapping[str, Any]:
    """The newest revision; raises Refused if there is none."""
    found = list_revisions(tx, workspace_id, flow_id, 1)
    if not found:
        raise Refused("This flow has no revision yet: save one first.")
    return found[0]


def _select_newest(workspace_id: int, flow_id: int) -> Executable:
    rows = flow_draft.c
    columns = (rows.id, rows.uuid, rows.based_on, rows.definition, rows.created_by_id, rows.created_on, rows.saved_on)
    saved = flow_draft.outerjoin(user, user.c.id == rows.created_by_id)
    mine = select(*columns, user.c.email, USER_NAME).select_from(saved).where(_of(workspace_id, flow_id))
    return mine.order_by(rows.id.desc()).limit(1)


def _of(workspace_id: int, flow_id: int) -> Any:
    return (flow_draft.c.workspace_id == workspace_id) & (flow_draft.c.flow_id == flow_id)


def _is_live(tx: Transaction, workspace_id: int, flow_id: int, number: int, given: Mapping[str, Any]) -> bool:
    try:
        return says_the_same(read_revision(tx, workspace_id, flow_id, number), given)
    except DefinitionError:
        return False


def _delete_old(tx: Transaction, workspace_id: int, flow_id: int) -> None:
    ids = select(flow_draft.c.id).where(_of(workspace_id, flow_id)).order_by(flow_draft.c.id.desc())
    old = tx.execute(ids.offset(KEPT)).scalars().all()
    if old:
        tx.execute(delete(flow_draft).where(_of(workspace_id, flow_id), flow_draft.c.id.in_(old)))
