"""The state of a session: runs, their paths and results (flow format, sessions, sprints and runs), and the events of a
sprint, which a host performs and records in order (flow format, events).

All state can be written as JSON and read back without loss.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeAlias

from flows.engine.contact import Contact
from flows.engine.errors import ContactError, SessionStateError
from flows.engine.input_schemas import SESSION, Required, find_mismatch
from flows.engine.options import GENERATIONS
from flows.environment import Clock, Environment, EnvironmentSettingError, write_moment
from flows.expressions.evaluator import TextResult, ValueResult

Event: TypeAlias = Mapping[str, Any]
"""An event as plain data; `flows.events` has the types of each kind."""


"""A moment as events and stored sessions have it: ISO 8601 with microseconds and offset."""


class EventLog:
    """Collects the events of one sprint.

    Every event has `type` and `created_on`, in generation 14 `uuid`, and in 13 `step_uuid` while a step is being
    visited. The events of one log are plain data, ready for JSON.
    """

    __slots__ = ("_clock", "_generation", "events", "step_uuid")

    def __init__(self, clock: Clock, generation: int) -> None:
        self._clock = clock
        self._generation = generation
        self.events: list[Event] = []
        self.step_uuid = ""

    def add(self, kind: str, fields: Mapping[str, Any] | None = None, *, uuid: str = "") -> Event:
        """Adds an event of a type; `uuid` is given if something else already has the event's UUID."""
        event: dict[str, Any] = {"uuid": uuid or self._clock.uuid()} if self._generation >= 14 else {}
        event["type"] = kind
        event["created_on"] = write_moment(self._clock.now())
        if self.step_uuid:
            event["step_uuid"] = self.step_uuid
        if fields:
            event.update(fields)
        self.events.append(event)
        return event

    def error(self, text: str, code: str = "", extra: Mapping[str, str] | None = None) -> None:
        """Something went wrong and the flow continues."""
        self._add_text("error", text, code, extra)

    def warning(self, text: str, code: str = "", extra: Mapping[str, str] | None = None) -> None:
        """A deprecated feature was used; only generation 14 has this event."""
        if self._generation >= 14:
            self._add_text("warning", text, code, extra)

    def failure(self, text: str) -> None:
        """The run and its session fail."""
        self._add_text("failure", text, "", None)

    def missing_dependency(self, kind: str, reference: Mapping[str, Any]) -> None:
        """An asset that the definition refers to does not exist."""
        identity, key = ("key", reference.get("key", "")) if "key" in reference else ("uuid", reference.get("uuid", ""))
        described = f"{kind}[{identity}={key},name={reference.get('name', '')}]"
        self.error(f"Missing dependency: {described}", "dependency:missing", {"type": kind, "identity": str(key)})

    def report(self, result: TextResult | ValueResult) -> None:
        """Logs the errors of a template: one event per expression (14) or one for all of them (13)."""
        for warning in dict.fromkeys(result.warnings):
            self.warning(warning, "context:deprecated")
        if self._generation < 14:
            if result.errors:
                self.error(", ".join(result.errors))
            return
        for error in result.errors:
            self.report_expression(error.expression, error.reason)

    def report_expression(self, expression: str, reason: str) -> None:
        """Logs that one expression, given as written, could not be evaluated."""
        if self._generation < 14:
            self.error(f"error evaluating {expression}: {reason}")
            return
        code = "expression:too_complex" if "too complex" in reason else "expression"
        self.error(f"Error evaluating expression: {reason}", code, {"expression": expression})

    def _add_text(self, kind: str, text: str, code: str, extra: Mapping[str, str] | None) -> None:
        if self._generation < 14:
            self.add(kind, {"text": _begin_lower(text)})
            return
        fields: dict[str, Any] = {"text": text}
        if code:
            fields["code"] = code
        if extra:
            fields["extra"] = dict(extra)
        self.add(kind, fields)


def _begin_lower(text: str) -> str:
    # In generation 13 these texts begin in lower case, except abbreviations.
    return text[0].lower() + text[1:] if text[1:2].islower() else text


STAMP = 2
"""The version of the stored form; to be raised whenever it changes."""

WAITING = "waiting"
ACTIVE = "active"
COMPLETED = "completed"
FAILED = "failed"
EXPIRED = "expired"
INTERRUPTED = "interrupted"
RUN_STATUSES = (ACTIVE, WAITING, COMPLETED, FAILED, EXPIRED, INTERRUPTED)


class Step(NamedTuple):
    """A visit of a node. `exit_uuid` is empty until the node is left; only generation 13 gives steps UUIDs."""

    node_uuid: str
    arrived_on: str
    exit_uuid: str = ""
    uuid: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        read = source.get
        return cls(source["node_uuid"], source["arrived_on"], read("exit_uuid") or "", read("uuid") or "")

    def left_by(self, exit_uuid: str) -> Self:
        """The same visit, ended."""
        return type(self)(self.node_uuid, self.arrived_on, exit_uuid, self.uuid)

    def to_json(self) -> dict[str, Any]:
        """The stored form, without empty parts."""
        written = {"uuid": self.uuid} if self.uuid else {}
        written["node_uuid"] = self.node_uuid
        written["arrived_on"] = self.arrived_on
        if self.exit_uuid:
            written["exit_uuid"] = self.exit_uuid
        return written


class Result(NamedTuple):
    """A named value saved in a run. `extra` is plain data or None."""

    name: str
    value: str
    category: str
    category_localized: str
    node_uuid: str
    input: str
    extra: Any
    created_on: str

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        read = source.get
        return cls(
            read("name") or "",
            read("value") or "",
            read("category") or "",
            read("category_localized") or "",
            read("node_uuid") or "",
            read("input") or "",
            read("extra"),
            read("created_on") or "",
        )

    def to_json(self) -> dict[str, Any]:
        """The stored form; value and name are always there."""
        optional = _present(
            category=self.category,
            category_localized=self.category_localized,
            node_uuid=self.node_uuid,
            input=self.input,
            created_on=self.created_on,
        )
        extra = {} if self.extra is None else {"extra": self.extra}
        return {"name": self.name, "value": self.value, **optional, **extra}


@dataclass(slots=True)
class Run:
    """A run through one flow. `flow` is a reference with revision; times are ISO strings. `saved` is every result of
    the current sprint, each with the index of its step; it is not part of the stored form.
    """

    uuid: str
    flow: Mapping[str, Any]
    created_on: str
    modified_on: str
    status: str = ACTIVE
    parent_uuid: str = ""
    exited_on: str = ""
    had_input: bool = False
    path: list[Step] = field(default_factory=list)
    results: dict[str, Result] = field(default_factory=dict)
    locals: dict[str, str] = field(default_factory=dict)
    webhook: Any = None
    saved: list[tuple[int, Result]] = field(default_factory=list, compare=False)

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        if source["status"] not in RUN_STATUSES:
            raise SessionStateError(f"{source['status']!r} is not a status of runs")
        return cls(
            source["uuid"],
            dict(source["flow"]),
            source.get("created_on") or "",
            source.get("modified_on") or "",
            parent_uuid=source.get("parent_uuid") or "",
            exited_on=source.get("exited_on") or "",
            status=source["status"],
            had_input=bool(source.get("had_input")),
            path=[Step.from_json(step) for step in source.get("path") or ()],
            results={key: Result.from_json(item) for key, item in (source.get("results") or {}).items()},
            locals=dict(source.get("locals") or {}),
            webhook=source.get("webhook"),
        )

    def to_json(self) -> dict[str, Any]:
        """The stored form; `exited_on` is null until the run has ended."""
        written = {
            "uuid": self.uuid,
            "flow": dict(self.flow),
            "status": self.status,
            "created_on": self.created_on,
            "modified_on": self.modified_on,
            "exited_on": self.exited_on or None,
            "path": [step.to_json() for step in self.path],
        }
        results = {key: result.to_json() for key, result in self.results.items()}
        optional = _present(parent_uuid=self.parent_uuid, had_input=self.had_input, results=results, locals=self.locals)
        return {**written, **optional, **({} if self.webhook is None else {"webhook": self.webhook})}

    def copy(self) -> Self:
        """A run that can be changed without changing this one."""
        return replace(self, path=list(self.path), results=dict(self.results), locals=dict(self.locals), saved=[])

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.status not in (ACTIVE, WAITING)


@dataclass(slots=True)
class Session:
    """A session of one contact, started by one trigger. `trigger`, `call` and `input` are plain data: what started it,
    its phone call, and the last message. `environment` is the workspace's; while the session runs, the contact's own
    settings override it. `pause` says what ends the present wait if that is not a message (flows.engine.pauses), and
    `callbacks` how many waits for a callback have ended, and `pause_ended_on` when the last pause ended.
    """

    uuid: str
    type: str
    generation: int
    trigger: Mapping[str, Any]
    contact: Contact
    environment: Environment
    created_on: str
    status: str = ACTIVE
    call: Mapping[str, Any] | None = None
    input: Mapping[str, Any] | None = None
    runs: list[Run] = field(default_factory=list)
    sprints: int = 0
    pause: str = ""
    callbacks: int = 0
    pause_ended_on: str = ""
    segments: list[dict[str, Any]] = field(default_factory=list, compare=False)

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form from any source: all of it is checked. Raises SessionStateError."""
        mismatch = find_mismatch(source, Required(SESSION))
        if mismatch:
            raise SessionStateError(f"session cannot be read: {mismatch} is missing or of another type")
        return cls._read(source)

    @classmethod
    def from_own_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form that only `to_json` can have written; raises SessionStateError. If its stamp says that
        `to_json` of this version wrote it, its parts are not checked again.
        """
        if source.get("stamp") != STAMP:
            return cls.from_json(source)
        try:
            return cls._read(source)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise SessionStateError(f"session cannot be read: {error!r}") from error

    @classmethod
    def _read(cls, source: Mapping[str, Any]) -> Self:
        if source["generation"] not in GENERATIONS:
            raise SessionStateError(f"{source['generation']!r} is not a generation of the format")
        try:
            return cls(
                source["uuid"],
                source["type"],
                source["generation"],
                dict(source["trigger"]),
                Contact.from_checked_json(source["contact"]),
                Environment.from_json(source.get("environment") or {}),
                source["created_on"],
                source["status"],
                source.get("call"),
                source.get("input"),
                [Run.from_json(run) for run in source.get("runs") or ()],
                int(source.get("sprints") or 0),
                source.get("pause") or "",
                int(source.get("callbacks") or 0),
                source.get("pause_ended_on") or "",
            )
        except (EnvironmentSettingError, ContactError) as error:
            raise SessionStateError(f"session cannot be read: {error}") from error

    def to_json(self) -> dict[str, Any]:
        """The stored form: plain data for JSON, from which `from_json` makes an equal session."""
        written = {
            "stamp": STAMP,
            "uuid": self.uuid,
            "type": self.type,
            "generation": self.generation,
            "status": self.status,
            "created_on": self.created_on,
            "trigger": dict(self.trigger),
            "contact": self.contact.to_json(),
            "environment": self.environment.to_json(),
            "runs": [run.to_json() for run in self.runs],
            "sprints": self.sprints,
        }
        optional = _present(call=self.call, input=self.input, pause=self.pause, callbacks=self.callbacks)
        optional |= _present(pause_ended_on=self.pause_ended_on)
        return {**written, **optional}

    def copy(self) -> Self:
        """A session that can be changed without changing this one."""
        return replace(self, contact=self.contact.copy(), runs=[run.copy() for run in self.runs])

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a resume."""
        return self.status == WAITING

    @property
    def is_batch(self) -> bool:
        """Whether the session is being started as one of a batch; after its first sprint this is false."""
        return bool(self.trigger.get("batch")) and self.sprints <= 1

    @property
    def waiting_run(self) -> Run | None:
        """The run that waits."""
        return next((run for run in self.runs if run.status == WAITING), None)

    def find_run(self, uuid: str) -> Run | None:
        """The run of a UUID."""
        return next((run for run in self.runs if run.uuid == uuid), None)


def _present(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}
