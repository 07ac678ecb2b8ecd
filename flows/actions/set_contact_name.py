"""Sets the name of the contact (flow format, set_contact_name)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import VALUE_LENGTH, template
from flows.engine.modifiers.editor import change_name
from flows.engine.visit import Visit


@action_type({"name": template(VALUE_LENGTH)}, drawn="Set name to {name}", palette="contact")
def set_contact_name(visit: Visit, action: Action) -> None:
    """Sets the name; after an expression with an error the name is not changed."""
    name, is_fine = visit.try_text(action.text("name"))
    if is_fine:
        visit.change_contact(lambda editor: change_name(editor, name.strip()))
