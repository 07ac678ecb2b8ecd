"""Issues of a valid flow: it runs, but not as its author meant (flow format, issues)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from flows.definition.flow_texts import find_translation, list_languages, read_texts
from flows.definition.model import Case, Flow, Node, Place
from flows.definition.references import FoundReference, KnownAssets, Reference
from flows.expressions.patterns import is_valid_pattern
from flows.expressions.scanner import CONTEXT_ROOTS, has_expressions

INVALID_REGEX, LEGACY_VARS, MISSING_DEPENDENCY = "invalid_regex", "legacy_vars", "missing_dependency"


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


def is_missing(reference: Reference, assets: KnownAssets) -> bool:
    """Whether a workspace lacks the asset of a reference. Contacts are assumed to exist."""
    return reference.kind != "contact" and not assets.knows(reference.kind, reference.identity)
