"""Changes the references of an imported definition (flow format, export files). Fields and globals are identified by
key and users by e-mail address, which are the same on all servers, so they are not changed here; nor are contacts, who
are not imported with flows.
"""

from collections.abc import Callable, Mapping
from typing import Any

from flows.asset_kinds import is_relinked
from flows.definition.action_types import fields_of
from flows.definition.raw_parts import list_actions, list_objects, list_routers, read_text
from flows.definition.raw_translations import list_translations
from flows.expressions.scanner import CONTEXT_ROOTS, has_expressions

Resolve = Callable[[str, str, str], tuple[str, str] | None]
"""From the kind of an asset, and the UUID and name in the reference (each may be empty), to its UUID and name here;
None if it does not exist here."""
HAS_GROUP = "has_group"


def relink(definition: dict[str, Any], resolve: Resolve) -> None:
    """Replaces the references of a definition of version 13 or newer, in place, by the results of `resolve`. A group or
    label that is referred to by a fixed name gets a UUID as well.
    """
    cases: set[str] = set()
    for action in list_actions(definition):
        _relink_action(action, resolve)
    for router in list_routers(definition):
        for case in list_objects(router.get("cases")):
            if case.get("type") == HAS_GROUP:
                case["arguments"] = _relink_arguments(case.get("arguments"), resolve)
                cases.add(read_text(case, "uuid"))
    for _, items in list_translations(definition):
        for uuid in cases & items.keys():
            if isinstance(items[uuid], dict):
                items[uuid]["arguments"] = _relink_arguments(items[uuid].get("arguments"), resolve)


def _relink_action(action: dict[str, Any], resolve: Resolve) -> None:
    for name, each in fields_of(action.get("type")).items():
        kind, value = each.refers_to, action.get(name)
        if not is_relinked(kind):
            continue
        if isinstance(value, Mapping):
            action[name] = _relink_reference(kind, value, resolve)
        elif isinstance(value, list):
            action[name] = [
                _relink_reference(kind, item, resolve) if isinstance(item, Mapping) else item for item in value
            ]


def _relink_reference(kind: str, given: Mapping[str, Any], resolve: Resolve) -> dict[str, Any]:
    uuid, name, fixed = read_text(given, "uuid"), read_text(given, "name"), read_text(given, "name_match")
    if not uuid and fixed and not has_expressions(fixed, CONTEXT_ROOTS):
        name = fixed
    known = resolve(kind, uuid, name) if uuid or name else None
    if known is None:
        return dict(given)
    kept = {key: value for key, value in given.items() if key not in ("uuid", "name", "name_match")}
    return {"uuid": known[0], "name": known[1], **kept}


def _relink_arguments(arguments: object, resolve: Resolve) -> Any:
    """The arguments of a test for a group: its UUID and perhaps its name."""
    if not isinstance(arguments, list) or not arguments or not all(isinstance(item, str) for item in arguments):
        return arguments
    known = resolve("group", arguments[0], arguments[1] if len(arguments) > 1 else "")
    return arguments if known is None else [*known, *arguments[2:]]
