"""The documented errors of the engine; any other exception is a bug (flow format, triggers and resumes)."""


class EngineError(Exception):
    """Base of the engine's exceptions. The caller's session and contact are not changed."""


class AssetsError(EngineError):
    """Assets cannot be read."""


class ContactError(EngineError):
    """A contact cannot be read."""


class SessionStateError(EngineError):
    """A stored session cannot be read."""


class TriggerError(EngineError):
    """A trigger cannot be read, or names a flow that does not exist or cannot be read."""


class ResumeError(EngineError):
    """A resume cannot be read, the session is not waiting, or its wait does not accept this kind of resume."""


class ModifierError(EngineError):
    """A modifier cannot be read."""
