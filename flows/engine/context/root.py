"""The names that expressions begin with (flow format, expression context)."""

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

from flows.engine.assets import Assets
from flows.engine.contact import Ticket
from flows.engine.context.contact_context import (
    ContactSource,
    ContextSource,
    contact_value,
    fields_value,
    lines,
    named,
    ticket_value,
    urns_value,
    user_value,
)
from flows.engine.context.run_context import (
    child_value,
    input_value,
    locals_value,
    node_value,
    parent_value,
    results_value,
    run_value,
)
from flows.engine.state import Result
from flows.expressions.conversions import read_document
from flows.expressions.rendering import render_json
from flows.expressions.values import Deprecated, Getter, Property, Shape, Value, XArray, XObject, XRecord, to_value
from flows.words import snakify

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
_RUN_GETTERS: dict[str, Getter] = {
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
RUN_ROOTS = frozenset({*_RUN_GETTERS, "locals"} - {"legacy_extra"})
"""The names that can be used in runs of the newest generation."""
_OUTSIDE = Shape(_CONTACT_GETTERS)


@cache
def _shape_of(is_early: bool, has_extra: bool) -> Shape:
    getters = dict(_RUN_GETTERS)
    if has_extra:
        getters["extra"] = _legacy_extra_value
    if not is_early:
        getters["locals"] = lambda source: locals_value(source.run.locals)
        getters["legacy_extra"] = lambda source: Deprecated(_legacy_extra_value(source), "@legacy_extra is deprecated")
    return Shape(getters)
