"""Changes to contacts, each logging events only if something really changed (flow format, actions on contacts)."""

from flows.engine.modifiers.editor import ContactEditor
from flows.engine.modifiers.reading import apply_modifier

__all__ = ["ContactEditor", "apply_modifier"]
