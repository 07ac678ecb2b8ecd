"""Runs the engine for leased contacts, outside of transactions, and keeps the events of each sprint with its contact
and its flow.
"""

import hmac
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import sha1
from typing import Any, NamedTuple
from uuid import UUID

from flows.engine import (
    CheckedTrigger,
    Contact,
    Event,
    Options,
    ResumeError,
    Session,
    SessionStateError,
    TriggerError,
    resume,
    start,
)
from flows.engine.services import Services
from flows.environment import RANDOM_DIGITS, Clock, Environment
from persistence.flows.assets import DatabaseAssets
from persistence.leases import GIVEN_UP
from persistence.messages.incoming import ANEW, GOING_ON, NEUTRAL

logger = logging.getLogger("relayboard.worker")

OPTIONS = Options(interface_events=True, classifiers=True, stable_transfers=True, groups_see_urns=True, extra=True)
SESSIONS = UUID("b8a0d7c4-1f52-4e0b-8a36-2d9d1c57e2f9")
"""The namespace of their UUIDs."""

FlowReference = Mapping[str, Any]


@dataclass(slots=True)
class RepeatableChance:
    """A clock for one sprint whose random numbers are derived from a key and the sprint's name. If a worker is killed
    after it called another system and before it recorded that, another worker runs the sprint again: random splits must
    then take the same way, so that the same calls are made.
    """

    clock: Clock
    key: bytes = field(repr=False)
    sprint: str
    _drawn: int = 0

    def now(self) -> datetime:
        """The current time in UTC."""
        return self.clock.now()

    def uuid(self) -> str:
        """A new UUID."""
        return self.clock.uuid()

    def random(self) -> Decimal:
        """A number in [0, 1) with sixteen digits."""
        self._drawn += 1
        digest = hmac.digest(self.key, f"{self.sprint} {self._drawn}".encode(), "sha256")
        return Decimal(int.from_bytes(digest) % 10**RANDOM_DIGITS).scaleb(-RANDOM_DIGITS)


def derive_uuid(name: str) -> str:
    """The UUID of a session by its name: `uuid5`, which takes four times as long."""
    digits = sha1(SESSIONS.bytes + name.encode(), usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


class Task(NamedTuple):
    """The work for one contact: a trigger starts a session, or a resume continues the waiting one. `state` is the
    waiting session's stored form and `session_id` its row. `message_id` is the incoming message that caused it,
    `start_id` the flow start, `run_uuid` the run that was created ahead for it. `cause` is the UUID of the message,
    the call or the start. With `is_passive` the contact's waiting session is not interrupted; `is_by_flow` says
    that a flow asked for the start. With `is_given_up` it has ended too many workers and fails.
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
    is_by_flow: bool = False
    is_given_up: bool = False

    @property
    def automatic(self) -> int:
        """What causes the messages that are sent."""
        if self.start_id is not None and not self.is_by_flow:
            return NEUTRAL
        return GOING_ON if self.trigger is None else ANEW

    @property
    def is_sprint(self) -> bool:
        """Whether the engine has something to do."""
        return self.trigger is not None or self.state is not None


class Outcome(NamedTuple):
    """The result of a task: the session with its events. Without a session there was nothing to do, or `refusal` says
    why not. `is_broken` means that the waiting session cannot continue, or that the flow could not be started: its run
    failed.
    """

    task: Task
    session: Session | None = None
    events: Sequence[Event] = ()
    refusal: str = ""
    is_broken: bool = False


class SprintRunner:
    """Runs sprints of one workspace with its assets and environment, the clock, and the engine's services. `secret_key`
    makes random numbers unpredictable.
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
        self._checked: tuple[Mapping[str, Any] | None, CheckedTrigger | None] = None, None

    def run(self, tasks: Sequence[Task], contacts: Mapping[int, Contact]) -> list[Outcome]:
        """The outcomes of tasks, each of another contact, one after the other."""
        known = [task for task in tasks if task.is_sprint and task.contact_id in contacts]
        outcomes = [self._run(task, contacts[task.contact_id]) for task in known]
        done = {task.contact_id for task in known}
        return outcomes + [Outcome(task) for task in tasks if task.contact_id not in done]

    def _run(self, task: Task, contact: Contact) -> Outcome:
        self.before_task()
        if task.is_given_up:
            logger.error("a sprint of contact %s was given up: %s", contact.uuid, GIVEN_UP)
            return Outcome(task, refusal=GIVEN_UP, is_broken=True)
        try:
            outcome = self._start(task, contact) if task.trigger is not None else self._resume(task, contact)
            _log_failures(contact, outcome.events)
            return outcome
        except Exception as error:
            # An error of one contact must not affect the others: its session fails, and the log says why.
            logger.exception("a sprint of contact %s failed", contact.uuid)
            return Outcome(task, refusal=f"unexpected: {type(error).__name__}", is_broken=True)

    def _start(self, task: Task, contact: Contact) -> Outcome:
        assert task.trigger is not None
        # If the sprint is run again the session has the same UUID, so that services can recognize repeated requests.
        session_uuid = derive_uuid(f"{task.cause} {contact.uuid}") if task.cause else self.clock.uuid()
        try:
            session, events = start(
                self.assets,
                contact,
                self._check(task.trigger),
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

    def _check(self, trigger: Mapping[str, Any]) -> CheckedTrigger:
        """The contacts of a batch share a trigger, which is checked once. Raises TriggerError."""
        known, checked = self._checked
        if checked is None or known is not trigger:
            checked = CheckedTrigger(trigger)
            self._checked = trigger, checked
        return checked

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


def find_receiver(assets: DatabaseAssets, task: Task) -> str | None:
    """The flow in which a task may call other systems, as the receiver of its slot; None if it cannot call."""
    if not task.is_sprint:
        return None
    if task.trigger is not None:
        uuids = [str(task.trigger["flow"]["uuid"])]
    else:
        uuids = _list_open_flows(task.state or {})
    return next((uuid for uuid in reversed(uuids) if assets.calls_out(uuid)), None)


class SprintEvent(NamedTuple):
    """An event, the contact and the session of its sprint, and the flow by UUID and name. `is_bulk` events happened
    because the flow was started for many contacts, not because the contact wrote. `automatic` says what causes their
    messages (`persistence.messages.incoming`).
    """

    event: Event
    contact_id: int
    session: Session
    flow: FlowReference
    is_bulk: bool
    automatic: int


def first_flow(session: Session, state: Mapping[str, Any] | None) -> FlowReference:
    """The flow in which a sprint begins: the one that waited, or the one that was started."""
    for run in (state or {}).get("runs") or ():
        if run["status"] == "waiting":
            flow: FlowReference = run["flow"]
            return flow
    return session.runs[0].flow if session.runs else {}


def flows_of_events(
    session: Session, state: Mapping[str, Any] | None, events: Sequence[Event]
) -> Iterator[tuple[Event, FlowReference]]:
    """Each event with its flow; `state` is the session before the sprint, None for a start. After the end of a run its
    parent continues.
    """
    flow_of = {run.uuid: run.flow for run in session.runs}
    parent_of = {run.uuid: run.parent_uuid for run in session.runs}
    current = first_flow(session, state)
    for event in events:
        if event["type"] == "run_started":
            current = event["flow"]
        yield event, current
        if event["type"] == "run_ended":
            current = flow_of.get(parent_of.get(event["run_uuid"], ""), current)


def _list_open_flows(state: Mapping[str, Any]) -> list[str]:
    """The flows of the open runs; none for an invalid session, which the engine refuses."""
    try:
        return [str(run["flow"]["uuid"]) for run in state["runs"] if not run.get("exited_on")]
    except (KeyError, TypeError, AttributeError):
        return []


def _log_failures(contact: Contact, events: Sequence[Event]) -> None:
    for event in events:
        if event["type"] == "failure":
            logger.warning("the flow of contact %s failed: %s", contact.uuid, event["text"])
