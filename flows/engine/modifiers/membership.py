"""Adds contacts to groups and removes them (flow format, actions on contacts)."""

from collections.abc import Iterable

from flows.engine.assets import Group
from flows.engine.modifiers.editor import ContactEditor

CLOSED_STATUSES = ("blocked", "stopped", "archived")


def add_to_groups(editor: ContactEditor, groups: Iterable[Group]) -> bool:
    """Adds the contact to each group that it is not in yet; returns whether there was any."""
    if editor.contact.status in CLOSED_STATUSES:
        editor.log.error("Can't add blocked or stopped contacts to groups")
        return False
    added: list[Group] = []
    for group in groups:
        if group.is_smart:
            editor.log.error(f"Can't add contacts to the query based group '{group.name}'")
        elif group.uuid not in editor.contact.groups and group not in added:
            added.append(group)
    return editor.log_groups(added, [])


def remove_from_groups(editor: ContactEditor, groups: Iterable[Group]) -> bool:
    """Removes the contact from each group that it is in; returns whether there was any."""
    removed: list[str] = []
    for group in groups:
        if group.is_smart:
            editor.log.error(f"Can't remove contacts from the query based group '{group.name}'")
        elif group.uuid in editor.contact.groups and group.uuid not in removed:
            removed.append(group.uuid)
    return editor.log_groups([], removed)
