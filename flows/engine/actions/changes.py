"""How actions change the contact (flow format, actions on contacts)."""

from __future__ import annotations

from collections.abc import Callable

from flows.engine.modifiers.editor import ContactEditor
from flows.engine.visit import Visit


def change_contact(visit: Visit, change: Callable[[ContactEditor], bool]) -> bool:
    """Makes a change; if it was one, groups and settings follow. Whether it was."""
    editor = visit.sprint.edit_contact()
    changed = change(editor)
    if changed:
        editor.settle_groups()
        visit.sprint.forget_environment()
    return changed
