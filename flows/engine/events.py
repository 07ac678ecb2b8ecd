"""Creates events, which a host performs and records in order (flow format, events)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from flows.environment import Clock, write_moment
from flows.expressions.templates import TextResult, ValueResult

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
