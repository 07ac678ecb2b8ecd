"""Runs flows: sessions, triggers, resumes, modifiers and events (flow format, the engine).

The engine is pure. It reads no clock, database or network: time, chance and identifiers come from a clock, everything
else from services, and what happened is given back as a session and a list of events for the host to carry out.
"""

from flows.engine.assets import Assets
from flows.engine.contact import Contact
from flows.engine.engine import interrupt, resume, start
from flows.engine.errors import (
    AssetsError,
    ContactError,
    EngineError,
    ModifierError,
    ResumeError,
    SessionStateError,
    TriggerError,
)
from flows.engine.events import Event, EventLog
from flows.engine.modifiers import ContactEditor, apply_modifier
from flows.engine.options import Options
from flows.engine.services import NO_SERVICES, ServiceError, Services
from flows.engine.state import Result, Run, Session, Step

__all__ = ["NO_SERVICES", "Assets", "AssetsError", "Contact", "ContactEditor", "ContactError"]
__all__ += ["EngineError", "Event", "EventLog", "ModifierError", "Options", "Result", "ResumeError", "Run"]
__all__ += ["ServiceError", "Services", "Session", "SessionStateError", "Step", "TriggerError"]
__all__ += ["apply_modifier", "interrupt", "resume", "start"]
