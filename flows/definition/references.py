"""What a flow needs of its workspace: the assets that its actions, routers and templates refer to.

(Flow format, dependencies and issues.)
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

from flows import asset_kinds
from flows.definition.action_types import fields_of
from flows.definition.flow_texts import find_translation, list_languages, list_templates_of_node, read_objects
from flows.definition.model import Action, Case, Flow, Node, Place
from flows.definition.raw_parts import read_text
from flows.definition.versions import read_version
from flows.expressions.paths import context_paths
from flows.expressions.scanner import AT_SIGN, CONTEXT_ROOTS, has_expressions

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
