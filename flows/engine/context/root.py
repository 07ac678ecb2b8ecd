"""The names that expressions begin with, and runs, their results and what else belongs to them, as values (flow format,
expression context).
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

from flows.engine.assets import Assets
from flows.engine.contact import Contact, Ticket
from flows.engine.context.contact_context import (
    ContactSource,
    ContextSource,
    channel_value,
    contact_value,
    describe_contact,
    fields_value,
    lines,
    named,
    show_urn,
    ticket_value,
    urns_value,
    user_value,
)
from flows.engine.state import Result, Step
from flows.environment import Environment, parse_moment
from flows.expressions.conversions import read_document, render_json
from flows.expressions.functions.numbers import attachment_parts
from flows.expressions.values import Deprecated, Getter, Property, Shape, Value, XArray, XObject, XRecord, to_value
from flows.urns import UrnError, parse
from flows.words import snakify


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


CONTACT_ROOTS = frozenset({"contact", "fields", "urns", "globals", "ticket"})
"""The names that can be used outside of runs."""

_NOT_WORD = re.compile(r"[^a-z0-9_]")
_LONGEST_EXTRA_KEY = 255


def build_context(source: ContextSource) -> XObject:
    """Everything that a flow's templates can refer to at the run's current node; computed when it is used."""
    return XRecord(_shape_of(source.options.is_early, source.options.extra), source)


def build_contact_context(source: ContactSource) -> XObject:
    """What templates outside of runs can refer to: CONTACT_ROOTS; computed when it is used."""
    return XRecord(_OUTSIDE, source)


def trigger_value(source: ContextSource) -> XObject:
    """`@trigger`: what started the session."""
    trigger = source.session.trigger
    event = trigger.get("event") or {}
    campaign = event.get("campaign")
    given = trigger.get("ticket") or event.get("ticket")
    ticket = Ticket.from_json(given) if given else None
    properties: dict[str, Property] = {
        "type": str(trigger.get("type", "")),
        # Those of a chat came with the channel's event.
        "params": lambda: to_value(trigger.get("params") or event.get("params") or {}),
        "keyword": str((trigger.get("keyword_match") or {}).get("keyword", "")),
        "user": lambda: user_value(trigger.get("user"), source.assets),
        "origin": str(trigger.get("origin") or ""),
        "campaign": named(campaign.get("uuid", ""), campaign.get("name", "")) if campaign else None,
        "ticket": ticket_value(ticket, source.assets, is_early=source.options.is_early) if ticket else None,
    }
    if source.options.is_early:
        optin = event.get("optin")
        properties["optin"] = named(optin.get("uuid", ""), optin.get("name", "")) if optin else None
    return XObject(properties)


def _resume_value(source: ContextSource) -> Value:
    """`@resume`: what ended the last wait. `url`, which also sprints that were not resumed have, is where others end
    the next wait for a callback."""
    url: dict[str, Property] = {} if source.address_callback is None else {"url": source.address_callback}
    if source.resume is None:
        return XObject({"type": "", "dial": None, **url}) if url else None
    event = source.resume.get("event") or source.resume
    dial = event.get("dial")
    properties: dict[str, Property] = {"type": str(source.resume.get("type", "")), "dial": None, **url}
    if source.resume.get("type") == "callback":
        body = str((event.get("callback") or {}).get("body") or "")
        properties |= {"body": body, "json": lambda: read_document(body)}
    if isinstance(dial, Mapping):
        properties["dial"] = XObject(
            {"status": str(dial.get("status", "")), "duration": Decimal(str(dial.get("duration") or 0))}
        )
    return XObject(properties)


def _globals_value(assets: Assets) -> XObject:
    known = assets.globals.values()
    values: dict[str, Property] = {item.key: item.value for item in known}
    return XObject(values, default=lambda: lines([(item.name, item.value) for item in known]))


def _ticket_value(source: ContactSource) -> Value:
    tickets = source.contact.open_tickets
    return ticket_value(tickets[-1], source.assets, is_early=source.is_early) if tickets else None


def _legacy_extra_value(source: ContextSource) -> Value:
    """`@legacy_extra`: the data of the trigger, of results and of the last call; newer data overrides older data. The
    whole data of a result is also there as JSON, under the result's key.
    """
    merged: dict[str, Value] = {}
    trigger = source.session.trigger
    _merge(merged, trigger.get("params"))
    inherited = (trigger.get("run_summary") or {}).get("results") or {}
    for results in (map(Result.from_json, inherited.values()), source.run.results.values()):
        for result in sorted(results, key=lambda result: result.created_on):
            if result.extra is not None:
                merged[snakify(result.name)] = render_json(to_value(result.extra))
            _merge(merged, result.extra)
    body = source.read_webhook()
    if not source.options.is_early and isinstance(body, XObject):
        body = body.get("json")
    _merge(merged, body)
    return XObject(dict(merged))


def _merge(merged: dict[str, Value], extra: object) -> None:
    value = to_value(extra)
    if isinstance(value, XObject):
        pairs = value.items()
    elif isinstance(value, XArray):
        pairs = [(str(index), item) for index, item in enumerate(value)]
    else:
        return
    for name, item in pairs:
        merged[_NOT_WORD.sub("_", name.lower())[:_LONGEST_EXTRA_KEY]] = item


_CONTACT_GETTERS: dict[str, Getter] = {
    "contact": contact_value,
    "fields": fields_value,
    "urns": urns_value,
    "globals": lambda source: _globals_value(source.assets),
    "ticket": _ticket_value,
}
_ROOT_GETTERS: dict[str, Getter] = {
    "contact": lambda source: contact_value(source.own_contact),
    "fields": lambda source: fields_value(source.own_contact),
    "urns": lambda source: urns_value(source.own_contact),
    "globals": lambda source: _globals_value(source.assets),
    "ticket": lambda source: _ticket_value(source.own_contact),
    "results": lambda source: results_value(source.run.results, source.options.is_early),
    "input": input_value,
    "run": run_value,
    "parent": parent_value,
    "child": child_value,
    "trigger": trigger_value,
    "resume": _resume_value,
    "node": node_value,
    "webhook": lambda source: source.read_webhook(),
    "legacy_extra": _legacy_extra_value,
}
RUN_ROOTS = frozenset({*_ROOT_GETTERS, "locals"} - {"legacy_extra"})
"""The names that can be used in runs of the newest generation."""
_OUTSIDE = Shape(_CONTACT_GETTERS)


@cache
def _shape_of(is_early: bool, has_extra: bool) -> Shape:
    getters = dict(_ROOT_GETTERS)
    if has_extra:
        getters["extra"] = _legacy_extra_value
    if not is_early:
        getters["locals"] = lambda source: locals_value(source.run.locals)
        getters["legacy_extra"] = lambda source: Deprecated(_legacy_extra_value(source), "@legacy_extra is deprecated")
    return Shape(getters)
