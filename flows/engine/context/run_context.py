"""Runs, their results and what else belongs to them, as values (flow format, expression context)."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from flows.clock import parse_moment
from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.context.contact_context import (
    ContextSource,
    channel_value,
    contact_value,
    describe_contact,
    fields_value,
    lines,
    show_urn,
    urns_value,
)
from flows.engine.state import Result, Step
from flows.environment import Environment
from flows.expressions.functions.numbers import attachment_parts
from flows.expressions.values import Getter, Property, Shape, Value, XArray, XObject, XRecord, to_value
from flows.urns import UrnError, parse


def results_value(results: Mapping[str, Result], is_early: bool) -> XObject:
    """`@results`: as text the value of each."""
    shape = _EARLY_RESULT if is_early else _RESULT
    values: dict[str, Property] = {key: XRecord(shape, result) for key, result in results.items()}
    return XObject(values, default=lambda: lines([(result.name, result.value) for result in results.values()]))


def flow_value(reference: Mapping[str, Any], assets: Assets) -> XObject:
    """A flow with its current name; as text its name."""
    flow = assets.find_readable_flow(str(reference.get("uuid", "")))
    if flow is not None:
        return XRecord(_FLOW, (reference, flow.name, flow.revision))
    return XRecord(_FLOW, (reference, str(reference.get("name", "")), reference.get("revision") or 0))


def run_value(source: ContextSource) -> XObject:
    """`@run`: as text contact and flow."""
    return XRecord(_EARLY_RUN if source.options.is_early else _RUN, source)


def _describe_run(source: ContextSource) -> str:
    name = _flow_name(source.run.flow, source.assets)
    return f"{describe_contact(source.session.contact, source.environment)}@{name}"


def describe_early_step(step: Step) -> dict[str, str | None]:
    """A visit of a node as generation 13 shows it: with all its parts, also if the node has not been left."""
    return {
        "uuid": step.uuid,
        "node_uuid": step.node_uuid,
        "arrived_on": step.arrived_on,
        "exit_uuid": step.exit_uuid or None,
    }


def locals_value(variables: Mapping[str, str]) -> XObject:
    """`@locals`: local variables; as text a line for each."""
    return XObject(dict(variables), default=lambda: lines([*variables.items()])) if variables else XObject({})


def parent_value(source: ContextSource) -> XObject | None:
    """`@parent`: the run that entered this flow, or the run of the session that started this one; null without both."""
    parent = source.session.find_run(source.run.parent_uuid) if source.run.parent_uuid else None
    if parent is not None:
        return _related_value(source, parent.uuid, parent.flow, parent.status, parent.results, None, "parent")
    summary = source.session.trigger.get("run_summary")
    return _summary_value(source, summary) if isinstance(summary, Mapping) else None


def child_value(source: ContextSource) -> XObject | None:
    """`@child`: the last run that this run's flow entered; null if there is none."""
    children = [run for run in source.session.runs if run.parent_uuid == source.run.uuid]
    if not children:
        return None
    child = children[-1]
    return _related_value(source, child.uuid, child.flow, child.status, child.results, None, "child")


def _summary_value(source: ContextSource, summary: Mapping[str, Any]) -> XObject:
    results = {key: Result.from_json(result) for key, result in (summary.get("results") or {}).items()}
    contact = Contact.from_json(summary["contact"]) if summary.get("contact") else None
    status = str(summary.get("status", ""))
    return _related_value(
        source, str(summary.get("uuid", "")), summary.get("flow") or {}, status, results, contact, "parent"
    )


def _related_value(
    source: ContextSource,
    uuid: str,
    flow: Mapping[str, Any],
    status: str,
    results: Mapping[str, Result],
    contact: Contact | None,
    root: str,
) -> XObject:
    shown = source.show_contact(contact) if contact else source.own_contact
    properties: dict[str, Property] = {
        "uuid": uuid,
        "run": XObject({"status": source.deprecated(status, f"{root}.run.status", f"{root}.status")}),
        "contact": lambda: contact_value(shown),
        "flow": lambda: flow_value(flow, source.assets),
        "fields": lambda: fields_value(shown),
        "urns": lambda: urns_value(shown),
        "results": lambda: results_value(results, source.options.is_early),
        "status": status,
    }
    name = _flow_name(flow, source.assets)
    return XObject(properties, default=lambda: f"{describe_contact(shown.contact, shown.environment)}@{name}")


def input_value(source: ContextSource) -> XObject | None:
    """`@input`: as text the message's text and URLs of attachments, a line for each; null before the first message."""
    received = source.session.input
    if received is None:
        return None
    attachments = [str(item) for item in received.get("attachments") or ()]
    channel = source.assets.channels.get((received.get("channel") or {}).get("uuid", ""))
    text = str(received.get("text") or "")
    properties: dict[str, Property] = {
        "uuid": str(received.get("uuid") or ""),
        "type": "msg",
        "created_on": lambda: parse_moment(str(received.get("created_on") or "")),
        "channel": lambda: channel_value(channel),
        "urn": lambda: _show_urn_text(received.get("urn"), source.environment),
        "text": text,
        "attachments": XArray(attachments),
        "external_id": str(received.get("external_id") or ""),
    }
    if not source.options.is_early:
        properties["payload"] = lambda: to_value(received.get("payload") or {})
    parts = [text, *(attachment_parts(attachment)[1] for attachment in attachments)]
    return XObject(properties, default="\n".join(part for part in parts if part))


def node_value(source: ContextSource) -> Value:
    """`@node`: how often the run has come here."""
    if source.node is None:
        return None
    uuid = source.node.uuid
    visits = sum(step.node_uuid == uuid for step in source.run.path)
    properties: dict[str, Property] = {"uuid": uuid, "visit_count": Decimal(visits)}
    if not source.options.is_early:
        categories = source.node.router.categories if source.node.router else ()
        properties["categories"] = XArray([category.name for category in categories])
    return XObject(properties)


def _show_urn_text(text: object, environment: Environment) -> Value:
    if not text:
        return None
    try:
        return show_urn(parse(str(text)), environment)
    except UrnError:
        return None


def _flow_name(reference: Mapping[str, Any], assets: Assets) -> str:
    flow = assets.find_readable_flow(str(reference.get("uuid", "")))
    return flow.name if flow else str(reference.get("name", ""))


_RUN_GETTERS: dict[str, Getter] = {
    "uuid": lambda source: source.run.uuid,
    "contact": lambda source: contact_value(source.own_contact),
    "flow": lambda source: flow_value(source.run.flow, source.assets),
    "status": lambda source: source.run.status,
    "results": lambda source: results_value(source.run.results, source.options.is_early),
    "created_on": lambda source: parse_moment(source.run.created_on),
    "exited_on": lambda source: parse_moment(source.run.exited_on),
    "path": lambda source: XArray([to_value(step.to_json()) for step in source.run.path]),
}
_RESULT_GETTERS: dict[str, Getter] = {
    "name": lambda result: result.name,
    "value": lambda result: result.value,
    "category": lambda result: result.category,
    "category_localized": lambda result: result.category_localized or result.category,
    "input": lambda result: result.input,
    "extra": lambda result: to_value(result.extra),
    "node_uuid": lambda result: result.node_uuid,
    "created_on": lambda result: parse_moment(result.created_on),
}
_EARLY_RESULT_GETTERS: dict[str, Getter] = {
    "values": lambda result: XArray([result.value]),
    "categories": lambda result: XArray([result.category]),
    "categories_localized": lambda result: XArray([result.category_localized or result.category]),
}
_FLOW_GETTERS: dict[str, Getter] = {
    "uuid": lambda subject: subject[0].get("uuid", ""),
    "name": lambda subject: subject[1],
    "revision": lambda subject: Decimal(subject[2]),
}
_FLOW = Shape(_FLOW_GETTERS, default=lambda subject: subject[1])
_EARLY_RUN_GETTERS: dict[str, Getter] = {
    "path": lambda source: XArray([to_value(describe_early_step(step)) for step in source.run.path]),
}
_EARLY_RUN = Shape(_RUN_GETTERS | _EARLY_RUN_GETTERS, default=_describe_run)
_RUN = Shape(_RUN_GETTERS | {"locals": lambda source: locals_value(source.run.locals)}, default=_describe_run)
_RESULT = Shape(_RESULT_GETTERS, default=lambda result: result.value)
_EARLY_RESULT = Shape(_RESULT_GETTERS | _EARLY_RESULT_GETTERS, default=lambda result: result.value)
