"""Runs flows: sessions, triggers, resumes, modifiers and events (flow format, the engine).

The engine is pure. It reads no system clock, database or network: time, random numbers and identifiers come from a
clock object, everything else from services. The result is a session and a list of events that the host performs.
"""

from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.engine import CheckedTrigger, interrupt, resume, start
from flows.engine.errors import (
    AssetsError,
    ContactError,
    EngineError,
    ModifierError,
    ResumeError,
    SessionStateError,
    TriggerError,
)
from flows.engine.modifiers import ContactEditor, apply_modifier
from flows.engine.options import Options
from flows.engine.services import NO_SERVICES, ServiceError, Services
from flows.engine.state import Event, EventLog, Result, Run, Session, Step

__all__ = ["NO_SERVICES", "Assets", "AssetsError", "CheckedTrigger", "Contact", "ContactEditor", "ContactError"]
__all__ += ["EngineError", "Event", "EventLog", "ModifierError", "Options", "Result", "ResumeError", "Run"]
__all__ += ["ServiceError", "Services", "Session", "SessionStateError", "Step", "TriggerError"]
__all__ += ["apply_modifier", "interrupt", "resume", "start"]
