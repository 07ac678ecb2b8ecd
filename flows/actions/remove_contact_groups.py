"""Removes the contact from groups (flow format, remove_contact_groups)."""

from collections.abc import Mapping
from typing import Any

from flows.definition import Action
from flows.definition.action_types import action_type
from flows.definition.fields import MOST_REFERENCES, CheckFailed, boolean, items, named
from flows.engine.modifiers.editor import remove_from_groups
from flows.engine.recipients import find_groups
from flows.engine.visit import Visit


def check_choice(fields: Mapping[str, Any]) -> None:
    """Checks that it is either some groups or all of them."""
    if fields.get("all_groups") and fields.get("groups"):
        raise CheckFailed("groups and all_groups cannot be given together", "groups")


@action_type(
    {"groups": items(named("group"), MOST_REFERENCES), "all_groups": boolean()},
    rule=check_choice,
    drawn="Remove from {groups:all groups}",
    palette="contact",
)
def remove_contact_groups(visit: Visit, action: Action) -> None:
    """Removes the contact from groups, or from all groups without a query."""
    if action.fields.get("all_groups"):
        known = visit.sprint.assets.groups
        joined = (known.get(uuid) for uuid in visit.sprint.session.contact.groups)
        groups = [group for group in joined if group is not None and not group.is_smart]
    else:
        groups = find_groups(visit, action.fields.get("groups") or ())
    if groups:
        visit.change_contact(lambda editor: remove_from_groups(editor, groups))
