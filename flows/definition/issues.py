"""Issues of a valid flow: it runs, but not as its author meant (flow format, issues).

Inspection of a flow: what it produces, what it needs, and what is wrong with it (flow format, inspection).

All problems of a definition, each with its place, for people who write flows. Besides the issues of an inspection these
are errors for which the definition is refused, expressions that cannot be parsed, and nodes that cannot be reached.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flows.definition.errors import DefinitionError
from flows.definition.flow_texts import find_translation, list_languages, list_templates, read_texts
from flows.definition.model import Case, Flow, Node, Place
from flows.definition.reading import load
from flows.definition.references import (
    FoundReference,
    KnownAssets,
    Reference,
    ResultSpec,
    find_references,
    list_locals,
    list_results,
)
from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.patterns import is_valid_pattern
from flows.expressions.scanner import AT_SIGN, CONTEXT_ROOTS, TokenKind, has_expressions, scan_template

INVALID_REGEX, LEGACY_VARS, MISSING_DEPENDENCY = "invalid_regex", "legacy_vars", "missing_dependency"

INVALID_DEFINITION, INVALID_EXPRESSION, UNREACHABLE_NODE = (
    "invalid_definition",
    "invalid_expression",
    "unreachable_node",
)


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue. `regex`, `vars` and `dependency` belong to one type of issue each."""

    type: str
    place: Place
    description: str
    dependency: Reference | None = None
    regex: str = ""
    vars: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The form of a flow's record; which property of the action it is in is not part of it."""
        written: dict[str, Any] = {"type": self.type, "node_uuid": self.place.node_uuid}
        if self.place.action_uuid:
            written["action_uuid"] = self.place.action_uuid
        if self.place.language:
            written["language"] = self.place.language
        written["description"] = self.description
        if self.dependency:
            written["dependency"] = self.dependency.to_json()
        if self.type == INVALID_REGEX:
            written["regex"] = self.regex
        if self.type == LEGACY_VARS:
            written["vars"] = list(self.vars)
        return written


def list_issues(flow: Flow, references: Iterable[FoundReference], assets: KnownAssets | None) -> list[Issue]:
    """The issues of a flow in the order of its nodes, by type within a node; missing assets only if assets are
    given."""
    issues = [issue for node in flow.nodes for issue in (*_list_patterns(flow, node), *_list_legacy_vars(node))]
    if assets is not None:
        issues += _list_missing(references, assets)
    order = {node.uuid: position for position, node in enumerate(flow.nodes)}
    return sorted(issues, key=lambda issue: (order[issue.place.node_uuid], issue.type))


def is_missing(reference: Reference, assets: KnownAssets) -> bool:
    """Whether a workspace lacks the asset of a reference. Contacts are assumed to exist."""
    return reference.kind != "contact" and not assets.knows(reference.kind, reference.identity)


@dataclass(frozen=True, slots=True)
class Dependency:
    """An asset that a flow needs. `missing` is only known when the flow is inspected with assets."""

    reference: Reference
    missing: bool = False

    def to_json(self) -> dict[str, Any]:
        """The form of a flow's record, with `missing` only if it is."""
        written = self.reference.to_json()
        return {**written, "missing": True} if self.missing else written


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a flow's record contains about its definition. Lists are in order of first appearance unless noted
    otherwise.

    `parent_refs` are the keys of results of the parent flow, sorted; `waiting_exits` the UUIDs of the exits of all
    nodes that wait.
    """

    node_count: int
    language_count: int
    dependencies: tuple[Dependency, ...]
    locals: tuple[str, ...]
    results: tuple[ResultSpec, ...]
    parent_refs: tuple[str, ...]
    waiting_exits: tuple[str, ...]
    issues: tuple[Issue, ...]

    def to_json(self) -> dict[str, Any]:
        """The form in which services exchange it."""
        return {
            "counts": {"languages": self.language_count, "nodes": self.node_count},
            "dependencies": [dependency.to_json() for dependency in self.dependencies],
            "locals": list(self.locals),
            "results": [result.to_json() for result in self.results],
            "parent_refs": list(self.parent_refs),
            "waiting_exits": list(self.waiting_exits),
            "issues": [issue.to_json() for issue in self.issues],
        }


def inspect(flow: Flow, assets: KnownAssets | None = None) -> Inspection:
    """Inspects a flow in all its languages; with the workspace's assets also whether they contain what it needs. A
    loaded flow never raises an error here. `to_json()` of the result is the form that services exchange.

    >>> from flows.definition import load
    >>> flow = load({"uuid": "50c3706e-fedb-42c0-8eab-dda3335714b7", "name": "Ask", "spec_version": "14.4.2",
    ...              "language": "eng", "type": "messaging", "nodes": []})
    >>> inspect(flow).to_json()["counts"]
    {'languages': 0, 'nodes': 0}
    """
    references = find_references(flow)
    return Inspection(
        node_count=len(flow.nodes),
        language_count=len(flow.localization),
        dependencies=tuple(_list_dependencies(references.found, assets)),
        locals=tuple(list_locals(flow)),
        results=tuple(list_results(flow)),
        parent_refs=references.parent_results,
        waiting_exits=tuple(
            each.uuid for node in flow.nodes if node.router and node.router.wait for each in node.exits
        ),
        issues=tuple(list_issues(flow, references.found, assets)),
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem. With `is_fatal` the flow cannot be run at all; the types are those of issues and three more."""

    type: str
    message: str
    flow_uuid: str
    place: Place
    is_fatal: bool = False

    def to_json(self) -> dict[str, Any]:
        """All data, with empty strings for parts of the place that do not apply."""
        return {
            "type": self.type,
            "message": self.message,
            "fatal": self.is_fatal,
            "flow_uuid": self.flow_uuid,
            "node_uuid": self.place.node_uuid,
            "action_uuid": self.place.action_uuid,
            "field": self.place.field,
            "language": self.place.language,
        }


def list_findings(definition: Mapping[str, Any], assets: KnownAssets | None = None) -> list[Finding]:
    """The problems of a definition of any version, in the order of its nodes; if it is refused, only that error."""
    try:
        flow = load(definition)
    except DefinitionError as error:
        place = Place(error.node, error.action, error.field)
        return [Finding(INVALID_DEFINITION, error.message, error.flow, place, is_fatal=True)]
    return list_findings_of(flow, inspect(flow, assets))


def list_findings_of(flow: Flow, inspection: Inspection) -> list[Finding]:
    """The problems of a flow that could be read, in the order of its nodes."""
    findings = [
        *(Finding(issue.type, _describe(issue), flow.uuid, issue.place) for issue in inspection.issues),
        *_list_invalid_expressions(flow),
        *_list_unreachable_nodes(flow),
    ]
    order = {node.uuid: position for position, node in enumerate(flow.nodes)}
    return sorted(findings, key=lambda finding: order[finding.place.node_uuid])


def _list_patterns(flow: Flow, node: Node) -> Iterator[Issue]:
    for case in node.router.cases if node.router else ():
        if case.type != "has_pattern" or not case.arguments:
            continue
        for pattern, place in _find_patterns(flow, node, case):
            # A pattern with an expression is only known when the flow runs.
            if not has_expressions(pattern, CONTEXT_ROOTS) and not is_valid_pattern(pattern):
                yield Issue(INVALID_REGEX, place, f"invalid regex: {pattern}", regex=pattern)


def _find_patterns(flow: Flow, node: Node, case: Case) -> Iterator[tuple[str, Place]]:
    place = Place(node.uuid, field="router.cases.arguments")
    yield case.arguments[0], place
    for language in list_languages(flow):
        for pattern in find_translation(flow, language, case.uuid, "arguments"):
            yield pattern, replace(place, language=language)


def _list_legacy_vars(node: Node) -> Iterator[Issue]:
    for action in node.actions:
        found = tuple(read_texts(action.fields.get("legacy_vars"))) if action.type == "start_session" else ()
        if found:
            place = Place(node.uuid, action.uuid, "legacy_vars")
            yield Issue(LEGACY_VARS, place, "use of expressions instead of contact query", vars=found)


def _list_missing(references: Iterable[FoundReference], assets: KnownAssets) -> Iterator[Issue]:
    for found in references:
        reference = found.reference
        if is_missing(reference, assets):
            description = f"missing {reference.kind} dependency '{reference.identity}'"
            yield Issue(MISSING_DEPENDENCY, found.place, description, dependency=reference)


def _list_dependencies(references: Iterable[FoundReference], assets: KnownAssets | None) -> list[Dependency]:
    first: dict[tuple[str, str], Reference] = {}
    for found in references:
        first.setdefault((found.reference.kind, found.reference.identity), found.reference)
    return [Dependency(reference, assets is not None and is_missing(reference, assets)) for reference in first.values()]


def _describe(issue: Issue) -> str:
    name = issue.dependency.name if issue.dependency else ""
    return f"{issue.description} ({name})" if name else issue.description


def _list_invalid_expressions(flow: Flow) -> Iterator[Finding]:
    for found in list_templates(flow):
        for token in scan_template(found.text, CONTEXT_ROOTS) if AT_SIGN in found.text else ():
            if token.kind is TokenKind.BODY:
                continue
            try:
                parse_expression(token.text)
            except ExpressionSyntaxError as error:
                yield Finding(INVALID_EXPRESSION, f"{token.source}: {error}", flow.uuid, found.place)


def _list_unreachable_nodes(flow: Flow) -> Iterator[Finding]:
    reached: set[str] = set()
    waiting = [flow.nodes[0].uuid] if flow.nodes else []
    nodes = {node.uuid: node for node in flow.nodes}
    while waiting:
        uuid = waiting.pop()
        if uuid in reached:
            continue
        reached.add(uuid)
        waiting += [each.destination_uuid for each in nodes[uuid].exits if each.destination_uuid]
    for node in flow.nodes:
        if node.uuid not in reached:
            yield Finding(UNREACHABLE_NODE, "no way leads to this node", flow.uuid, Place(node.uuid))
