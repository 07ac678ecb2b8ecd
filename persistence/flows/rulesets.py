"""The steps of a flow that save results, as generation 1 shows them (contract reference, v1 flows)."""

from collections.abc import Mapping
from typing import Any

from flows.definition import Flow, Inspection, Node

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


def describe_rulesets(flow: Flow, inspection: Inspection, flow_id: int) -> list[dict[str, Any]]:
    """The nodes that save results, from top to bottom; each has a number of its own as long as its place stays."""
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
