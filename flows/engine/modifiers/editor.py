"""Changes a contact and keeps its smart groups up to date (flow format, contact)."""

from dataclasses import dataclass, replace

from flows.clock import Clock
from flows.engine.assets import Assets, Group
from flows.engine.contact import Contact
from flows.engine.events import EventLog
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.engine.services import NO_SERVICES, Services
from flows.engine.smart_groups import Membership
from flows.environment import Environment


@dataclass(slots=True)
class ContactEditor:
    """What a change needs: the contact to change in place, its assets and settings, and the log for events.
    `environment` is used to read the contact's texts; groups are evaluated with the `workspace`'s environment, by
    default the same. `typed_text` is the message of the contact, trimmed.
    """

    contact: Contact
    assets: Assets
    environment: Environment
    clock: Clock
    log: EventLog
    services: Services = NO_SERVICES
    options: Options = DEFAULT_OPTIONS
    workspace: Environment | None = None
    typed_text: str = ""

    def update_groups(self, *, keeps_others: bool = False) -> None:
        """Updates the groups with queries; a contact that is not active has none of them, and after a change no others
        either. `keeps_others`: nothing has changed yet, and what people put the contact into stays.
        """
        smart = [group for group in self.assets.groups.values() if group.is_smart]
        if not self.contact.is_active:
            removed = [group.uuid for group in smart if group.uuid in self.contact.groups]
            removed += [uuid for uuid in self.contact.groups if uuid not in removed and not keeps_others]
            self.log_groups([], removed)
            return
        if smart:
            membership = Membership(self.contact, self.assets, self._query_environment())
            joins = {group.uuid: membership.includes(group) for group in smart}
            groups = set(self.contact.groups)
            added = [group for group in smart if joins[group.uuid] and group.uuid not in groups]
            self.log_groups(added, [uuid for uuid, fits in joins.items() if not fits and uuid in groups])

    def log_groups(self, added: list[Group], removed: list[str]) -> bool:
        """Adds and removes memberships and logs their event; returns whether there were any."""
        if not added and not removed:
            return False
        names = self.contact.group_names
        written = {
            "groups_added": [group.reference for group in added],
            "groups_removed": [{"uuid": uuid, "name": self._group_name(uuid)} for uuid in removed],
        }
        self.contact.groups = [uuid for uuid in self.contact.groups if uuid not in removed]
        for uuid in removed:
            names.pop(uuid, None)
        for group in added:
            self.contact.groups.append(group.uuid)
            names[group.uuid] = group.name
        self.log.add("contact_groups_changed", {key: groups for key, groups in written.items() if groups})
        return True

    def _query_environment(self) -> Environment:
        environment = self.workspace or self.environment
        if self.options.groups_see_urns and environment.redacts_urns:
            environment = replace(environment, redaction_policy="none")
        return environment

    def _group_name(self, uuid: str) -> str:
        group = self.assets.groups.get(uuid)
        return group.name if group else self.contact.group_names.get(uuid, "")
