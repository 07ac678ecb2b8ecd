"""What flows can consist of, for the forms of the flow editor: `python -m tools.console.flow_parts` writes
`console/flows/editor/forms/parts.json`. All of it is what the engine declares, so that a new action, test or function
is there without another list.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from flows.definition.action_types import FLOW_TYPES, PALETTE, ActionType, action_types
from flows.definition.fields import NAME_LENGTH, Field, text
from flows.definition.reading import CALL_SECONDS, DIAL_SECONDS, HINTS, PAUSES, ROUTERS, WAITS, read_flow
from flows.engine import Assets
from flows.engine.context import RUN_ROOTS
from flows.environment import SYSTEM_CLOCK
from flows.expressions.functions.registry import FUNCTIONS, IMPLEMENTATIONS
from flows.simulation import CHANNEL, SaidAnswers, Simulation, make_contact

FILE = Path(__file__).parents[2] / "console" / "flows" / "editor" / "forms" / "parts.json"
OTHER_NAMES = frozenset({"has_value", "legacy_add", "prompt"})
"""Functions that have a better name, or are only in what migrations and the host write."""
KINDS_OF_ARGUMENTS = {Decimal: "number", int: "number", date: "date", datetime: "date", time: "time"}
UNUSED = "_"
FOR_TRYING = UUID("9a9c8bd4-3f46-4a5f-a0b4-6a9d1a6a4d0e")


def list_parts() -> dict[str, Any]:
    """All parts, as JSON has them."""
    return {
        "palette": list(PALETTE),
        "flow_types": list(FLOW_TYPES),
        "actions": {name: describe_action(kind) for name, kind in action_types().items()},
        "routers": {name: list(properties) for name, properties in ROUTERS.items()},
        "waits": {name: list(properties) for name, properties in WAITS.items()},
        "pauses": {name: list(properties) for name, properties in PAUSES.items()},
        "hints": sorted(HINTS),
        "dial": {"dial_limit_seconds": DIAL_SECONDS, "call_limit_seconds": CALL_SECONDS},
        "tests": {name: describe_test(IMPLEMENTATIONS[name]) for name in sorted(FUNCTIONS) if is_test(name)},
        "functions": {name: describe_function(name) for name in sorted(FUNCTIONS) if name not in OTHER_NAMES},
        "context": list_context(),
    }


def is_test(name: str) -> bool:
    """Whether cases of routers may use a function; `has_value` is another name of `has_text`."""
    return name.startswith("has_") and name not in OTHER_NAMES


def describe_action(kind: ActionType) -> dict[str, Any]:
    """Where a type of actions is offered, the properties in the order in which a form asks for them, and what they
    leave behind."""
    fields = {name: describe_field(each) for name, each in kind.fields.items()}
    if kind.result_field not in fields and kind.categories:
        fields[kind.result_field] = {**describe_field(text(NAME_LENGTH)), "is_more": True}
    found = {"palette": kind.palette, "allowed_in": [each for each in FLOW_TYPES if each in kind.allowed_in]}
    left = {"categories": list(kind.categories), "sets_local": kind.sets_local}
    named = {"result_field": kind.result_field if kind.result_field in fields else ""}
    return {**found, "fields": fields, **{name: each for name, each in {**left, **named}.items() if each}}


def describe_field(field: Field) -> dict[str, Any]:
    """A property, without what does not apply to it."""
    flags = {"is_list": field.is_list, "is_template": field.is_template, "is_translated": field.is_translated}
    flags |= {"is_listed": field.is_listed, "is_required": field.is_required, "is_more": field.is_more}
    limits = {"longest": field.longest, "most": field.most, "choices": list(field.choices)}
    kind = {"kind": field.kind, "refers_to": field.refers_to, "match": list(field.match)}
    return {name: each for name, each in {**kind, **flags, **limits}.items() if each}


def describe_test(implementation: Callable[..., Any]) -> list[dict[str, Any]]:
    """The arguments of a test beside the operand. Those of a test that looks for a group together name it."""
    operand, *others = _parameters(implementation)
    if operand.name == "groups":
        return [{"name": "group", "kind": "group"}]
    return [_describe_argument(each) for each in others]


def _describe_argument(given: inspect.Parameter) -> dict[str, Any]:
    described: dict[str, Any] = {"name": given.name, "kind": KINDS_OF_ARGUMENTS.get(given.annotation, "text")}
    if given.default is not given.empty:
        described["is_optional"] = True
    if given.kind is given.VAR_POSITIONAL:
        described["is_repeated"] = True
    return described


def describe_function(name: str) -> str:
    """How a function is called; what it does is said by the texts of the forms."""
    shown = [_show_parameter(each) for each in _parameters(IMPLEMENTATIONS[name])]
    return f"{name}({', '.join(shown)})"


def _show_parameter(given: inspect.Parameter) -> str:
    if given.kind is given.VAR_POSITIONAL:
        return f"{given.name}…"
    return given.name if given.default is given.empty else f"[{given.name}]"


def _parameters(implementation: Callable[..., Any]) -> list[inspect.Parameter]:
    """Those that people give: the first one is the evaluation."""
    _, *given = inspect.signature(implementation).parameters.values()
    return [each for each in given if not each.name.startswith(UNUSED)]


def list_context() -> dict[str, list[str]]:
    """The names that expressions begin with, each with the properties that its value has in a run: as the engine says
    when it is asked in the midst of one."""
    asked = sorted(RUN_ROOTS - {"fields", "globals", "locals", "parent", "results", "urns"})
    child = _flow("child", [_node("in child", [_asks("parent"), _asks("results")], None)])
    webhook = {"type": "call_webhook", "uuid": _uuid("call"), "method": "GET", "url": "https://example.org/"}
    saves = {"type": "set_run_result", "uuid": _uuid("save"), "name": "Answer", "value": "1", "category": "One"}
    enters = {"type": "enter_flow", "uuid": _uuid("enter"), "flow": {"uuid": child["uuid"], "name": "child"}}
    waits = _node("wait", [], "act")
    exit_uuid = waits["exits"][0]["uuid"]
    category = {"uuid": _uuid("all"), "name": "All", "exit_uuid": exit_uuid}
    router = {"type": "switch", "operand": "@input.text", "cases": [], "default_category_uuid": category["uuid"]}
    waits["router"] = {**router, "wait": {"type": "msg"}, "categories": [category]}
    acts = _node("act", [webhook, saves, enters], "tell")
    tells = _node("tell", [*map(_asks, asked), _asks("results.answer")], None)
    said = _play([_flow("parent", [waits, acts, tells]), child])
    known = {name: said.get(name, []) for name in sorted(RUN_ROOTS)}
    return {**known, "results": said["results.answer"]}


def _play(definitions: list[dict[str, Any]]) -> dict[str, list[str]]:
    assets = Assets.from_json({"flows": definitions, "channels": [CHANNEL]})
    flow = read_flow(definitions[0])
    topic = {"uuid": _uuid("topic"), "name": "General"}
    contact = make_contact({"tickets": [{"uuid": _uuid("ticket"), "topic": topic}]}, flow, assets, SYSTEM_CLOCK)
    services = SaidAnswers().as_services()
    play, _ = Simulation.begin(assets, flow, contact, {}, SYSTEM_CLOCK, services=services)
    told = [each["msg"]["text"].partition("=") for each in play.answer("msg", "Hello") if each["type"] == "msg_created"]
    return {name: json.loads(names) for name, _, names in told if names}


def _flow(name: str, nodes: list[dict[str, Any]]) -> dict[str, Any]:
    about = {"name": name, "spec_version": "14.4.2", "language": "eng", "type": "messaging"}
    return {"uuid": _uuid(name), **about, "nodes": nodes}


def _node(name: str, actions: list[dict[str, Any]], to: str | None) -> dict[str, Any]:
    leads = {"uuid": _uuid(f"{name} exit"), "destination_uuid": to and _uuid(to)}
    return {"uuid": _uuid(name), "actions": actions, "exits": [leads]}


def _asks(name: str) -> dict[str, Any]:
    return {"type": "send_msg", "uuid": _uuid(f"ask {name}"), "text": f"{name}=@(json(keys({name})))"}


def _uuid(name: str) -> str:
    return str(uuid5(FOR_TRYING, name))


def _dump(part: object) -> str:
    return json.dumps(part, ensure_ascii=False)


def write_parts(parts: Mapping[str, Any]) -> str:
    """The file: an action, a test or a function in a line, so that changes are read line by line."""
    lines = []
    for name, part in parts.items():
        if isinstance(part, dict) and len(part) > len(HINTS):
            inner = ",\n".join(f"    {_dump(key)}: {_dump(each)}" for key, each in part.items())
            lines.append(f"  {_dump(name)}: {{\n{inner}\n  }}")
        else:
            lines.append(f"  {_dump(name)}: {_dump(part)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(write_parts(list_parts()), encoding="utf-8")
