"""Adds the contact to groups (flow format, add_contact_groups)."""

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import MOST_REFERENCES, items, named
from flows.engine.modifiers.editor import add_to_groups
from flows.engine.recipients import find_groups
from flows.engine.visit import Visit


@action_type(
    {"groups": items(named("group"), MOST_REFERENCES, required=True)}, drawn="Add to {groups}", palette="contact"
)
def add_contact_groups(visit: Visit, action: Action) -> None:
    """Adds the contact to the groups that exist."""
    groups = find_groups(visit, action.fields.get("groups") or ())
    if groups:
        visit.change_contact(lambda editor: add_to_groups(editor, groups))
