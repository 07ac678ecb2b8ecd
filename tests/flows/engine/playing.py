"""Small flows and the sessions they lead to, for tests of the engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flows import Assets, Environment, Options, Services, Session, resume, start
from tests.flows.hypothesis.workspace import CHANNEL, CHILD, CONTACT_JSON, FLOW, make_assets, make_uuid, refer

Json = dict[str, Any]
ENVIRONMENT = Environment(allowed_languages=("eng", "spa"), default_country="US", timezone="Africa/Kigali")
NOW = datetime(2025, 5, 4, 12, 30, tzinfo=UTC)


@dataclass
class CountingClock:
    """Stands still, draws one number and counts UUIDs."""

    drawn: Decimal = Decimal("0.5")
    count: int = 0

    def now(self) -> datetime:
        return NOW

    def random(self) -> Decimal:
        return self.drawn

    def uuid(self) -> str:
        self.count += 1
        return make_uuid(99999, self.count)


def as_read(value: Any) -> Any:
    """Data as hosts have it, who read it from JSON: equal words are different objects there."""
    return json.loads(json.dumps(value))


def node(number: int, *actions: Json, router: Json | None = None, to: int | None = None) -> Json:
    """A node; all its categories leave by one exit unless its router has others."""
    uuids = [{"uuid": make_uuid(2, number * 100 + place), **action} for place, action in enumerate(actions)]
    exits = [{"uuid": make_uuid(5, number), "destination_uuid": None if to is None else make_uuid(1, to)}]
    made: Json = {"uuid": make_uuid(1, number), "actions": uuids, "exits": exits}
    return made if router is None else {**made, "router": router}


def switch(number: int, operand: str, *cases: tuple[str, list[str], str], **more: Any) -> Json:
    """A switch whose cases are test, arguments and category name; everything else is `Other`."""
    names = list(dict.fromkeys([name for _, _, name in cases] + ["Other"]))
    uuids = {name: make_uuid(4, number * 100 + place) for place, name in enumerate(names)}
    categories = [{"uuid": uuids[name], "name": name, "exit_uuid": make_uuid(5, number)} for name in names]
    tests = [
        {"uuid": make_uuid(3, number * 100 + place), "type": kind, "arguments": arguments, "category_uuid": uuids[name]}
        for place, (kind, arguments, name) in enumerate(cases)
    ]
    router = {"type": "switch", "operand": operand, "cases": tests, "categories": categories, "result_name": "Answer"}
    return {**router, "default_category_uuid": uuids["Other"], **more}


def ask(number: int, *, seconds: int = 0, to: int | None = None) -> Json:
    """A node that waits for a message; `Yes` or `Other`."""
    wait: Json = {"type": "msg"}
    router = switch(number, "@input.text", ("has_any_word", ["yes"], "Yes"), wait=wait)
    if seconds:
        wait["timeout"] = {"seconds": seconds, "category_uuid": router["default_category_uuid"]}
    return node(number, router=router, to=to)


def flow(*nodes: Json, uuid: str = FLOW, **more: Any) -> Json:
    made = {"uuid": uuid, "name": "Thing", "spec_version": "14.4.2", "language": "eng", "type": "messaging"}
    return {**made, "revision": 1, "expire_after_minutes": 60, "localization": {}, "nodes": list(nodes), **more}


@dataclass
class Played:
    """A session as it goes on, and the events of its last sprint."""

    assets: Assets
    session: Session
    events: list[Json]
    services: Services
    options: Options
    clock: CountingClock = field(default_factory=CountingClock)

    def answer(self, text: str) -> Played:
        message = {"text": text, "urn": "tel:+12065551212", "channel": refer(CHANNEL)}
        event = {"uuid": make_uuid(7), "type": "msg_received", "created_on": "2025-05-04T12:31:00Z", "msg": message}
        return self.wake({"type": "msg", "event": event})

    def wake(self, given: Json) -> Played:
        """Goes on from the stored form of the session."""
        stored = Session.from_json(self.session.to_json())
        assert stored == self.session
        resumed = as_read({"resumed_on": "2025-05-04T12:31:00Z", **given})
        self.session, self.events = resume(
            stored, resumed, assets=self.assets, clock=self.clock, services=self.services, options=self.options
        )
        return self

    def of(self, kind: str) -> list[Json]:
        """The events of a kind, without what all events have."""
        common = ("uuid", "type", "created_on", "step_uuid")
        return [
            {name: part for name, part in event.items() if name not in common}
            for event in self.events
            if event["type"] == kind
        ]

    @property
    def errors(self) -> list[str]:
        return [event["text"] for event in self.events if event["type"] == "error"]

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]


def play(
    *nodes: Json,
    child: Json | None = None,
    trigger: Json | None = None,
    contact: Json | None = None,
    services: Services | None = None,
    options: Options | None = None,
    assets: Json | None = None,
    call: Json | None = None,
    **more: Any,
) -> Played:
    """Starts a flow of these nodes with the contact of the workspace."""
    options = options or Options()
    source = {**make_assets(options.generation), **(assets or {})}
    source["flows"] = [flow(*nodes, **more), child or flow(ask(200), uuid=CHILD)]
    known = Assets.from_json(as_read(source), options.generation)
    begun = {"type": "manual", "flow": refer(FLOW), "triggered_on": "2025-05-04T12:30:00Z", **(trigger or {})}
    clock, services = CountingClock(), services or Services()
    person = {**CONTACT_JSON, **(contact or {})}
    session, events = start(
        known, as_read(person), as_read(begun), ENVIRONMENT, clock=clock, services=services, options=options, call=call
    )
    return Played(known, session, events, services, options, clock)
