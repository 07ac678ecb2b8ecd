"""Actions that put the contact into groups and take it out (flow format, actions on contacts)."""

from __future__ import annotations

from flows.definition import Action
from flows.engine.actions.changes import change_contact
from flows.engine.actions.references import find_groups
from flows.engine.modifiers import membership
from flows.engine.visit import Visit


def add_contact_groups(visit: Visit, action: Action) -> None:
    """Adds the contact to groups."""
    groups = find_groups(visit, action.fields.get("groups") or ())
    if groups:
        change_contact(visit, lambda editor: membership.add_to_groups(editor, groups))


def remove_contact_groups(visit: Visit, action: Action) -> None:
    """Takes the contact out of groups, or out of all that have no query."""
    if action.fields.get("all_groups"):
        known = visit.sprint.assets.groups
        joined = (known.get(uuid) for uuid in visit.sprint.session.contact.groups)
        groups = [group for group in joined if group is not None and not group.is_smart]
    else:
        groups = find_groups(visit, action.fields.get("groups") or ())
    if groups:
        change_contact(visit, lambda editor: membership.remove_from_groups(editor, groups))
