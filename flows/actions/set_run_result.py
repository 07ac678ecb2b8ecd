"""Saves a result (flow format, set_run_result)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import template, text, translated
from flows.engine.visit import Visit


@action_type(
    {"name": text(required=True), "value": template(), "category": translated(text())},
    result_field="name",
    category_field="category",
    drawn="Save {name} = {value}",
    palette="keep",
)
def set_run_result(visit: Visit, action: Action) -> None:
    """Saves a result; after an expression with an error the old result stays."""
    value, is_fine = visit.try_text(action.text("value"))
    if not is_fine:
        return
    category = action.text("category")
    localized = ""
    if category:
        texts, language = visit.localize(action.uuid, "category", [category])
        localized = texts[0] if language != visit.flow.language and texts else ""
    visit.save_result(action.fields["name"], value, category, localized=localized)
