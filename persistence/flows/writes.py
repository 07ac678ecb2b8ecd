"""Stores flows: every definition that was imported or saved, the newest of which is run, and the result of its
inspection.
"""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import insert, select

from flows.definition import DefinitionError, Flow, Inspection, Node
from persistence.database import Transaction
from persistence.flows.records import BACKGROUND, MESSAGE, SURVEY, VOICE
from persistence.sql.columns import new_uuid, time_text
from persistence.sql.names import name_key
from persistence.stamps import stamped
from persistence.statements import update
from persistence.tables.accounts import user
from persistence.tables.flows import flow, flow_revision
from persistence.users import USER_NAME

TYPES = {
    "messaging": MESSAGE,
    "messaging_background": BACKGROUND,
    "messaging_offline": SURVEY,
    "voice": VOICE,
}
"""The types of definitions, and of flows."""

DEFAULT_EXPIRY_MINUTES = {MESSAGE: 3 * 24 * 60, VOICE: 5}
NO_REVISION = 0

_INSERT_FLOW, _INSERT_REVISION = insert(flow).returning(flow.c.id), insert(flow_revision)

STEPS_PER_FLOW = 1000
OPEN, CHOICE, KEYPAD, MENU, RECORDING = "O", "C", "K", "M", "R"
KINDS_BY_ACTION = {
    "call_classifier": "classifier",
    "call_resthook": "resthook",
    "call_webhook": "webhook",
    "enter_flow": "subflow",
    "transfer_airtime": "airtime",
}
KINDS_BY_OPERAND = (("@contact.groups", "group"), ("@contact.", "contact_field"), ("@fields.", "contact_field"))

LISTED = 100


def create_flow(tx: Transaction, workspace_id: int, uuid: str, definition: Flow) -> int:
    """Create a flow without a revision; returns its id. The caller ensures that the name is free."""
    empty: dict[str, Any] = {"results": [], "parent_refs": [], "dependencies": [], "issues": [], "rulesets": []}
    values = {"uuid": uuid, "definition_revision": NO_REVISION, **_describe(definition), **empty}
    times = {"created_on": tx.now, "modified_on": stamped(tx, flow, workspace_id)}
    # As parameters, not as parts of the statement: a file has hundreds of flows.
    return tx.execute(_INSERT_FLOW, {"workspace_id": workspace_id, **values, **times}).scalar_one()


def save_definition(
    tx: Transaction,
    workspace_id: int,
    flow_id: int,
    definition: Flow,
    inspection: Inspection,
    *,
    is_made: bool = False,
    user_id: int | None = None,
) -> bool:
    """Stores a definition as the newest revision of its flow, and restores an archived flow. A definition equal to the
    newest revision is not stored. `is_made`: this unit of work has just made the flow, which has no revision.
    `user_id` is who saves it, if that is known. Returns False if nothing has changed.
    """
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.id == flow_id)
    if is_made:
        _add_revision(tx, workspace_id, flow_id, NO_REVISION + 1, definition, user_id)
        made = {"definition_revision": NO_REVISION + 1, **_describe_findings(definition, inspection, flow_id)}
        tx.execute(update(flow).where(mine).values(modified_on=stamped(tx, flow, workspace_id), **made))
        return True
    row = tx.execute(select(flow).where(mine).with_for_update(key_share=True)).one()
    newest = row.definition_revision
    is_new = not says_the_same(_read_newest(tx, workspace_id, flow_id, newest), definition.raw)
    found = _describe_findings(definition, inspection, flow_id)
    values = _describe(definition) | found | {"is_archived": False}
    if is_new:
        _add_revision(tx, workspace_id, flow_id, newest + 1, definition, user_id)
        values["definition_revision"] = newest + 1
    elif all(getattr(row, name) == value for name, value in values.items()):
        return False
    tx.execute(update(flow).where(mine).values(modified_on=stamped(tx, flow, workspace_id), **values))
    return True


def make_flow_uuid(tx: Transaction, wanted: str) -> str:
    """The UUID of a new flow: the one that it had on another server, unless a flow here has it."""
    taken = tx.execute(select(flow.c.id).where(flow.c.uuid == wanted)).first() is not None
    return new_uuid() if taken else wanted.lower()


def describe_rulesets(flow: Flow, inspection: Inspection, flow_id: int) -> list[dict[str, Any]]:
    """The nodes that save results, from top to bottom; each keeps its number as long as its position stays."""
    names: dict[str, str] = {}
    for result in inspection.results:
        for node_uuid in result.node_uuids:
            names.setdefault(node_uuid, result.name)
    positions = {node.uuid: (_find_height(flow, node), number) for number, node in enumerate(flow.nodes)}
    nodes = sorted((node for node in flow.nodes if node.uuid in names), key=lambda node: positions[node.uuid])
    return [
        {
            "node": node.uuid,
            "label": names[node.uuid],
            "ruleset_type": _find_kind(node),
            "response_type": _find_response(node),
            "id": flow_id * STEPS_PER_FLOW + positions[node.uuid][1],
        }
        for node in nodes
    ]


def read_revision(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> dict[str, Any]:
    """A definition. Raises DefinitionError if it is missing or not JSON."""
    rows = flow_revision.c
    mine = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id) & (rows.number == number)
    text = tx.execute(select(rows.definition).where(mine)).scalar_one_or_none()
    if text is None:
        raise DefinitionError(f"revision {number} of flow {flow_id} is gone")
    try:
        definition: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DefinitionError(f"revision {number} of flow {flow_id} is no JSON") from error
    return definition


def list_revisions(tx: Transaction, workspace_id: int, flow_id: int, limit: int = LISTED) -> list[dict[str, Any]]:
    """The last revisions of a flow, newest first, and who saved each."""
    rows = flow_revision.c
    of_it = (flow.c.id == rows.flow_id) & (flow.c.workspace_id == rows.workspace_id)
    columns = (rows.number, rows.spec_version, rows.created_on, flow.c.definition_revision, user.c.email, USER_NAME)
    mine = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id)
    saved = flow_revision.join(flow, of_it).outerjoin(user, user.c.id == rows.created_by_id)
    found = select(*columns).select_from(saved).where(mine).order_by(rows.number.desc())
    return [
        {
            "number": row.number,
            "spec_version": row.spec_version,
            "created_on": time_text(row.created_on),
            "is_current": row.number == row.definition_revision,
            "created_by": None if row.email is None else {"email": row.email, "name": row.name.strip()},
        }
        for row in tx.execute(found.limit(limit))
    ]


def says_the_same(stored: object, given: Mapping[str, Any]) -> bool:
    """Whether definitions are equal apart from the number of their revision."""
    if not isinstance(stored, dict):
        return False
    return bool(orjson.loads(orjson.dumps({**given, "revision": 0})) == {**stored, "revision": 0})


def _add_revision(
    tx: Transaction, workspace_id: int, flow_id: int, number: int, definition: Flow, user_id: int | None
) -> None:
    text = orjson.dumps({**definition.raw, "revision": number}).decode()
    values = {"number": number, "spec_version": definition.spec_version, "definition": text, "created_on": tx.now}
    values["created_by_id"] = user_id
    tx.execute(_INSERT_REVISION, {"workspace_id": workspace_id, "flow_id": flow_id, **values})


def _read_newest(tx: Transaction, workspace_id: int, flow_id: int, number: int) -> Mapping[str, Any] | None:
    """The newest definition; None if there is none or it cannot be read; an import then replaces it."""
    try:
        return None if number == NO_REVISION else read_revision(tx, workspace_id, flow_id, number)
    except DefinitionError:
        return None


def _describe(definition: Flow) -> dict[str, Any]:
    kind = TYPES[definition.type]
    return {
        "name": definition.name,
        "name_key": name_key(definition.name),
        "type": kind,
        "base_language": definition.language,
        "expires_after_minutes": definition.expire_after_minutes or DEFAULT_EXPIRY_MINUTES.get(kind, 0),
    }


def _describe_findings(definition: Flow, inspection: Inspection, flow_id: int) -> dict[str, Any]:
    return {
        "results": [result.to_json() for result in inspection.results],
        "parent_refs": list(inspection.parent_refs),
        "dependencies": [dependency.to_json() for dependency in inspection.dependencies],
        "issues": [issue.to_json() for issue in inspection.issues],
        "rulesets": describe_rulesets(definition, inspection, flow_id),
    }


def _find_height(flow: Flow, node: Node) -> float:
    place: Any = flow.raw.get("_ui")
    for key in ("nodes", node.uuid, "position", "top"):
        place = place.get(key) if isinstance(place, Mapping) else None
    return float(place) if isinstance(place, (int, float)) else 0.0


def _find_kind(node: Node) -> str:
    if node.router is not None and node.router.wait is not None:
        hint = node.router.wait.hint or {}
        words = {"audio": "wait_recording", "digits": "wait_digit" if hint.get("count") == 1 else "wait_digits"}
        return words.get(str(hint.get("type")), "wait_message")
    for action in node.actions:
        if action.type in KINDS_BY_ACTION:
            return KINDS_BY_ACTION[action.type]
    if node.router is not None and node.router.type == "random":
        return "random"
    operand = node.router.operand if node.router is not None else ""
    return next((kind for start, kind in KINDS_BY_OPERAND if operand.startswith(start)), "expression")


def _find_response(node: Node) -> str:
    if node.router is None or not node.router.cases:
        spoken = {"wait_recording": RECORDING, "wait_digits": KEYPAD}
        return spoken.get(_find_kind(node), OPEN)
    spoken = {"wait_digit": MENU, "wait_digits": KEYPAD}
    return spoken.get(_find_kind(node), CHOICE)
