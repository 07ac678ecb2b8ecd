"""Checks the cases about sessions, actions, routers, triggers, resumes, modifiers and groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest

from flows.definition import DefinitionError
from flows.engine import Assets, Contact, ContactEditor, EngineError, EventLog, Options, Session, apply_modifier
from flows.engine import resume as resume_session
from flows.engine import start as start_session
from flows.engine.services import Services
from flows.engine.visit import Visit
from flows.environment import Environment
from flows.expressions.conversions import render_json
from tests.flows.corpora.definitions import assert_inspected
from tests.flows.corpora.engine_services import (
    CountingClock,
    EarlyAirtime,
    PreparedSendable,
    PreparedUrns,
    prepare_services,
)
from tests.flows.corpora.expressions import check_example_without_session
from tests.flows.corpora.placeholders import Placeholders, slim
from tests.flows.corpora.standing_runs import visit_run

Case = dict[str, Any]
FLOW_UUID = "bead76f5-dac4-4c9d-996c-c62b326e8c0a"
CALL_CHANNEL = {"uuid": "57f1078f-88aa-46f4-a59a-948a5739c03d", "name": "My Android Phone"}
MOMENT = "2018-10-18T14:20:30.000123456Z"


def check_session(case: Case, fixtures: Case) -> None:
    """Plays a whole conversation of generation 14."""
    _play(case, Options(), prepare_services(case, fixtures))


def check_early_session(case: Case, fixtures: Case) -> None:
    """Plays a whole conversation of generation 13, whose triggers bring contact and environment along."""
    airtime = {"airtime": EarlyAirtime(case["http_mocks"])} if case["group"] == "airtime" else {}
    _play(case, Options(generation=13), prepare_services(case, fixtures, **airtime))


def _play(case: Case, options: Options, services: Services) -> None:
    assets = Assets.from_json(case["assets"], options.generation)
    trigger = case["trigger"]
    environment = Environment.from_json(case.get("environment") or trigger.get("environment") or {})
    contact = case.get("contact") or trigger["contact"]
    clock = CountingClock()
    placeholders = Placeholders()
    session, events = start_session(
        assets, contact, trigger, environment, clock=clock, services=services, options=options, call=case.get("call")
    )
    _compare_output(placeholders, case["outputs"][0]["expect"], session, events, options)
    for resume, output in zip(case.get("resumes") or (), case["outputs"][1:], strict=True):
        stored = Session.from_json(session.to_json())
        assert stored == session, "a session is the same after it was stored"
        session, events = resume_session(stored, resume, assets=assets, clock=clock, services=services, options=options)
        _compare_output(placeholders, output["expect"], session, events, options)


def _compare_output(
    placeholders: Placeholders, expected: Case, session: Session, events: list[Case], options: Options
) -> None:
    placeholders.compare(expected["events"], [slim(event) for event in events], "events")
    assert (expected["session_status"], expected["session_type"]) == (session.status, session.type)
    uuids = [run.uuid for run in session.runs]
    assert len(expected["runs"]) == len(uuids)
    for wanted, run in zip(expected["runs"], session.runs, strict=True):
        parent = uuids.index(run.parent_uuid) if run.parent_uuid in uuids else None
        results = {key: _without(result.to_json(), "created_on") for key, result in run.results.items()}
        path = [_without(step.to_json(), "arrived_on", "uuid") for step in run.path]
        if not options.is_early:
            path = [_without(step, "exit_uuid") for step in path]
        if not options.is_early and not wanted["path"]:
            # The paths of runs that are over were no longer stored.
            assert run.is_over
            path = []
        actual = {"flow": dict(run.flow), "status": run.status, "parent": parent, "path": path, "results": results}
        placeholders.compare(wanted, actual, f"runs[{uuids.index(run.uuid)}]")
    segments = [_without(segment, "time") for segment in session.segments]
    placeholders.compare(expected["segments"], segments, "segments")


def check_action(case: Case, fixtures: Case) -> None:
    """Runs one action in the first node of a flow."""
    source = deepcopy(fixtures["assets"])
    is_voice = case.get("in_flow_type") == "voice"
    flow = source["flows"][1 if is_voice else 0]
    flow["nodes"][0]["actions"] = [case["action"]]
    contact = {**(case.get("contact") or fixtures["contact"])}
    if case.get("localization"):
        flow["localization"] = case["localization"]
        contact["language"] = "spa"
    if case.get("has_ticket"):
        topics = {topic["uuid"]: topic for topic in source["topics"]}
        contact["tickets"] = [{**fixtures["ticket"], "topic": topics[fixtures["ticket"]["topic_uuid"]]}]
    assets = Assets.from_json(source)
    if "read_error" in case["expect"]:
        with pytest.raises(DefinitionError):
            assets.find_flow(flow["uuid"])
        return
    assert_inspected(case["expect"], flow["uuid"], assets)
    services = prepare_services(case, fixtures, sendable=PreparedSendable())
    call = {"uuid": "0198ce92-ff2f-7b07-b158-b21ab168ebba", "channel": CALL_CHANNEL, "urn": "tel:+12065551212"}
    session, events = start_session(
        assets,
        contact,
        _action_trigger(case, fixtures, flow, is_voice),
        _environment(case, fixtures),
        clock=CountingClock(),
        services=services,
        call=call if is_voice else None,
    )
    _compare_action(case, session, events, contact)


def _action_trigger(case: Case, fixtures: Case, flow: Case, is_voice: bool) -> Case:
    trigger: Case = {"flow": {"uuid": flow["uuid"], "name": flow["name"]}, "triggered_on": MOMENT}
    if case.get("no_input") or case.get("as_batch"):
        trigger |= {"type": "manual", "batch": bool(case.get("as_batch"))}
        return trigger
    event = {
        "uuid": "0197b335-6ded-79a4-95a6-3af85b57f108",
        "type": "msg_received",
        "created_on": MOMENT,
        "msg": fixtures["message"],
    }
    return {**trigger, "type": "msg", "event": event}


def _compare_action(case: Case, session: Session, events: list[Case], contact: Case) -> None:
    expected, placeholders = case["expect"], Placeholders()
    if "events_slim" in expected:
        placeholders.compare(expected["events_slim"], _events_of_action(events), "events")
    run = session.runs[0]
    placeholders.compare(expected["locals_after"], run.locals, "locals")
    if "webhook" in expected and not _is_big(expected["webhook"]):
        placeholders.compare(expected["webhook"], run.webhook, "webhook")
    if "contact_after" in expected:
        after = session.contact.to_json()
        placeholders.compare(expected["contact_after"], after, "contact")


def _events_of_action(events: list[Case]) -> list[Case]:
    # Groups that the contact should have been in from the beginning are settled before the run starts.
    begin = next(index for index, event in enumerate(events) if event["type"] == "run_started")
    return [slim(event) for event in events[begin + 1 : -1]]


def _is_big(webhook: Any) -> bool:
    # What is too big to be stored can only be seen in the sprint that fetched it.
    return webhook is not None and len(str(webhook["json"])) > Options().webhook_kept_bytes


def check_router(case: Case, fixtures: Case) -> None:
    """Routes in the first node of a flow; random numbers are drawn as they were."""
    source = deepcopy(fixtures["assets"])
    flow = source["flows"][0]
    flow["nodes"][0]["router"] = case["router"]
    assets = Assets.from_json(source)
    expected = case["expect"]
    if "read_error" in expected:
        with pytest.raises(DefinitionError):
            assets.find_flow(flow["uuid"])
        return
    assert_inspected(expected, flow["uuid"], assets)
    results = expected.get("results") or {}
    drawn = next((item["input"] for item in results.values()), "0") if case.get("nondeterministic") else "0"
    trigger = {"type": "manual", "flow": {"uuid": flow["uuid"], "name": flow["name"]}, "triggered_on": MOMENT}
    session, events = start_session(
        assets,
        fixtures["contact"],
        trigger,
        _environment(case, fixtures),
        clock=CountingClock(drawn=Decimal(drawn)),
        services=prepare_services(case, fixtures),
    )
    placeholders = Placeholders()
    placeholders.compare(results, {key: item.to_json() for key, item in session.runs[0].results.items()}, "results")
    placeholders.compare(expected["events_slim"], [slim(event) for event in events[1:-1]], "events")


def check_trigger_resume_or_modifier(case: Case, fixtures: Case) -> None:
    """Reads and applies one trigger, resume or modifier."""
    _KINDS[case["kind"]](case, fixtures)


def _check_trigger(case: Case, fixtures: Case) -> None:
    assets = Assets.from_json(fixtures["trigger_assets"])
    contact = Contact("1ef5d1d6-0d0c-4f7c-8d54-6a4b8ee9a0a7", name="Bob", created_on=MOMENT)
    services = prepare_services(case, fixtures, urns=PreparedUrns())

    def begin() -> Session:
        return start_session(assets, contact, case["trigger"], Environment(), clock=CountingClock(), services=services)[
            0
        ]

    if "read_error" in case["expect"]:
        with pytest.raises(EngineError):
            begin()
        return
    session = begin()
    visit = visit_run(session, session.runs[0], assets=assets, clock=CountingClock())
    assert visit is not None
    Placeholders().compare(case["expect"]["context"], _context_json(visit.context(), "trigger"), "context")


def _context_json(context: Any, name: str) -> Any:
    return json.loads(render_json(context.get(name)))


def _check_resume(case: Case, fixtures: Case) -> None:
    source = deepcopy(fixtures["resume_assets"])
    flow = next(item for item in source["flows"] if item["uuid"] == case["flow_uuid"])
    flow["nodes"][0]["router"]["wait"] = case["wait"]
    assets = Assets.from_json(source)
    contact = Contact("1ef5d1d6-0d0c-4f7c-8d54-6a4b8ee9a0a7", name="Bob", created_on=MOMENT)
    services = prepare_services(case, fixtures, urns=PreparedUrns())
    clock = CountingClock()
    trigger = {"type": "manual", "flow": {"uuid": flow["uuid"], "name": flow["name"]}, "triggered_on": MOMENT}
    session, _ = start_session(assets, contact, trigger, Environment(), clock=clock, services=services)
    expected = case["expect"]
    if "read_error" in expected or "resume_error" in expected:
        with pytest.raises(EngineError):
            resume_session(session, case["resume"], assets=assets, clock=clock, services=services)
        return
    session, events = resume_session(session, case["resume"], assets=assets, clock=clock, services=services)
    last = len(events) - 1 if events[-1]["type"] == "run_ended" else len(events)
    Placeholders().compare(expected["events_slim"], [slim(event) for event in events[:last]], "events")
    assert (expected["run_status"], expected["session_status"]) == (session.runs[0].status, session.status)


def _check_modifier(case: Case, fixtures: Case) -> None:
    assets = Assets.from_json(fixtures["modifier_assets"])
    contact = Contact.from_json(case["contact_before"])
    clock = CountingClock()
    log = EventLog(clock, 14)
    services = prepare_services(case, fixtures, urns=PreparedUrns())
    environment = _environment(case, fixtures)
    editor = ContactEditor(contact, assets, environment, clock, log, services)
    expected = case["expect"]
    if "read_error" in expected:
        with pytest.raises(EngineError):
            apply_modifier(editor, case["modifier"])
        return
    apply_modifier(editor, case["modifier"])
    placeholders = Placeholders()
    placeholders.compare(expected["events_slim"], [slim(event) for event in log.events], "events")
    placeholders.compare(expected["contact_after"], contact.to_json(), "contact")


def check_template_in_session(case: Case, fixtures: Case) -> None:
    """Evaluates a template in the first run of a session that has gone on to its end."""
    visit = _visit_first_run(case, fixtures)
    text, _ = visit.try_text(case["template"])
    if "events" in case:
        Placeholders().compare(case["events"], [slim(event) for event in visit.log.events], "events")
    if "output_json" in case:
        Placeholders().compare(case["output_json"], json.loads(text), "output")
    elif not case.get("clock_dependent"):
        assert text == case["output"]


def check_doc_example(case: Case, fixtures: Case) -> None:
    """Evaluates a one-line example, within a session if it looks at one."""
    if not case["needs_session"]:
        check_example_without_session(case, fixtures)
        return
    visit = _visit_first_run(case, fixtures)
    text, is_fine = visit.try_text(case["template"])
    assert is_fine is not case.get("error", False), visit.log.events
    if not case.get("error"):
        assert text == case["expected"]


def _visit_first_run(case: Case, fixtures: Case) -> Visit:
    clock = CountingClock(datetime.fromisoformat(fixtures["now"]), is_standing=True)
    assets = Assets.from_json(fixtures["assets"])
    services = prepare_services(case, fixtures)
    environment = _environment(case, fixtures)
    session, _ = start_session(
        assets, fixtures["contact"], fixtures["trigger"], environment, clock=clock, services=services
    )
    session, _ = resume_session(session, fixtures["resume"], assets=assets, clock=clock, services=services)
    visit = visit_run(
        session, session.runs[0], assets=assets, clock=clock, services=services, resume=fixtures["resume"]
    )
    assert visit is not None
    return visit


def check_smart_groups(case: Case, fixtures: Case) -> None:
    """Starts an empty flow, which puts the contact into the groups it belongs to."""
    assets = Assets.from_json(fixtures["assets"])
    flow = fixtures["assets"]["flows"][0]
    trigger = {"type": "manual", "flow": {"uuid": flow["uuid"], "name": flow["name"]}, "triggered_on": MOMENT}
    session, _ = start_session(
        assets, case["contact_before"], trigger, _environment(case, fixtures), clock=CountingClock()
    )
    Placeholders().compare(case["contact_after"], session.contact.to_json(), "contact")


def _environment(case: Case, fixtures: Case) -> Environment:
    environment = Environment.from_json(fixtures.get("environment") or {})
    return replace(environment, redaction_policy="urns") if case.get("redact_urns") else environment


def _without(item: Mapping[str, Any], *names: str) -> Case:
    return {name: value for name, value in item.items() if name not in names}


_KINDS: dict[str, Callable[[Case, Case], None]] = {
    "trigger": _check_trigger,
    "resume": _check_resume,
    "modifier": _check_modifier,
}

CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "runner_sessions": check_session,
    "runner_sessions_13": check_early_session,
    "actions": check_action,
    "routers": check_router,
    "triggers_resumes_modifiers": check_trigger_resume_or_modifier,
    "session_templates": check_template_in_session,
    "excellent_doc_examples": check_doc_example,
    "smart_groups": check_smart_groups,
}
