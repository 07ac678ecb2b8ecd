"""Starts and resumes sessions (flow format, the engine)."""

from collections.abc import Mapping
from typing import Any, cast

from flows.clock import SYSTEM_CLOCK, Clock
from flows.definition import DefinitionError, Flow
from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.errors import ResumeError, TriggerError
from flows.engine.events import EventLog
from flows.engine.loop import Departure, find_flow_of, leave_step, run_sprint
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.engine.resumes import apply_resume, read_resume
from flows.engine.router import Choice, route, route_timeout
from flows.engine.services import NO_SERVICES, Services
from flows.engine.sprint import PushedFlow, Sprint
from flows.engine.state import ACTIVE, EXPIRED, INTERRUPTED, Session
from flows.engine.triggers import check_trigger, prepare_trigger
from flows.engine.visit import Visit
from flows.engine.wait import accepts
from flows.environment import Environment
from flows.events import AnyEvent


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

    `resume` is made by `Resume` or has `type` (msg, dial, wait_timeout, wait_expiration), `resumed_on`, and for
    messages and dials an `event` with the `msg` or `dial`. The given session is not changed. A new `contact` or
    `environment` replaces the session's. If it raises ResumeError, nothing has happened.

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
    if not accepts(node.router.wait, kind):
        raise ResumeError(f"a wait for {node.router.wait.type} cannot be resumed by {kind}")
    session.sprints += 1
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
    return leave_step(visit, route_timeout(visit, router, timeout.category_uuid) if timeout else route(visit, router))


def _finish(sprint: Sprint) -> tuple[Session, list[AnyEvent]]:
    sprint.session.segments = sprint.segments
    return sprint.session, cast("list[AnyEvent]", sprint.log.events)
