"""Sets a field of the contact (flow format, set_contact_field)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import reference, template
from flows.engine.modifiers.editor import change_field
from flows.engine.visit import Visit


@action_type(
    {"field": reference("field", key="key", required=True), "value": template()},
    drawn="Set {field} to {value}",
    palette="contact",
)
def set_contact_field(visit: Visit, action: Action) -> None:
    """Sets or clears a field; after an expression with an error the field is not changed."""
    text, is_fine = visit.try_text(action.text("value"))
    given = action.fields["field"]
    field = visit.sprint.assets.fields.get(given["key"])
    if not is_fine:
        return
    if field is None:
        visit.log.missing_dependency("field", given)
        return
    visit.change_contact(lambda editor: change_field(editor, field, text))
