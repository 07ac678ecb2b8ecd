"""Flows as a library: definitions, the engine that runs them, their expressions and the contact query language.

Nothing here knows a database, a network or a clock. What is needed to play a flow:

* `load(definition)` reads a definition of any version and checks it; `inspect(flow)` says what it needs and produces.
* `start(assets, contact, trigger, environment, clock=...)` begins a session, `resume(session, message, assets=...,
  clock=...)` wakes a waiting one. Both give back a session, which `to_json` and `Session.from_json` store, and the
  events that a host carries out.
* `evaluate(template, context, clock=...)` and `parse_query(text, environment)` are the two languages by themselves.

Everything that is refused is refused by one of five errors: DefinitionError, EngineError and its kinds, QueryError,
EnvironmentSettingError, PlaceError. A template is never refused: what is wrong with it is part of its result.

>>> from flows.clock import SystemClock
>>> uuids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(5)]
>>> greeting = {"type": "send_msg", "uuid": uuids[2], "text": "Hi @contact.first_name"}
>>> node = {"uuid": uuids[1], "actions": [greeting], "exits": [{"uuid": uuids[3]}]}
>>> flow = {"uuid": uuids[0], "name": "Greet", "spec_version": "14.4.2", "language": "eng", "type": "messaging"}
>>> assets = Assets(flows=[{**flow, "nodes": [node]}])
>>> trigger = {"type": "manual", "flow": {"uuid": uuids[0], "name": "Greet"}}
>>> contact = {"uuid": uuids[4], "name": "Ann Lee"}
>>> session, events = start(assets, contact, trigger, Environment(), clock=SystemClock())
>>> session.status, [event["msg"]["text"] for event in events if event["type"] == "msg_created"]
('completed', ['Hi Ann'])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.clock import Clock, SystemClock
    from flows.definition import DefinitionError, Flow, Inspection, inspect, load
    from flows.engine import (
        Assets,
        Contact,
        EngineError,
        Options,
        ServiceError,
        Services,
        Session,
        interrupt,
        resume,
        start,
    )
    from flows.environment import Environment, EnvironmentSettingError
    from flows.queries import QueryError, parse_query
    from flows.templates import evaluate

__all__ = [
    "Assets",
    "Clock",
    "Contact",
    "DefinitionError",
    "EngineError",
    "Environment",
    "EnvironmentSettingError",
    "Flow",
    "Inspection",
    "Options",
    "QueryError",
    "ServiceError",
    "Services",
    "Session",
    "SystemClock",
    "evaluate",
    "inspect",
    "interrupt",
    "load",
    "parse_query",
    "resume",
    "start",
]

_HOMES = {
    "flows.clock": ("Clock", "SystemClock"),
    "flows.definition": ("DefinitionError", "Flow", "Inspection", "inspect", "load"),
    "flows.engine": (
        *("Assets", "Contact", "EngineError", "Options", "ServiceError", "Services", "Session"),
        *("interrupt", "resume", "start"),
    ),
    "flows.environment": ("Environment", "EnvironmentSettingError"),
    "flows.queries": ("QueryError", "parse_query"),
    "flows.templates": ("evaluate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Most programs need one corner, such as addresses, and should not wait for the rest to be imported.
    if name not in _HOME_OF:
        raise AttributeError(f"module 'flows' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)
