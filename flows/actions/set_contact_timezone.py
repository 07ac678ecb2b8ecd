"""Sets the timezone of the contact (flow format, set_contact_timezone)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import template
from flows.engine.modifiers.editor import change_property
from flows.engine.visit import Visit
from flows.environment import is_timezone


@action_type({"timezone": template()}, drawn="Set timezone to {timezone}", palette="contact")
def set_contact_timezone(visit: Visit, action: Action) -> None:
    """Sets or clears the timezone."""
    timezone, is_fine = visit.try_text(action.text("timezone"))
    timezone = timezone.strip()
    if not is_fine:
        return
    if timezone and not is_timezone(timezone):
        visit.log.error(f"Unrecognized timezone: '{timezone}'", "timezone:invalid", {"timezone": timezone})
        return
    visit.change_contact(lambda editor: change_property(editor, "timezone", timezone))
