"""Short descriptions of the parts of a flow, for drawings."""

from __future__ import annotations

from flows.definition import Node, Router
from flows.definition.action_types import draw_action


def summarize_node(node: Node) -> list[str]:
    """A line for each action, for the wait and for the router of a node."""
    lines = [draw_action(action) for action in node.actions]
    return [*lines, *_summarize_router(node.router)] if node.router else lines


def label_exits(node: Node) -> list[str]:
    """For each exit of a node, the categories that lead to it; an empty string without a router."""
    categories = node.router.categories if node.router else ()
    return [", ".join(item.name for item in categories if item.exit_uuid == each.uuid) for each in node.exits]


def _summarize_router(router: Router) -> list[str]:
    lines: list[str] = []
    if router.wait is not None and router.wait.type == "dial":
        lines.append(f"Dial {router.wait.phone}")
    elif router.wait is not None:
        timeout = router.wait.timeout
        lines.append(f"Wait for an answer, {timeout.seconds} s" if timeout else "Wait for an answer")
    name = f" → {router.result_name}" if router.result_name else ""
    lines.append(f"Split by chance{name}" if router.type == "random" else f"Split on {router.operand}{name}")
    return lines
