"""Starts and resumes sessions (flow format, the engine).

Runs a session from node to node until it waits or ends (flow format, a sprint).

Triggers, which start sessions (flow format, triggers).

Resumes, which continue sessions (flow format, resuming).
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Any, NamedTuple, cast

from flows.definition import Action, DefinitionError, Flow, Node
from flows.definition.action_types import action_types
from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.errors import ContactError, ResumeError, TriggerError
from flows.engine.input_schemas import ANYTHING, RESUME, TRIGGER, find_mismatch
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.engine.pauses import CALLBACK, begin_pause, read_callback
from flows.engine.services import NO_SERVICES, Services
from flows.engine.sprint import PushedFlow, Sprint
from flows.engine.state import ACTIVE, COMPLETED, EXPIRED, FAILED, INTERRUPTED, WAITING, EventLog, Run, Session, Step
from flows.engine.visit import Choice, Visit, accepts, begin_wait, receive_message, route, route_timeout
from flows.environment import SYSTEM_CLOCK, Clock, Environment, EnvironmentSettingError, is_timezone
from flows.events import AnyEvent

TRIGGER_TYPES = ("campaign", "channel", "chat", "call", "flow_action", "manual", "msg", "optin", "ticket", "voice")
KEYWORD_MATCHES = ("first_word", "only_word")
_NEEDED = {"flow_action": ("run_summary",), "ticket": ("ticket",)}

RESUME_TYPES = ("msg", "dial", "wait_timeout", "wait_expiration", CALLBACK)
DIAL_STATUSES = ("answered", "no_answer", "busy", "failed")
_EARLY_NAMES = {"run_expiration": "wait_expiration"}


def start(
    assets: Assets,
    contact: Contact | Mapping[str, Any],
    trigger: Mapping[str, Any],
    environment: Environment | None = None,
    *,
    clock: Clock = SYSTEM_CLOCK,
    services: Services = NO_SERVICES,
    options: Options = DEFAULT_OPTIONS,
    call: Mapping[str, Any] | None = None,
    run_uuid: str = "",
    session_uuid: str = "",
) -> tuple[Session, list[AnyEvent]]:
    """Starts a session of a contact in the trigger's flow and runs it until it waits or ends.

    `contact` is `{uuid, name?, language?, urns?, groups?, fields?, ...}`, `trigger` is made by `Trigger` or has `type`
    (manual, msg, campaign, ...) and `flow` `{uuid, name}`, and the properties of its type, such as `params`. `call` is
    `{uuid, channel, urn}` of the phone call that a voice session is part of; `session_uuid` and `run_uuid` are the
    UUIDs of the session and of its first run if the host has chosen them already. Contact and trigger are not changed;
    the session contains the contact with the flow's changes. Events are in the order in which a host performs them.
    Raises TriggerError and ContactError.

    Example: `session, events = start(assets, {"uuid": ..., "name": "Ann"}, Trigger.manual(flow))`.
    """
    environment = environment or Environment()
    check_trigger(trigger)
    flow = _find_trigger_flow(assets, trigger)
    person = contact.copy() if isinstance(contact, Contact) else Contact.from_json(contact)
    session_uuid = session_uuid or clock.uuid()
    log = EventLog(clock, options.generation)
    kept = {name: value for name, value in trigger.items() if name not in ("contact", "environment")}
    session = Session(session_uuid, flow.type, options.generation, kept, person, environment, "", call=call)
    sprint = Sprint(session, assets, clock, services, options, log, first_run_uuid=run_uuid)
    session.created_on = sprint.now()
    session.sprints = 1
    sprint.edit_contact().update_groups(keeps_others=True)
    prepare_trigger(sprint)
    sprint.pushed = PushedFlow(flow, is_terminal=False)
    run_sprint(sprint, None, Departure())
    return _finish(sprint)


def resume(
    session: Session,
    resume: Mapping[str, Any],
    *,
    assets: Assets,
    environment: Environment | None = None,
    clock: Clock = SYSTEM_CLOCK,
    services: Services = NO_SERVICES,
    options: Options | None = None,
    contact: Contact | None = None,
) -> tuple[Session, list[AnyEvent]]:
    """Continues a waiting session and runs it until it waits again or ends.

    `resume` is made by `Resume` or has `type` (msg, dial, callback, wait_timeout, wait_expiration), `resumed_on`, and
    for the first three an `event` with the `msg`, `dial` or `callback`. The given session is not changed. A new
    `contact` or `environment` replaces the session's. If it raises ResumeError, nothing has happened.

    Example: `session, events = resume(session, Resume.message("Yes"), assets=assets)`.
    """
    read = read_resume(resume)
    options = options or Options(generation=session.generation)
    waiting = session.waiting_run
    if not session.is_waiting or waiting is None:
        raise ResumeError("only waiting sessions can be resumed")
    changed = session.copy()
    changed.contact = contact.copy() if contact else changed.contact
    changed.environment = environment or changed.environment
    sprint = Sprint(changed, assets, clock, services, options, EventLog(clock, options.generation), read)
    _wake(sprint)
    return _finish(sprint)


def interrupt(
    session: Session, *, clock: Clock = SYSTEM_CLOCK, status: str = INTERRUPTED
) -> tuple[Session, list[AnyEvent]]:
    """Ends a session from outside, with all runs that have not ended, as `interrupted` or `expired`. For hosts that end
    sessions: the contact was interrupted or blocked, the flow was archived, or another flow started.
    """
    if status not in (INTERRUPTED, EXPIRED):
        raise ValueError(f"sessions are interrupted or expired from outside, not {status!r}")
    changed = session.copy()
    options = Options(generation=session.generation)
    sprint = Sprint(changed, Assets(), clock, NO_SERVICES, options, EventLog(clock, options.generation))
    for run in reversed(changed.runs):
        if not run.is_over:
            sprint.end_run(run, status)
    changed.status = status
    return _finish(sprint)


class Ending(Enum):
    """How the visit of a node ended."""

    WAITS = auto()
    LEAVES = auto()
    FAILED = auto()


class Departure(NamedTuple):
    """A node left by an exit; no node at the beginning of a flow or if there is no destination."""

    node: Node | None = None
    choice: Choice = Choice("")


def run_sprint(sprint: Sprint, run: Run | None, departure: Departure) -> None:
    """Continues where a run left a node, or with a pushed flow, until the session waits or ends."""
    while True:
        if sprint.pushed is not None:
            run, node = _enter_pushed(sprint, run)
            if run is None:
                return
        else:
            assert run is not None, "a sprint begins with a run or with a pushed flow"
            node = _follow(sprint, run, departure)
        if run is None:
            return
        if node is None:
            next_run = _leave_run(sprint, run)
            if next_run is None:
                return
            run, departure = next_run, _return_to(sprint, next_run, departure.node)
            continue
        ending, departure = _visit(sprint, run, node)
        if ending is Ending.WAITS:
            return


def find_flow_of(sprint: Sprint, run: Run) -> Flow | None:
    """The flow of a run, if it still exists."""
    return sprint.find_flow(str(run.flow.get("uuid", "")))


def leave_step(visit: Visit, choice: Choice) -> Choice:
    """Records by which exit the current node is left; fails the run if its router found none."""
    run = visit.run
    if visit.node.router is not None and not choice.exit_uuid:
        visit.sprint.fail(run, f"Router on node[uuid={visit.node.uuid}] failed to pick a category")
    if run.path and choice.exit_uuid:
        run.path[-1] = run.path[-1].left_by(choice.exit_uuid)
    return choice


def check_trigger(trigger: Mapping[str, Any]) -> None:
    """Checks a trigger against its schema; raises TriggerError."""
    if isinstance(trigger, CheckedTrigger):
        return
    if not isinstance(trigger, Mapping):
        raise TriggerError("a trigger is an object")
    mismatch = find_mismatch(trigger, TRIGGER) or find_mismatch(trigger, ANYTHING)
    if mismatch:
        raise TriggerError(f"field '{mismatch}' is missing or of another type")
    kind = trigger.get("type")
    if kind not in TRIGGER_TYPES:
        raise TriggerError(f"{kind!r} is not a type of trigger")
    missing = [name for name in ("flow", *_NEEDED.get(kind, ())) if not isinstance(trigger.get(name), Mapping)]
    if kind == "ticket":
        missing = [name for name in missing if name != "ticket" or not (trigger.get("event") or {}).get("ticket")]
    if missing:
        raise TriggerError(", ".join(f"field '{name}' is required" for name in missing))
    _check_event(kind, trigger)


def _check_event(kind: str, trigger: Mapping[str, Any]) -> None:
    event = trigger.get("event")
    if kind == "campaign" and (event is None or event.get("type", "campaign_fired") != "campaign_fired"):
        raise TriggerError("campaign trigger event must be of type campaign_fired")
    if kind == "msg":
        _check_message(trigger)
    if kind in ("chat", "channel", "optin", "call") and event is None:
        raise TriggerError("field 'event' is required")


def _check_message(trigger: Mapping[str, Any]) -> None:
    message = (trigger.get("event") or {}).get("msg") or trigger.get("msg")
    if not isinstance(message, Mapping):
        raise TriggerError("field 'event' is required")
    match = trigger.get("keyword_match")
    if match is None:
        return
    for name in ("type", "keyword"):
        if not match.get(name):
            raise TriggerError(f"field 'keyword_match.{name}' is required")
    if match["type"] not in KEYWORD_MATCHES:
        raise TriggerError(f"{match['type']!r} is not a type of keyword match")


class CheckedTrigger(dict[str, Any]):
    """A trigger that was checked once, to start many contacts with. Nobody may change it. Raises TriggerError."""

    def __init__(self, trigger: Mapping[str, Any]) -> None:
        check_trigger(trigger)
        super().__init__(trigger)


def prepare_trigger(sprint: Sprint) -> None:
    """Applies a trigger before the first run begins: a message becomes the input."""
    trigger = sprint.session.trigger
    if trigger["type"] == "msg":
        receive_message(sprint, trigger, str(trigger.get("triggered_on") or ""))


def read_resume(resume: Mapping[str, Any]) -> dict[str, Any]:
    """Checks a resume against its schema and converts older names; raises ResumeError."""
    if not isinstance(resume, Mapping):
        raise ResumeError("a resume is an object")
    mismatch = find_mismatch(resume, RESUME)
    if mismatch:
        raise ResumeError(f"field '{mismatch}' is missing or of another type")
    kind = _EARLY_NAMES.get(str(resume.get("type")), resume.get("type"))
    if kind not in RESUME_TYPES:
        raise ResumeError(f"{kind!r} is not a type of resume")
    part = (resume.get("event") or {}).get(kind) or resume.get(kind)
    if kind in ("msg", "dial", CALLBACK) and not isinstance(part, Mapping):
        raise ResumeError(f"field 'event.{kind}' is required")
    if kind == "dial" and isinstance(part, Mapping) and part.get("status") not in DIAL_STATUSES:
        raise ResumeError(f"{part.get('status')!r} is not how a call can end")
    return {**resume, "type": kind}


def apply_resume(sprint: Sprint, run: Run) -> None:
    """Applies a resume before the waiting node is left."""
    assert sprint.resume is not None
    _refresh(sprint, sprint.resume)
    kind = sprint.resume["type"]
    if kind == "msg":
        receive_message(sprint, sprint.resume, str(sprint.resume.get("resumed_on") or ""))
        run.had_input = True
    else:
        sprint.session.input = None
    if kind == "wait_expiration":
        if sprint.options.is_early:
            sprint.log.add("run_expired", {"run_uuid": run.uuid})
        sprint.end_run(run, EXPIRED)
    elif sprint.options.is_early and kind == "wait_timeout":
        sprint.log.add("wait_timed_out")
    elif sprint.options.is_early and kind == "dial":
        dial = (sprint.resume.get("event") or {}).get("dial") or sprint.resume["dial"]
        sprint.log.add("dial_ended", {"dial": dict(dial)})


def _find_trigger_flow(assets: Assets, trigger: Mapping[str, Any]) -> Flow:
    uuid = str(trigger["flow"]["uuid"])
    try:
        flow = assets.find_flow(uuid)
    except DefinitionError as error:
        raise TriggerError(f"flow {uuid} cannot be read: {error}") from error
    if flow is None:
        raise TriggerError(f"there is no flow {uuid}")
    return flow


def _wake(sprint: Sprint) -> None:
    session = sprint.session
    run = session.waiting_run
    assert run is not None
    assert sprint.resume is not None
    sprint.log.step_uuid = run.path[-1].uuid if run.path else ""
    flow = find_flow_of(sprint, run)
    if flow is None:
        return sprint.fail_session("Can't resume run with missing flow asset")
    if session.sprints >= sprint.options.sprints_per_session:
        return sprint.fail_session(
            f"Reached maximum number of sprints per session ({sprint.options.sprints_per_session})"
        )
    node = flow.find_node(run.path[-1].node_uuid) if run.path else None
    if node is None:
        return sprint.fail_session("Unable to find resume node")
    if node.router is None or node.router.wait is None:
        return sprint.fail_session("Can't resume from node without a router or wait")
    kind = sprint.resume["type"]
    wait = node.router.wait
    if not accepts(wait, kind):
        awaited = wait.pause.ends_by if wait.pause else wait.type
        raise ResumeError(f"a wait for {awaited} cannot be resumed by {kind}")
    session.sprints += 1
    if session.pause:
        session.callbacks += session.pause == CALLBACK
        session.pause, session.pause_ended_on = "", sprint.now()
    session.status = ACTIVE
    apply_resume(sprint, run)
    if run.status != EXPIRED:
        run.status = ACTIVE
    visit = Visit(sprint, run, flow, node)
    departure = Departure(node, _choose_exit(visit, kind))
    sprint.edit_contact().update_groups(keeps_others=True)
    return run_sprint(sprint, run, departure)


def _choose_exit(visit: Visit, kind: str) -> Choice:
    router = visit.node.router
    assert router is not None
    assert router.wait is not None
    if kind == "wait_expiration":
        return Choice("")
    timeout = router.wait.timeout if kind == "wait_timeout" else None
    if timeout is not None:
        return leave_step(visit, route_timeout(visit, router, timeout.category_uuid))
    extra = read_callback(visit.sprint.resume or {}) if kind == CALLBACK else None
    return leave_step(visit, route(visit, router, extra))


def _finish(sprint: Sprint) -> tuple[Session, list[AnyEvent]]:
    sprint.session.segments = sprint.segments
    return sprint.session, cast("list[AnyEvent]", sprint.log.events)


def _enter_pushed(sprint: Sprint, parent: Run | None) -> tuple[Run | None, Node | None]:
    pushed = sprint.pushed
    assert pushed is not None
    sprint.pushed = None
    if pushed.is_terminal:
        sprint.complete_runs()
    if len(sprint.session.runs) >= sprint.options.runs_per_session and parent is not None:
        sprint.fail(parent, f"Reached maximum number of runs per session ({sprint.options.runs_per_session})")
        sprint.session.status = FAILED
        return None, None
    parent_uuid = parent.uuid if parent else _started_by(sprint)
    run = sprint.start_run(pushed.flow, parent, parent_uuid, is_terminal=pushed.is_terminal)
    return run, pushed.flow.nodes[0] if pushed.flow.nodes else None


def _started_by(sprint: Sprint) -> str:
    summary = sprint.session.trigger.get("run_summary") or {}
    return str(summary.get("uuid", ""))


def _follow(sprint: Sprint, run: Run, departure: Departure) -> Node | None:
    flow = find_flow_of(sprint, run)
    if flow is None or departure.node is None or not departure.choice.exit_uuid or run.is_over:
        return None
    destination = flow.destination_of(departure.choice.exit_uuid)
    if destination is None:
        return None
    segment = {
        "flow_uuid": flow.uuid,
        "node_uuid": departure.node.uuid,
        "exit_uuid": departure.choice.exit_uuid,
        "operand": departure.choice.operand,
        "destination_uuid": destination.uuid,
        "time": sprint.now(),
    }
    if not departure.choice.operand:
        del segment["operand"]
    sprint.segments.append(segment)
    return destination


def _leave_run(sprint: Sprint, run: Run) -> Run | None:
    if not run.is_over:
        sprint.end_run(run, COMPLETED)
    parent = sprint.session.find_run(run.parent_uuid) if run.parent_uuid else None
    if parent is None or parent.status != ACTIVE:
        sprint.session.status = FAILED if run.status == FAILED else COMPLETED
        return None
    if run.status == FAILED:
        sprint.end_run(parent, FAILED)
        return _leave_run(sprint, parent)
    return parent


def _return_to(sprint: Sprint, run: Run, left: Node | None) -> Departure:
    flow = find_flow_of(sprint, run)
    node = flow.find_node(run.path[-1].node_uuid) if flow and run.path else None
    if flow is None or node is None:
        sprint.log.step_uuid = ""
        sprint.fail(run, "Can't resume run with missing flow asset" if flow is None else "Can't find node in flow")
        return Departure()
    sprint.log.step_uuid = run.path[-1].uuid
    choice = _route(Visit(sprint, run, flow, node))
    # Segments of a return were always counted for the node visited last, which is the child's.
    return Departure(left or node, choice)


def _visit(sprint: Sprint, run: Run, node: Node) -> tuple[Ending, Departure]:
    sprint.steps += 1
    if sprint.steps > sprint.options.steps_per_sprint:
        sprint.fail(run, f"Reached maximum number of steps per sprint ({sprint.options.steps_per_sprint})")
        return Ending.FAILED, Departure()
    now = sprint.now()
    step = Step(node.uuid, now, uuid=sprint.clock.uuid() if sprint.options.is_early else "")
    run.path.append(step)
    run.modified_on = now
    sprint.log.step_uuid = step.uuid
    flow = find_flow_of(sprint, run)
    assert flow is not None, "the node that is visited was found in it"
    visit = Visit(sprint, run, flow, node)
    for action in node.actions:
        _run_action(visit, action)
        if run.is_over:
            return Ending.FAILED, Departure()
    if sprint.pushed is not None:
        return Ending.LEAVES, Departure(node)
    wait = node.router.wait if node.router is not None else None
    if wait is not None and (begin_pause if wait.pause else begin_wait)(visit, wait):
        run.status = WAITING
        sprint.session.status = WAITING
        return Ending.WAITS, Departure()
    return Ending.LEAVES, Departure(node, _route(visit))


def _run_action(visit: Visit, action: Action) -> None:
    kind = action_types().get(action.type)
    if kind is None:
        visit.log.error(f"{action.type} actions are not supported", "action:unsupported")
    else:
        kind.run(visit, action)


def _route(visit: Visit) -> Choice:
    router = visit.node.router
    exits = visit.node.exits
    return leave_step(visit, route(visit, router) if router else Choice(exits[0].uuid if exits else ""))


def _refresh(sprint: Sprint, resume: Mapping[str, Any]) -> None:
    # In generation 13 hosts send data that may have changed meanwhile with the resume.
    session = sprint.session
    try:
        environment = Environment.from_json(resume["environment"]) if resume.get("environment") else None
        contact = Contact.from_json(resume["contact"]) if resume.get("contact") else None
    except (ContactError, EnvironmentSettingError) as error:
        raise ResumeError(f"resume cannot be read: {error}") from error
    if environment is not None and not is_timezone(environment.timezone):
        raise ResumeError(f"{environment.timezone!r} is not a timezone")
    if environment is not None and environment != session.environment:
        session.environment = environment
        sprint.log.add("environment_refreshed", {"environment": environment.to_json()})
    if contact is not None and contact != session.contact:
        session.contact = contact
        sprint.log.add("contact_refreshed", {"contact": contact.to_json()})
    sprint.forget_environment()
