"""Running the engine for leased contacts, outside any transaction."""

import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

from flows.clock import Clock
from flows.definition import DefinitionError, Flow
from flows.definition.action_types import action_types
from flows.engine import Contact, Event, Options, ResumeError, Session, SessionStateError, TriggerError, resume, start
from flows.engine.services import Services
from flows.environment import Environment
from worker.flows.asset_cache import DatabaseAssets
from worker.flows.repeatable_chance import RepeatableChance

logger = logging.getLogger("relayboard.worker")

OPTIONS = Options(interface_events=True, classifiers=True, stable_transfers=True, groups_see_urns=True, extra=True)
SESSIONS = UUID("b8a0d7c4-1f52-4e0b-8a36-2d9d1c57e2f9")
"""The namespace of their UUIDs."""
CALL_THREADS = 16
ENTER_FLOW = "enter_flow"


@dataclass(frozen=True, slots=True)
class Task:
    """What is to happen to one contact: a trigger starts a session, or a resume wakes the one that waits.

    `state` is the waiting session's stored form and `session_id` its row. `message_id` is the incoming message behind
    it, `start_id` the flow start, `run_uuid` the run that was made ahead for it. `cause` names what triggered it for
    good: the UUID of the message, the call or the start. With `is_passive` the contact goes on waiting where it waits.
    """

    contact_id: int
    trigger: Mapping[str, Any] | None = None
    resume: Mapping[str, Any] | None = None
    session_id: int | None = None
    state: Mapping[str, Any] | None = None
    message_id: int | None = None
    start_id: int | None = None
    run_uuid: str | None = None
    cause: str = ""
    is_passive: bool = False

    @property
    def is_sprint(self) -> bool:
        """Whether there is something for the engine to do."""
        return self.trigger is not None or self.state is not None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task: the session with its events. Without one there was nothing to do, or `refusal` says why not.

    `is_broken` means that the waiting session cannot go on at all, or that the flow could not be begun: its run failed.
    """

    task: Task
    session: Session | None = None
    events: Sequence[Event] = field(default_factory=tuple)
    refusal: str = ""
    is_broken: bool = False


class SprintRunner:
    """What sprints of one workspace need: its assets and environment, the clock, and the engine's services.

    `secret_key` keeps chance from being foreseen.
    """

    def __init__(
        self,
        assets: DatabaseAssets,
        environment: Environment,
        clock: Clock,
        services: Services,
        before_task: Callable[[], None],
        secret_key: str,
    ) -> None:
        self.assets = assets
        self.environment = environment
        self.clock = clock
        self.services = services
        self.before_task = before_task
        self._key = secret_key.encode()

    def run(self, tasks: Sequence[Task], contacts: Mapping[int, Contact]) -> list[Outcome]:
        """The outcomes of tasks, each of another contact. Those that may call the outside run side by side."""
        known = [task for task in tasks if task.is_sprint and task.contact_id in contacts]
        calling = [task for task in known if self._may_call(task)] if len(known) > 1 else []
        outcomes: list[Outcome] = []
        if calling:
            with ThreadPoolExecutor(min(CALL_THREADS, len(calling)), thread_name_prefix="sprint") as pool:
                outcomes = list(pool.map(lambda task: self._run(task, contacts[task.contact_id]), calling))
        done = {task.contact_id for task in calling}
        outcomes += [self._run(task, contacts[task.contact_id]) for task in known if task.contact_id not in done]
        done |= {task.contact_id for task in known}
        return outcomes + [Outcome(task) for task in tasks if task.contact_id not in done]

    def _run(self, task: Task, contact: Contact) -> Outcome:
        self.before_task()
        try:
            outcome = self._start(task, contact) if task.trigger is not None else self._resume(task, contact)
            _log_failures(contact, outcome.events)
            return outcome
        except Exception as error:
            # One contact's trouble must not keep the others waiting; its session fails, and the log says why.
            logger.exception("a sprint of contact %s failed", contact.uuid)
            return Outcome(task, refusal=f"unexpected: {type(error).__name__}", is_broken=True)

    def _start(self, task: Task, contact: Contact) -> Outcome:
        assert task.trigger is not None
        # Run anew it is the same session, so that whoever is asked for something again can tell.
        session_uuid = str(uuid5(SESSIONS, f"{task.cause} {contact.uuid}")) if task.cause else self.clock.uuid()
        try:
            session, events = start(
                self.assets,
                contact,
                task.trigger,
                self.environment,
                clock=RepeatableChance(self.clock, self._key, f"{session_uuid} 1"),
                services=self.services,
                options=OPTIONS,
                run_uuid=task.run_uuid or "",
                session_uuid=session_uuid,
            )
        except TriggerError as error:
            logger.warning("contact %s was not started: %s", contact.uuid, error)
            return Outcome(task, refusal=str(error), is_broken=True)
        return Outcome(task, session, events)

    def _resume(self, task: Task, contact: Contact) -> Outcome:
        assert task.state is not None
        assert task.resume is not None
        try:
            waiting = Session.from_own_json(task.state)
            session, events = resume(
                waiting,
                task.resume,
                assets=self.assets,
                environment=self.environment,
                clock=RepeatableChance(self.clock, self._key, f"{waiting.uuid} {waiting.sprints + 1}"),
                services=self.services,
                options=OPTIONS,
                contact=contact,
            )
        except ResumeError as error:
            return Outcome(task, refusal=str(error))
        except SessionStateError as error:
            logger.error("the session of contact %s cannot be read: %s", contact.uuid, error)
            return Outcome(task, refusal=str(error), is_broken=True)
        return Outcome(task, session, events)

    def _may_call(self, task: Task) -> bool:
        if task.trigger is not None:
            return self._calls(str(task.trigger["flow"]["uuid"]), set())
        runs = (task.state or {}).get("runs") or ()
        return any(self._calls(str(run["flow"]["uuid"]), set()) for run in runs)

    def _calls(self, flow_uuid: str, seen: set[str]) -> bool:
        """Whether a flow, or one that it enters, has an action that calls the outside."""
        if flow_uuid in seen:
            return False
        seen.add(flow_uuid)
        try:
            flow = self.assets.find_flow(flow_uuid)
        except DefinitionError:
            return False
        return flow is not None and any(
            action_types()[action.type].calls_out
            or (action.type == ENTER_FLOW and self._calls(str(action.fields["flow"]["uuid"]), seen))
            for action in _actions_of(flow)
        )


def _log_failures(contact: Contact, events: Sequence[Event]) -> None:
    for event in events:
        if event["type"] == "failure":
            logger.warning("the flow of contact %s failed: %s", contact.uuid, event["text"])


def _actions_of(flow: Flow) -> list[Any]:
    return [action for node in flow.nodes for action in node.actions]
