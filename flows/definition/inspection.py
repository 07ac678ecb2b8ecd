"""Inspection of a flow: what it produces, what it needs, and what is wrong with it (flow format, inspection)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from flows.definition.issues import Issue, is_missing, list_issues
from flows.definition.model import Flow
from flows.definition.references import FoundReference, KnownAssets, Reference, find_references
from flows.definition.results import ResultSpec, list_locals, list_results


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


def _list_dependencies(references: Iterable[FoundReference], assets: KnownAssets | None) -> list[Dependency]:
    first: dict[tuple[str, str], Reference] = {}
    for found in references:
        first.setdefault((found.reference.kind, found.reference.identity), found.reference)
    return [Dependency(reference, assets is not None and is_missing(reference, assets)) for reference in first.values()]
