"""All problems of a definition, each with its place, for people who write flows. Besides the issues of an inspection
these are errors for which the definition is refused, expressions that cannot be parsed, and nodes that cannot be
reached.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flows.definition.errors import DefinitionError
from flows.definition.flow_texts import list_templates
from flows.definition.inspection import Inspection, inspect
from flows.definition.issues import Issue
from flows.definition.loading import load
from flows.definition.model import Flow, Place
from flows.definition.references import KnownAssets
from flows.expressions.parser import ExpressionSyntaxError, parse_expression
from flows.expressions.scanner import AT_SIGN, CONTEXT_ROOTS, TokenKind, scan_template

INVALID_DEFINITION, INVALID_EXPRESSION, UNREACHABLE_NODE = (
    "invalid_definition",
    "invalid_expression",
    "unreachable_node",
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
