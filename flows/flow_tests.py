"""Tests of flows: what somebody says in the contact's place, and what the flow must do then. They stand in a definition
under `_ui.tests`, which other programs keep or leave out, and are played without a host (docs/flows.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from flows.definition import Flow
from flows.definition.raw_parts import TESTS, UI
from flows.engine import Assets, EngineError, Options, ResumeError
from flows.engine.options import DEFAULT_OPTIONS
from flows.engine.state import Event
from flows.environment import Clock, Environment, parse_moment
from flows.simulation import CALLBACK, DIAL, MESSAGE, SaidAnswers, Simulation, make_contact

MOST_TESTS, MOST_STEPS = 200, 500
"""Of a flow, and of a test."""
LONGEST_PASS = 3_660 * 86_400
"""Seconds that can pass in a test: ten years."""
LARGEST_STATUS = 599
"""Of a webhook."""
BEGINS = range(1970, 2201)
"""Years in which a test can begin."""
PARTS = {"name", "contact", "params", "at", "services", "steps", "then"}
RESUMES = {"timeout": "wait_timeout", "expire": "wait_expiration"}
STEPS = {"expect", "say", "attachments", "call", CALLBACK, "pass", *RESUMES}
OUTCOMES = {"status", "name", "language", "results", "fields", "groups", "not_groups"}
SERVICES = {"webhooks", "classifiers", "llm", "airtime", "email"}
WRITTEN = ("msg_created", "ivr_created")


class FlowTestError(ValueError):
    """A test that cannot be read; the message says where it is wrong."""


class OutOfTimeError(Exception):
    """A test was stopped, because its caller does not wait any longer."""


@dataclass(frozen=True, slots=True)
class FlowTest:
    """A test as it was read. `at` is when the conversation begins; without it, now."""

    name: str
    contact: Mapping[str, Any]
    params: Mapping[str, Any]
    at: datetime | None
    services: SaidAnswers
    steps: Sequence[Mapping[str, Any]]
    then: Mapping[str, Any]


def read_tests(definition: Mapping[str, Any]) -> list[FlowTest]:
    """The tests of a definition; raises FlowTestError."""
    ui = definition.get(UI)
    given = ui.get(TESTS) if isinstance(ui, Mapping) else None
    if given is None:
        return []
    if not isinstance(given, list) or len(given) > MOST_TESTS:
        raise FlowTestError(f"tests must be a list of at most {MOST_TESTS}")
    return [_read_test(each, f"tests[{at}]") for at, each in enumerate(given)]


def play_test(
    test: FlowTest,
    flow: Flow,
    assets: Assets,
    clock: Clock,
    environment: Environment | None,
    *,
    options: Options = DEFAULT_OPTIONS,
    may_go_on: Callable[[], bool] = lambda: True,
) -> list[str]:
    """What the flow did otherwise than the test says, a sentence each. Raises FlowTestError, and OutOfTimeError if it
    may not go on.
    """
    player = _Player(test, flow, assets, _PassingClock(clock, test.at), environment, options, may_go_on)
    return list(player.play())


@dataclass(slots=True)
class _PassingClock:
    """A clock that begins at a time, if one is given, and goes on as a test says."""

    clock: Clock
    begun: datetime | None
    passed: timedelta = timedelta()

    def now(self) -> datetime:
        return (self.begun or self.clock.now()) + self.passed

    def random(self) -> Decimal:
        return self.clock.random()

    def uuid(self) -> str:
        return self.clock.uuid()


@dataclass(slots=True)
class _Player:
    test: FlowTest
    flow: Flow
    assets: Assets
    clock: _PassingClock
    environment: Environment | None
    options: Options
    may_go_on: Callable[[], bool]
    written: list[Event] = field(default_factory=list)

    def play(self) -> Iterator[str]:
        try:
            contact = make_contact(self._contact(), self.flow, self.assets, self.clock, self.environment)
            simulation, events = Simulation.begin(
                *(self.assets, self.flow, contact, self.test.params, self.clock, self.environment),
                services=self.test.services.as_services(),
                options=self.options,
            )
        except EngineError as error:
            raise FlowTestError(str(error)) from error
        self._note(events)
        for number, step in enumerate(self.test.steps, 1):
            if "expect" in step:
                yield from (f"step {number}: {each}" for each in self._compare_messages(step["expect"]))
                continue
            if "pass" in step:
                self.clock.passed += timedelta(seconds=step["pass"])
                continue
            self.written.clear()
            if not self.may_go_on():
                raise OutOfTimeError
            try:
                self._note(_answer(simulation, step))
            except ResumeError as error:
                yield f"step {number}: {error}"
                return
        yield from self._compare_end(simulation)

    def _contact(self) -> dict[str, Any]:
        """The contact with its groups by UUID, as the engine has them."""
        groups = []
        for name in self.test.contact.get("groups") or ():
            group = self.assets.find_group_by_name(str(name))
            if group is None:
                raise FlowTestError(f"contact.groups: there is no group {name!r}")
            groups.append({"uuid": group.uuid, "name": group.name})
        return {**self.test.contact, "groups": groups}

    def _note(self, events: Sequence[Event]) -> None:
        self.written += [event["msg"] for event in events if event["type"] in WRITTEN]

    def _compare_messages(self, expected: Sequence[Any]) -> Iterator[str]:
        wanted = [each if isinstance(each, Mapping) else {"text": each} for each in expected]
        if len(wanted) != len(self.written):
            said = ", ".join(repr(str(each.get("text") or "")) for each in self.written) or "nothing"
            yield f"{len(wanted)} messages are expected, the flow wrote {said}"
            return
        for want, message in zip(wanted, self.written, strict=True):
            for part, value in want.items():
                got = _part_of(message, part)
                if got != (value.strip() if isinstance(value, str) else value):
                    yield f"{part} is {got!r}, expected {value!r}"

    def _compare_end(self, simulation: Simulation) -> Iterator[str]:
        session, then = simulation.session, self.test.then
        contact = session.contact
        results = session.runs[0].results if session.runs else {}
        groups = {name.lower() for uuid in contact.groups for name in (self._group_name(uuid, contact.group_names),)}
        for key, actual in (("status", session.status), ("name", contact.name), ("language", contact.language)):
            if key in then and then[key] != actual:
                yield f"{key} is {actual!r}, expected {then[key]!r}"
        for key, want in (then.get("results") or {}).items():
            shown = results[key].to_json() if key in results else {}
            for part, value in (want if isinstance(want, Mapping) else {"value": want}).items():
                if (None if value is None else str(value)) != shown.get(part):
                    yield f"result {key}: {part} is {shown.get(part)!r}, expected {value!r}"
        for key, want in (then.get("fields") or {}).items():
            text = contact.fields[key].text if key in contact.fields else None
            if text != (None if want is None else str(want)):
                yield f"field {key} is {text!r}, expected {want!r}"
        yield from (f"not in the group {each!r}" for each in then.get("groups") or () if each.lower() not in groups)
        yield from (f"in the group {each!r}" for each in then.get("not_groups") or () if each.lower() in groups)

    def _group_name(self, uuid: str, names: Mapping[str, str]) -> str:
        known = self.assets.groups.get(uuid)
        return known.name if known else names.get(uuid, "")


def _part_of(message: Mapping[str, Any], part: str) -> Any:
    if part == "quick_replies":
        return [str(each.get("text") or "") for each in message.get(part) or ()]
    if part == "attachments":
        return list(message.get(part) or ())
    return str(message.get(part) or "").strip()


def _answer(simulation: Simulation, step: Mapping[str, Any]) -> Sequence[Event]:
    for word, kind in RESUMES.items():
        if word in step:
            return simulation.answer(kind)
    if "call" in step:
        return simulation.answer(DIAL, step["call"])
    if CALLBACK in step:
        return simulation.answer(CALLBACK, step[CALLBACK])
    return simulation.answer(MESSAGE, step.get("say") or "", step.get("attachments") or ())


def _read_test(given: object, place: str) -> FlowTest:
    test = _object(given, place, PARTS)
    name = test.get("name")
    if not isinstance(name, str) or not name.strip():
        raise FlowTestError(f"{place}.name must be a text")
    at = test.get("at")
    moment = parse_moment(at) if isinstance(at, str) else None
    if at is not None and moment is None:
        raise FlowTestError(f"{place}.at must be a time, like 2026-05-04T08:00:00Z")
    if moment is not None and moment.year not in BEGINS:
        raise FlowTestError(f"{place}.at must be from {BEGINS[0]} to {BEGINS[-1]}")
    given_steps = _list(test.get("steps") or [], f"{place}.steps", MOST_STEPS)
    steps = [_read_step(each, f"{place}.steps[{number}]") for number, each in enumerate(given_steps)]
    if sum(each.get("pass", 0) for each in steps) > LONGEST_PASS:
        raise FlowTestError(f"{place}.steps: at most {LONGEST_PASS} seconds can pass in a test")
    return FlowTest(
        name,
        _read_contact(test.get("contact") or {}, f"{place}.contact"),
        _object(test.get("params") or {}, f"{place}.params", None),
        moment,
        _read_services(test.get("services") or {}, f"{place}.services"),
        steps,
        _read_then(test.get("then") or {}, f"{place}.then"),
    )


def _read_contact(given: object, place: str) -> Mapping[str, Any]:
    contact = _object(given, place, None)
    _object(contact.get("fields") or {}, f"{place}.fields", None)
    _texts(contact.get("groups") or [], f"{place}.groups")
    return contact


def _read_step(given: object, place: str) -> Mapping[str, Any]:
    step = _object(given, place, STEPS)
    if len(step) != 1 and set(step) != {"say", "attachments"}:
        raise FlowTestError(f"{place} must be one of expect, say, timeout, expire, call, callback and pass")
    for part in ("say", "call", CALLBACK):
        if part in step and not isinstance(step[part], str):
            raise FlowTestError(f"{place}.{part} must be a text: put it into quotes")
    seconds = step.get("pass", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 <= seconds <= LONGEST_PASS:
        raise FlowTestError(f"{place}.pass must be a number of seconds, at most {LONGEST_PASS}")
    _texts(step.get("attachments") or [], f"{place}.attachments")
    for number, each in enumerate(_list(step.get("expect") or [], f"{place}.expect", MOST_STEPS)):
        if not isinstance(each, str):
            _object(each, f"{place}.expect[{number}]", {"text", "attachments", "quick_replies"})
    return step


def _read_then(given: object, place: str) -> Mapping[str, Any]:
    then = _object(given, place, OUTCOMES)
    for part in ("results", "fields"):
        _object(then.get(part) or {}, f"{place}.{part}", None)
    for part in ("groups", "not_groups"):
        _texts(then.get(part) or [], f"{place}.{part}")
    return then


def _read_services(given: object, place: str) -> SaidAnswers:
    said = _object(given, place, SERVICES)
    webhooks = [_read_webhook(each, where) for each, where in _items(said, "webhooks", place)]
    classifiers = [_read_classifier(each, where) for each, where in _items(said, "classifiers", place)]
    if not isinstance(said.get("llm"), str | None):
        raise FlowTestError(f"{place}.llm must be a text")
    failing = frozenset(name for name in ("airtime", "email") if said.get(name) == "fails")
    return SaidAnswers(webhooks, classifiers, said.get("llm"), failing)


def _read_webhook(given: object, place: str) -> Mapping[str, Any]:
    webhook = _object(given, place, {"url", "status", "body"})
    status = webhook.get("status", 200)
    if isinstance(status, bool) or not isinstance(status, int) or not 0 <= status <= LARGEST_STATUS:
        raise FlowTestError(f"{place}.status must be a number from 0 to {LARGEST_STATUS}")
    return webhook


def _read_classifier(given: object, place: str) -> Mapping[str, Any]:
    classifier = _object(given, place, {"name", "intents"})
    for each, where in _items(classifier, "intents", place):
        confidence = _object(each, where, {"name", "confidence"}).get("confidence")
        if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 <= confidence <= 1:
            raise FlowTestError(f"{where}.confidence must be a number from 0 to 1")
        if not isinstance(each.get("name"), str):
            raise FlowTestError(f"{where}.name must be a text")
    return classifier


def _items(given: Mapping[str, Any], part: str, place: str) -> Iterator[tuple[Any, str]]:
    """What a list has, each with its place."""
    listed = _list(given.get(part) or [], f"{place}.{part}", MOST_STEPS)
    return ((each, f"{place}.{part}[{number}]") for number, each in enumerate(listed))


def _object(given: object, place: str, known: set[str] | None) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise FlowTestError(f"{place} must be an object")
    unknown = set() if known is None else set(given) - known
    if unknown:
        raise FlowTestError(f"{place}: {', '.join(sorted(unknown))} means nothing here")
    return given


def _list(given: object, place: str, most: int) -> list[Any]:
    if not isinstance(given, list) or len(given) > most:
        raise FlowTestError(f"{place} must be a list of at most {most}")
    return given


def _texts(given: object, place: str) -> None:
    if not all(isinstance(each, str) for each in _list(given, place, MOST_STEPS)):
        raise FlowTestError(f"{place} must be a list of texts")
