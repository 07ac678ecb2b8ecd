"""What a flow produces: named results with their categories, and local variables (flow format, results)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from flows.definition.action_types import action_types
from flows.definition.model import Action, Flow, Node
from flows.definition.raw_parts import read_text
from flows.words import snakify


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """A result that a flow can save, with all categories it can have and all nodes that save it."""

    key: str
    name: str
    categories: tuple[str, ...]
    node_uuids: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The form of a flow's record."""
        return {
            "key": self.key,
            "name": self.name,
            "categories": list(self.categories),
            "node_uuids": list(self.node_uuids),
        }


def list_results(flow: Flow) -> list[ResultSpec]:
    """The results of a flow in order of first appearance, one for each key, with the first name and spelling."""
    specs: dict[str, ResultSpec] = {}
    for node in flow.nodes:
        for name, categories in _list_saved(node):
            key = snakify(name)
            before = specs.get(key, ResultSpec(key, name, (), ()))
            seen = {category.lower() for category in before.categories}
            # Categories of one place are kept as they are, even if they differ by case only.
            added = tuple(category for category in categories if category.lower() not in seen)
            nodes = before.node_uuids if node.uuid in before.node_uuids else (*before.node_uuids, node.uuid)
            specs[key] = ResultSpec(key, before.name, before.categories + added, nodes)
    return list(specs.values())


def list_locals(flow: Flow) -> list[str]:
    """The names of the local variables that actions set, sorted."""
    names = {_find_local(action) for node in flow.nodes for action in node.actions}
    return sorted(name for name in names if name)


def _list_saved(node: Node) -> Iterator[tuple[str, tuple[str, ...]]]:
    for action in node.actions:
        saved = _find_result(action)
        if saved:
            yield saved
    if node.router and node.router.result_name:
        yield node.router.result_name, tuple(category.name for category in node.router.categories)


def _find_result(action: Action) -> tuple[str, tuple[str, ...]] | None:
    kind = action_types()[action.type]
    name, category = read_text(action.fields, kind.result_field), read_text(action.fields, kind.category_field)
    if not name or not (kind.categories or kind.category_field):
        return None
    return name, kind.categories or ((category,) if category else ())


def _find_local(action: Action) -> str:
    kind = action_types()[action.type]
    named = [read_text(action.fields, name) for name, each in kind.fields.items() if each.is_local]
    return named[0] if named else kind.sets_local
