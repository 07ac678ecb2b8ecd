"""What the flows, campaigns and triggers of an export file need (flow format, export files)."""

from collections.abc import Iterator
from dataclasses import dataclass

from flows.definition.action_types import fields_of
from flows.definition.exports.model import ExportedField, ExportFile, Named
from flows.definition.flow_texts import read_objects
from flows.definition.loading import load
from flows.definition.model import Flow
from flows.definition.raw_parts import read_text
from flows.definition.references import Reference, find_references
from flows.expressions.scanner import CONTEXT_ROOTS, has_expressions


@dataclass(frozen=True, slots=True)
class Needs:
    """Each record once, in order of first appearance. Groups and labels of which only the name is known have no UUID;
    fields of which only the key is known have it as their name. The date fields of campaigns have that type, all others
    count as text.
    """

    fields: tuple[ExportedField, ...]
    groups: tuple[Named, ...]
    labels: tuple[Named, ...]
    flows: tuple[Named, ...]
    global_keys: tuple[str, ...]
    others: tuple[Reference, ...]


def list_needs(content: ExportFile) -> Needs:
    """What a file needs in a workspace: everything that its parts refer to, in the file or not."""
    flows = [load(definition) for definition in content.flows]
    references = [*_list_references_around(content), *(reference for flow in flows for reference in _list_all(flow))]
    dates = {event.relative_to.key: event.relative_to for campaign in content.campaigns for event in campaign.events}
    return Needs(
        fields=tuple(dates.get(key) or ExportedField(key, name, "text") for key, name in _list_fields(references)),
        groups=_list_named(references, "group"),
        labels=_list_named(references, "label"),
        flows=_list_named(references, "flow"),
        global_keys=tuple(dict.fromkeys(each.identity for each in references if each.kind == "global")),
        others=tuple(dict.fromkeys(each for each in references if each.kind not in _LISTED)),
    )


_LISTED = frozenset({"field", "flow", "global", "group", "label"})


def _list_references_around(content: ExportFile) -> Iterator[Reference]:
    for campaign in content.campaigns:
        yield _refer("group", campaign.group)
        for event in campaign.events:
            yield Reference("field", event.relative_to.key, event.relative_to.name, identity_name="key")
            if event.flow:
                yield _refer("flow", event.flow)
    for trigger in content.triggers:
        yield _refer("flow", trigger.flow)
        yield from (_refer("group", group) for group in (*trigger.groups, *trigger.exclude_groups))
        if trigger.channel:
            yield _refer("channel", trigger.channel)


def _refer(kind: str, named: Named) -> Reference:
    return Reference(kind, named.uuid, named.name)


def _list_all(flow: Flow) -> Iterator[Reference]:
    yield from (each.reference for each in find_references(flow).found)
    for node in flow.nodes:
        for action in node.actions:
            for name, each in fields_of(action.type).items():
                if "name_match" in each.match:
                    yield from _list_literal_matches(each.refers_to, action.fields.get(name))


def _list_literal_matches(kind: str, references: object) -> Iterator[Reference]:
    """Names that old flows have instead of UUIDs, unless they are only known when the flow runs."""
    for given in read_objects(references):
        match = read_text(given, "name_match")
        if match and not read_text(given, "uuid") and not has_expressions(match, CONTEXT_ROOTS):
            yield Reference(kind, "", match)


def _list_fields(references: list[Reference]) -> Iterator[tuple[str, str]]:
    names: dict[str, str] = {}
    for each in references:
        if each.kind == "field":
            names[each.identity] = names.get(each.identity) or each.name
    return ((key, name or key) for key, name in names.items())


def _list_named(references: list[Reference], kind: str) -> tuple[Named, ...]:
    found: dict[tuple[str, str], Named] = {}
    for each in references:
        if each.kind == kind:
            # Records with a UUID are identified by it, even if their names differ.
            key = (each.identity, "" if each.identity else each.name.lower())
            found.setdefault(key, Named(each.identity, each.name))
    return tuple(found.values())
