"""How types of actions are declared and found (flow format, actions). A type is a file of `flows/actions` with its
name. The file declares its properties, the flow types that may use it, and how it runs. The files are imported when a
type is first looked up, so that nothing here needs the engine.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from flows.definition.fields import NAME_LENGTH, Field, Rule, check_part, text
from flows.definition.model import Action

FOLDER = "flows.actions"
FLOW_TYPES = ("messaging", "messaging_background", "messaging_offline", "voice")
EVERYWHERE = frozenset(FLOW_TYPES)
NOT_IN_BACKGROUND = EVERYWHERE - {"messaging_background"}
NOT_OFFLINE = EVERYWHERE - {"messaging_offline"}
VOICE_ONLY = frozenset({"voice"})
SUCCESS, SKIPPED, FAILURE = "Success", "Skipped", "Failure"
PALETTE = ("send", "contact", "keep", "flow", "call")
"""Sends something, changes the contact, keeps a value or a label, leads to other flows and people, calls a service."""


@dataclass(frozen=True, slots=True)
class ActionType:
    """The declaration of a type of actions. `run` performs an action during a visit of the engine. `allowed_in` are the
    types of flows that may use it, `fields` its properties in the order of their texts and references, `rule` is a rule
    for all of them together. `drawn` is its description in drawings, with the names of properties in braces, see
    `draw_action`. The property `result_field` names a result that it saves. The result's category is one of
    `categories`, or the value of the property `category_field`. `sets_local` is a local variable with a fixed name that
    it sets. With `calls_out` it calls a service of the host, which may take a while. `palette` is where an editor
    offers it, one of `PALETTE`.
    """

    name: str
    run: Callable[[Any, Action], None]
    fields: Mapping[str, Field]
    drawn: str
    allowed_in: frozenset[str]
    rule: Rule | None
    result_field: str
    category_field: str
    categories: tuple[str, ...]
    sets_local: str
    calls_out: bool
    palette: str


_DECLARED: dict[str, ActionType] = {}
_Run = Callable[[Any, Action], None]


def action_type(
    fields: Mapping[str, Field],
    *,
    drawn: str,
    palette: str,
    allowed_in: frozenset[str] = EVERYWHERE,
    rule: Rule | None = None,
    result_field: str = "result_name",
    category_field: str = "",
    categories: tuple[str, ...] = (),
    sets_local: str = "",
    calls_out: bool = False,
) -> Callable[[_Run], _Run]:
    """Declares the type of actions that the decorated function runs; the type has the function's name, see
    `ActionType`."""

    def declare(run: _Run) -> _Run:
        saved = (result_field, category_field, categories, sets_local)
        name = run.__name__
        _DECLARED[name] = ActionType(name, run, fields, drawn, allowed_in, rule, *saved, calls_out, palette)
        return run

    return declare


@cache
def action_types() -> Mapping[str, ActionType]:
    """Every type of actions by its name."""
    for found in iter_modules(import_module(FOLDER).__path__):
        import_module(f"{FOLDER}.{found.name}")
    return dict(sorted(_DECLARED.items()))


def fields_of(type_name: object) -> Mapping[str, Field]:
    """The properties of a type of actions; none for anything else."""
    found = action_types().get(type_name) if isinstance(type_name, str) else None
    return found.fields if found else {}


def check_action(kind: ActionType, fields: Mapping[str, Any], longest_name: int = NAME_LENGTH) -> None:
    """Raises CheckFailed, with the path of the property, if an action's own properties are invalid."""
    for name in (kind.result_field, kind.category_field):
        if name:
            check_part(_name_rule(longest_name), fields.get(name), name)
    for name, each in kind.fields.items():
        check_part(each.rule, fields.get(name), name)
    if kind.rule is not None:
        kind.rule(fields)


@cache
def _name_rule(longest: int) -> Rule:
    return text(longest).rule


class _Shown(str):
    """A property in drawings; the format specification is the text for an empty property."""

    __slots__ = ()

    def __format__(self, empty: str) -> str:
        return str(self) or empty


class _ShownFields(dict[str, _Shown]):
    def __missing__(self, name: str) -> _Shown:
        return _Shown()


def draw_action(action: Action) -> str:
    """An action in one line, which may be long: `{groups}` is the names in `groups`, `{groups:all}` `all` if none."""
    kind = action_types().get(action.type)
    if kind is None:
        return action.type.replace("_", " ")
    shown = _ShownFields({name: _Shown(_show(value)) for name, value in action.fields.items()})
    line = kind.drawn.format_map(shown).rstrip()
    return line[:1].upper() + line[1:]


def _show(value: object) -> str:
    if isinstance(value, Mapping):
        return str(value.get("name") or value.get("key") or value.get("name_match") or value.get("email_match") or "")
    if isinstance(value, list):
        return ", ".join(_show(item) for item in value)
    return "" if value is None else str(value)
