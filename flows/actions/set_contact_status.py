"""Sets the status of the contact (flow format, set_contact_status)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import one_of
from flows.engine.contact import STATUSES
from flows.engine.modifiers.editor import change_property
from flows.engine.visit import Visit


@action_type({"status": one_of(STATUSES)}, drawn="Set status to {status}", palette="contact")
def set_contact_status(visit: Visit, action: Action) -> None:
    """Sets the status."""
    visit.change_contact(lambda editor: change_property(editor, "status", action.fields["status"]))
