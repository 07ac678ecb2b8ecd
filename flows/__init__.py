"""Flows as a library: definitions, the engine that runs them, their expressions and the contact query language.

Nothing here needs a database, a network or a clock. To run a flow:

* `load(definition)` reads a definition of any version and checks it; `inspect(flow)` says what it needs and produces.
* `start(assets, contact, Trigger.manual(flow))` begins a session,
  `resume(session, Resume.message("Yes"), assets=assets)` continues a waiting one. Both return a session, which
  `to_json` and `Session.from_json` store and read, and the events that a host performs; `AnyEvent` is their type.
* `read_export(document)` reads an export file, whose `flows` are definitions.
* `evaluate(template, context)` and `parse_query(text)` use the two languages without a flow.

Every function takes an optional `environment` (the formats and languages of a workspace) and an optional `clock`.

Calls to other systems go through `Services`; `flows.engine.services` has the requests and replies of each, such as
WebhookRequest and WebhookReply.

Invalid input raises one of five errors: DefinitionError, ExportError, EngineError and its subclasses, QueryError,
EnvironmentSettingError. A template never raises an error: what is wrong with it is part of its result.

>>> uuids = [f"00000000-0000-4000-8000-{number:012d}" for number in range(5)]
>>> greeting = {"type": "send_msg", "uuid": uuids[2], "text": "Hi @contact.first_name"}
>>> node = {"uuid": uuids[1], "actions": [greeting], "exits": [{"uuid": uuids[3]}]}
>>> flow = {"uuid": uuids[0], "name": "Greet", "spec_version": "14.4.2", "language": "eng", "type": "messaging"}
>>> greet = load({**flow, "nodes": [node]})
>>> assets = Assets(flows=[greet])
>>> session, events = start(assets, {"uuid": uuids[4], "name": "Ann Lee"}, Trigger.manual(greet))
>>> session.status, [event["msg"]["text"] for event in events if event["type"] == "msg_created"]
('completed', ['Hi Ann'])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flows.causes import Resume, Trigger
    from flows.definition import DefinitionError, Flow, Inspection, inspect, load
    from flows.definition.exports import ExportError, ExportFile, read_export
    from flows.engine import (
        Assets,
        Contact,
        EngineError,
        Options,
        ResumeError,
        ServiceError,
        Services,
        Session,
        TriggerError,
        interrupt,
        resume,
        start,
    )
    from flows.environment import Clock, Environment, EnvironmentSettingError, SystemClock
    from flows.events import AnyEvent
    from flows.queries import QueryError, parse_query
    from flows.templates import evaluate

__all__ = ["AnyEvent", "Assets", "Clock", "Contact", "DefinitionError", "EngineError", "Environment"]
__all__ += ["EnvironmentSettingError", "ExportError", "ExportFile", "Flow", "Inspection", "Options"]
__all__ += ["QueryError", "Resume", "ResumeError", "ServiceError", "Services", "Session", "SystemClock"]
__all__ += ["Trigger", "TriggerError", "evaluate", "inspect", "interrupt", "load", "parse_query"]
__all__ += ["read_export", "resume", "start"]

_HOMES = {
    "flows.causes": ("Resume", "Trigger"),
    "flows.definition": ("DefinitionError", "Flow", "Inspection", "inspect", "load"),
    "flows.definition.exports": ("ExportError", "ExportFile", "read_export"),
    "flows.engine": (
        *("Assets", "Contact", "EngineError", "Options", "ResumeError", "ServiceError", "Services", "Session"),
        "TriggerError",
        *("interrupt", "resume", "start"),
    ),
    "flows.environment": ("Clock", "Environment", "EnvironmentSettingError", "SystemClock"),
    "flows.events": ("AnyEvent",),
    "flows.queries": ("QueryError", "parse_query"),
    "flows.templates": ("evaluate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    # Most programs need only one part, such as URNs, and should not wait for the rest to be imported.
    if name not in _HOME_OF:
        raise AttributeError(f"module 'flows' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
