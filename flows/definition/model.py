"""The model of a flow definition of version 13 or 14 (flow format: definitions, nodes, routers, waits)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit of a node; without a destination the run ends there."""

    uuid: str
    destination_uuid: str | None


@dataclass(frozen=True, slots=True)
class Category:
    """A named outcome of a router, with its exit."""

    uuid: str
    name: str
    exit_uuid: str


@dataclass(frozen=True, slots=True)
class Case:
    """One test of a switch router; the arguments are templates."""

    uuid: str
    type: str
    arguments: tuple[str, ...]
    category_uuid: str
    constants: tuple[str, ...] | None = field(init=False, repr=False, compare=False)
    """The arguments as they are for everybody; None if there are expressions in them."""

    def __post_init__(self) -> None:
        has_expressions = any("@" in argument for argument in self.arguments)
        constants = None if has_expressions else tuple(argument.strip() for argument in self.arguments)
        object.__setattr__(self, "constants", constants)


@dataclass(frozen=True, slots=True)
class Timeout:
    """How long a wait lasts before the router chooses the timeout's category."""

    seconds: int
    category_uuid: str


@dataclass(frozen=True, slots=True)
class Pause:
    """What alone ends a wait, instead of a message: a `time`, or a `callback` from outside. `until`, a template, is a
    time of day or a moment; without it a time is as long as the wait's timeout.
    """

    ends_by: str
    until: str


@dataclass(frozen=True, slots=True)
class Wait:
    """A wait pauses the session; `phone` (a template) and the two limits belong to `dial` waits. `pause` is our own
    addition to the format: whoever does not know it waits for a message or the timeout.
    """

    type: str
    timeout: Timeout | None
    hint: Json | None
    phone: str
    dial_limit_seconds: int
    call_limit_seconds: int
    pause: Pause | None = None


@dataclass(frozen=True, slots=True)
class Router:
    """Chooses a category: `switch` by its cases, `random` by a draw (which has neither operand nor cases)."""

    type: str
    wait: Wait | None
    result_name: str
    categories: tuple[Category, ...]
    operand: str
    cases: tuple[Case, ...]
    default_category_uuid: str | None


@dataclass(frozen=True, slots=True)
class Action:
    """One action; `fields` is the whole action as written, type and uuid included."""

    type: str
    uuid: str
    fields: Json

    def text(self, name: str) -> str:
        """A text among the fields; one that is absent is empty."""
        found: str = self.fields.get(name) or ""
        return found


@dataclass(frozen=True, slots=True)
class Node:
    """Actions in order, then perhaps a router, then at least one exit."""

    uuid: str
    actions: tuple[Action, ...]
    router: Router | None
    exits: tuple[Exit, ...]


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow; `raw` is the definition with unknown keys and editor data unchanged."""

    uuid: str
    name: str
    spec_version: str
    language: str
    type: str
    revision: int
    expire_after_minutes: int
    localization: Json
    nodes: tuple[Node, ...]
    raw: Json
    _nodes: Mapping[str, Node] = field(init=False, repr=False, compare=False)
    _destinations: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    ready: dict[Any, Any] = field(init=False, repr=False, compare=False)
    """What the engine made of texts of this flow to run them faster, by whatever it finds that by."""

    def __post_init__(self) -> None:
        # Runs look up nodes at every step, and flows may have a thousand nodes.
        object.__setattr__(self, "_nodes", {node.uuid: node for node in reversed(self.nodes)})
        ways = {each.uuid: each.destination_uuid for node in reversed(self.nodes) for each in reversed(node.exits)}
        object.__setattr__(self, "_destinations", ways)
        object.__setattr__(self, "ready", {})

    def find_node(self, uuid: str) -> Node | None:
        """The node with this UUID."""
        return self._nodes.get(uuid)

    def destination_of(self, exit_uuid: str) -> Node | None:
        """The destination of an exit; None if the run ends there."""
        destination = self._destinations.get(exit_uuid)
        return None if destination is None else self._nodes.get(destination)


@dataclass(frozen=True, slots=True)
class Place:
    """The place of something in a flow; parts that do not apply are empty, and so is the flow's own language.

    `field` is the path of a property from the action or node on, like `groups` or `router.cases.arguments`.
    """

    node_uuid: str
    action_uuid: str = ""
    field: str = ""
    language: str = ""
