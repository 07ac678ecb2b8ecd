"""Says in a few words what the parts of a flow do, for drawings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flows.definition import Action, Node, Router

Fields = Mapping[str, Any]


def summarize_node(node: Node) -> list[str]:
    """A line for each action, for the wait and for the router of a node."""
    lines = [summarize_action(action) for action in node.actions]
    return [*lines, *_summarize_router(node.router)] if node.router else lines


def summarize_action(action: Action) -> str:
    """An action in one line, which may be long."""
    describe = _DESCRIPTIONS.get(action.type)
    if describe is None:
        return action.type.replace("_", " ")
    return describe(action.fields)


def label_exits(node: Node) -> list[str]:
    """For each exit of a node, which categories leave by it; empty text where there is no router."""
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


def _names(references: Any) -> str:
    if not isinstance(references, list):
        return ""
    texts = (item.get("name") or item.get("name_match") or item.get("email_match") or "" for item in references)
    return ", ".join(str(text) for text in texts)


def _name(reference: Any) -> str:
    return str(reference.get("name") or reference.get("key") or "") if isinstance(reference, Mapping) else ""


_DESCRIPTIONS: dict[str, Callable[[Fields], str]] = {
    "add_contact_groups": lambda fields: f"Add to {_names(fields.get('groups'))}",
    "add_contact_urn": lambda fields: f"Add address {fields.get('scheme')}:{fields.get('path')}",
    "add_input_labels": lambda fields: f"Label with {_names(fields.get('labels'))}",
    "call_classifier": lambda fields: f"Classify with {_name(fields.get('classifier'))}",
    "call_llm": lambda fields: f"Ask {_name(fields.get('llm'))}",
    "call_resthook": lambda fields: f"Tell subscribers of {fields.get('resthook')}",
    "call_webhook": lambda fields: f"{fields.get('method')} {fields.get('url')}",
    "enter_flow": lambda fields: f"Enter {_name(fields.get('flow'))}",
    "open_ticket": lambda fields: f"Open ticket {_name(fields.get('topic'))}".rstrip(),
    "play_audio": lambda fields: f"Play {fields.get('audio_url')}",
    "remove_contact_groups": lambda fields: f"Remove from {_names(fields.get('groups')) or 'all groups'}",
    "request_optin": lambda fields: f"Ask to opt in to {_name(fields.get('optin'))}",
    "say_msg": lambda fields: f"Say: {fields.get('text')}",
    "send_broadcast": lambda fields: f"Broadcast: {fields.get('text')}",
    "send_email": lambda fields: f"E-mail: {fields.get('subject')}",
    "send_msg": lambda fields: f"Send: {fields.get('text')}",
    "set_contact_channel": lambda fields: f"Set channel to {_name(fields.get('channel')) or 'none'}",
    "set_contact_field": lambda fields: f"Set {_name(fields.get('field'))} to {fields.get('value')}",
    "set_contact_language": lambda fields: f"Set language to {fields.get('language')}",
    "set_contact_name": lambda fields: f"Set name to {fields.get('name')}",
    "set_contact_status": lambda fields: f"Set status to {fields.get('status')}",
    "set_contact_timezone": lambda fields: f"Set timezone to {fields.get('timezone')}",
    "set_run_local": lambda fields: f"{str(fields.get('operation')).capitalize()} local {fields.get('local')}",
    "set_run_result": lambda fields: f"Save {fields.get('name')} = {fields.get('value')}",
    "start_session": lambda fields: f"Start others in {_name(fields.get('flow'))}",
    "transfer_airtime": lambda fields: "Transfer airtime",
}
