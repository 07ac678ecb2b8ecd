"""What a flow needs of its workspace: the assets that its actions, routers and templates refer to.

(Flow format, dependencies and issues.)

What a flow produces: named results with their categories, and local variables (flow format, results).

Changes the references of an imported definition (flow format, export files). Fields and globals are identified by key
and users by e-mail address, which are the same on all servers, so they are not changed here; nor are contacts, who are
not imported with flows.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from flows import asset_kinds
from flows.asset_kinds import is_relinked
from flows.definition.action_types import action_types, fields_of
from flows.definition.flow_texts import find_translation, list_languages, list_templates_of_node, read_objects
from flows.definition.migrating import read_version
from flows.definition.model import Action, Case, Flow, Node, Place
from flows.definition.raw_parts import list_actions, list_objects, list_routers, list_translations, read_text
from flows.expressions.paths import context_paths
from flows.expressions.scanner import AT_SIGN, CONTEXT_ROOTS, has_expressions
from flows.words import snakify

# As long as `parent.contact.fields.age`; longer paths are not references.
LONGEST_PATH = 4
CACHED_TEMPLATES = 256
REFERENCES = "references"
_GLOBALS, _PARENT_RESULTS = ("globals",), ("parent", "results")
_FIELD_PATHS = frozenset(
    {
        *(("fields",), ("contact", "fields")),
        *((root, *path) for root in ("parent", "child") for path in (("fields",), ("contact", "fields"))),
    }
)

_FIRST_WITHOUT_EARLY_KINDS = 14

Resolve = Callable[[str, str, str], tuple[str, str] | None]
"""From the kind of an asset, and the UUID and name in the reference (each may be empty), to its UUID and name here;
None if it does not exist here."""
HAS_GROUP = "has_group"


class KnownAssets(Protocol):
    """Tells which assets a workspace has."""

    def knows(self, kind: str, identity: str) -> bool:
        """Whether there is an asset of a kind, such as `group` or `flow` with a UUID, or `field` or `global` with a
        key."""
        ...


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to an asset. Fields and globals are identified by key, users before 14 by e-mail address, all
    others by UUID."""

    kind: str
    identity: str
    name: str = ""
    identity_name: str = "uuid"

    def to_json(self) -> dict[str, Any]:
        """The reference as definitions write it, with its type."""
        return {self.identity_name: self.identity, "name": self.name, "type": self.kind}


@dataclass(frozen=True, slots=True)
class FoundReference:
    """A reference and where it is."""

    reference: Reference
    place: Place


@dataclass(frozen=True, slots=True)
class FlowReferences:
    """Every reference of a flow in the order of its nodes, and the keys of its parent's results that it reads,
    sorted."""

    found: tuple[FoundReference, ...]
    parent_results: tuple[str, ...]


def find_references(flow: Flow) -> FlowReferences:
    """Goes through a flow node by node: its actions, its router, then the templates of both. It is kept with the flow,
    which an import looks at several times."""
    if REFERENCES not in flow.ready:
        flow.ready[REFERENCES] = _find_references(flow)
    kept: FlowReferences = flow.ready[REFERENCES]
    return kept


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


def _find_references(flow: Flow) -> FlowReferences:
    found: list[FoundReference] = []
    parent_results: set[str] = set()
    for node in flow.nodes:
        for action in node.actions:
            found += _list_references_of_action(flow, node, action)
        for case in node.router.cases if node.router else ():
            found += _list_references_of_case(flow, node, case)
        for template in list_templates_of_node(flow, node):
            if AT_SIGN not in template.text:
                continue
            for path in _list_paths(template.text):
                reference = _read_path(path)
                if reference:
                    found.append(FoundReference(reference, template.place))
                elif path[:-1] == _PARENT_RESULTS:
                    parent_results.add(path[-1])
    return FlowReferences(tuple(found), tuple(sorted(parent_results)))


def _read_path(path: tuple[str, ...]) -> Reference | None:
    if path[:-1] == _GLOBALS:
        return Reference("global", path[-1], identity_name="key")
    return Reference("field", path[-1], identity_name="key") if path[:-1] in _FIELD_PATHS else None


@lru_cache(maxsize=CACHED_TEMPLATES)
def _list_paths(template: str) -> tuple[tuple[str, ...], ...]:
    return tuple(context_paths(template, CONTEXT_ROOTS, longest=LONGEST_PATH))


def _list_references_of_action(flow: Flow, node: Node, action: Action) -> Iterator[FoundReference]:
    is_early = read_version(flow.spec_version)[0] < _FIRST_WITHOUT_EARLY_KINDS
    for name, each in fields_of(action.type).items():
        if not each.refers_to or (not is_early and asset_kinds.is_early(each.refers_to)):
            continue
        for given in read_objects(action.fields.get(name)):
            reference = _read_reference(each.refers_to, given, is_early=is_early)
            if reference is not None:
                yield FoundReference(reference, Place(node.uuid, action.uuid, name))
    templating = action.fields.get("templating")
    template = templating.get("template") if isinstance(templating, Mapping) else None
    if isinstance(template, Mapping):
        reference = _read_reference("template", template, is_early=is_early)
        if reference is not None:
            yield FoundReference(reference, Place(node.uuid, action.uuid, "templating"))


def _read_reference(kind: str, given: Mapping[str, Any], *, is_early: bool) -> Reference | None:
    identity_name = asset_kinds.identity_of(kind)
    if kind == "user" and is_early and not read_text(given, "uuid"):
        if has_expressions(read_text(given, "email"), CONTEXT_ROOTS):
            return None
        identity_name = "email"
    identity = read_text(given, identity_name)
    return Reference(kind, identity, read_text(given, "name"), identity_name) if identity else None


def _list_references_of_case(flow: Flow, node: Node, case: Case) -> Iterator[FoundReference]:
    if case.type != "has_group":
        return
    place = Place(node.uuid, field="router.cases.arguments")
    translated = (
        (find_translation(flow, language, case.uuid, "arguments"), language) for language in list_languages(flow)
    )
    for arguments, language in ((list(case.arguments), ""), *translated):
        if arguments and arguments[0]:
            name = arguments[1] if len(arguments) == len(("uuid", "name")) else ""
            yield FoundReference(Reference("group", arguments[0], name), replace(place, language=language))


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
