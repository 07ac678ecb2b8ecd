"""Sets a local variable (flow format, set_run_local)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import VALUE_LENGTH, local_name, one_of, template
from flows.engine.visit import Visit

OPERATIONS = frozenset({"clear", "increment", "set"})
MOST_DIGITS = 36


@action_type(
    {"local": local_name(), "value": template(VALUE_LENGTH), "operation": one_of(OPERATIONS)},
    drawn="{operation} local {local}",
    palette="keep",
)
def set_run_local(visit: Visit, action: Action) -> None:
    """Sets, increments or clears a local variable."""
    name, operation = action.fields["local"], action.fields["operation"]
    value, is_fine = visit.try_text(action.text("value"))
    if not is_fine:
        return
    if operation == "clear":
        visit.run.locals.pop(name, None)
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
    is_whole = digits.isascii() and digits.isdigit() and len(digits) <= MOST_DIGITS
    return int(text.strip()) if is_whole else None
