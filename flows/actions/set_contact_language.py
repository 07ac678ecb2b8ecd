"""Sets the language of the contact (flow format, set_contact_language)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import template
from flows.engine.modifiers.editor import change_property
from flows.engine.visit import Visit
from flows.languages import is_language

LANGUAGE_LETTERS = 3


@action_type({"language": template()}, drawn="Set language to {language}", palette="contact")
def set_contact_language(visit: Visit, action: Action) -> None:
    """Sets or clears the language."""
    language, is_fine = visit.try_text(action.text("language"))
    language = language.strip()
    if not is_fine:
        return
    if language and len(language) != LANGUAGE_LETTERS:
        visit.log.error(f"iso-639-3 codes must be {LANGUAGE_LETTERS} characters, got: {language}")
    elif language and not is_language(language.lower()):
        visit.log.error(f"unrecognized language code: {language}")
    else:
        visit.change_contact(lambda editor: change_property(editor, "language", language.lower()))
