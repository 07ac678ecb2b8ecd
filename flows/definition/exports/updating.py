"""Converts old export files to today's form, before their parts are read (flow format, export files). Old files refer
to flows by numbers and to groups by names. Numbers become UUIDs here, so that a flow still starts the other flows of
its file; a flow that is not in the file keeps its name and gets a UUID that counts as missing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from flows.definition.legacy.definitions import is_legacy
from flows.definition.raw_parts import JsonObject, NewUuid, copy_parts, derive_uuids, is_uuid, list_objects, read_text

# From the file down to the references within actions and rules.
FILE_DEPTH = 14
UNNAMED_FLOW = "Flow {}"
_GROUP_ACTIONS = ("add_group", "del_group")


def update_file(given: Mapping[str, Any]) -> JsonObject:
    """A copy of a file's content in which flows have UUIDs and names, and everything refers to flows by UUID."""
    content: JsonObject = copy_parts(given, FILE_DEPTH)
    flows = list_objects(content.get("flows"))
    seed = [read_text(content, "site"), *(text for flow in flows for text in _list_names(flow))]
    new_uuid = derive_uuids({"name": "\n".join(seed)})
    known = _FlowUuids(new_uuid)
    for position, flow in enumerate(flows, 1):
        if is_legacy(flow):
            _name_flow(flow, position, known)
    for flow in flows:
        if is_legacy(flow):
            _update_flow(flow, known)
    for campaign in list_objects(content.get("campaigns")):
        for part in (campaign, *list_objects(campaign.get("events"))):
            part["uuid"] = part["uuid"] if is_uuid(part.get("uuid")) else new_uuid()
    for trigger_or_event in (*list_objects(content.get("triggers")), *_list_events(content)):
        _refer_by_uuid(trigger_or_event, known)
    return content


class _FlowUuids:
    def __init__(self, new_uuid: NewUuid) -> None:
        self.new_uuid = new_uuid
        self.found: dict[object, str] = {}

    def add(self, uuid: str, *keys: object) -> None:
        self.found.update({key: uuid for key in keys if key not in (None, "")})

    def find(self, reference: Mapping[str, Any]) -> str:
        for key in (reference.get("id"), read_text(reference, "name")):
            if isinstance(key, (int, str)) and key in self.found:
                return self.found[key]
        uuid = self.new_uuid()
        key = reference.get("id")
        self.add(uuid, key if isinstance(key, (int, str)) else None, read_text(reference, "name"))
        return uuid


def _list_names(flow: JsonObject) -> list[str]:
    return [read_text(part, key) for part in (flow, _read_metadata(flow)) for key in ("uuid", "name")]


def _read_metadata(flow: JsonObject) -> JsonObject:
    inner = flow.get("definition")
    metadata = (inner if isinstance(inner, dict) else flow).get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _name_flow(flow: JsonObject, position: int, known: _FlowUuids) -> None:
    metadata = _read_metadata(flow)
    uuid = next((uuid for uuid in (flow.get("uuid"), metadata.get("uuid")) if is_uuid(uuid)), None) or known.new_uuid()
    name = read_text(flow, "name") or read_text(metadata, "name") or UNNAMED_FLOW.format(position)
    inner = flow.get("definition")
    for part in (flow, inner):
        if isinstance(part, dict):
            part |= {"uuid": uuid, "name": name}
    key = flow.get("id")
    known.add(uuid, key if isinstance(key, int) else None, name)


def _update_flow(flow: JsonObject, known: _FlowUuids) -> None:
    inner = flow.get("definition")
    parts = inner if isinstance(inner, dict) else flow
    for action_set in list_objects(parts.get("action_sets")):
        actions = list_objects(action_set.get("actions"))
        action_set["actions"] = [action for action in actions if not _does_nothing(action)]
        for action in actions:
            if action.get("type") in ("flow", "trigger-flow"):
                # In the oldest files the action itself is the reference.
                action.setdefault("flow", {name: action[name] for name in ("id", "name") if name in action})
                _refer_by_uuid(action, known)
            if action.get("type") in _GROUP_ACTIONS and "groups" not in action:
                action["groups"] = [action.get("group")]
    for rule_set in list_objects(parts.get("rule_sets")):
        config = rule_set.get("config")
        if isinstance(config, dict):
            _refer_by_uuid(config, known)


def _does_nothing(action: JsonObject) -> bool:
    kind = action.get("type")
    if kind == "channel":
        return not is_uuid(action.get("channel"))
    # An empty list of groups would mean all groups.
    group = action.get("group")
    return kind in _GROUP_ACTIONS and "groups" not in action and not (isinstance(group, dict) and group.get("name"))


def _refer_by_uuid(part: JsonObject, known: _FlowUuids) -> None:
    flow = part.get("flow")
    if isinstance(flow, dict) and not is_uuid(flow.get("uuid")):
        part["flow"] = {"uuid": known.find(flow), "name": read_text(flow, "name")}


def _list_events(content: JsonObject) -> Iterator[JsonObject]:
    for campaign in list_objects(content.get("campaigns")):
        yield from list_objects(campaign.get("events"))
