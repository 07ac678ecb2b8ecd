"""Actions that save results and local variables (flow format, data and integrations)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.visit import Visit

SUCCESS = "Success"
FAILURE = "Failure"


def set_run_result(visit: Visit, action: Action) -> None:
    """Saves a result; an expression in error leaves the old one."""
    value, is_fine = visit.try_text(action.fields.get("value") or "")
    if not is_fine:
        return
    category = action.fields.get("category") or ""
    localized = ""
    if category:
        texts, language = visit.localize(action.uuid, "category", [category])
        localized = texts[0] if language != visit.flow.language and texts else ""
    visit.save_result(action.fields["name"], value, category, localized=localized)


def set_run_local(visit: Visit, action: Action) -> None:
    """Sets, increments or clears a local variable."""
    name, operation = action.fields["local"], action.fields["operation"]
    if operation == "clear":
        visit.run.locals.pop(name, None)
        return
    value, is_fine = visit.try_text(action.fields.get("value") or "")
    if not is_fine:
        return
    if operation == "set":
        visit.run.locals[name] = value
        return
    increment = _read_whole(value)
    if increment is None:
        visit.log.error("Increment value is not an integer")
        return
    visit.run.locals[name] = str((_read_whole(visit.run.locals.get(name, "")) or 0) + increment)


def _read_whole(text: str) -> int | None:
    digits = text.strip().removeprefix("-")
    is_whole = digits.isascii() and digits.isdigit() and len(digits) <= 36
    return int(text.strip()) if is_whole else None
