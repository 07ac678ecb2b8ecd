"""Changes a contact and keeps its smart groups up to date (flow format, contact).

Adds contacts to groups and removes them (flow format, actions on contacts).

Opens and changes the tickets of a contact (flow format, open_ticket).

Changes the URNs of a contact and their preferred channels (flow format, actions on contacts).

Changes the plain properties and fields of a contact (flow format, actions on contacts).
"""

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from flows.dates import find_short_year, parse_datetime
from flows.engine.assets import Assets, Channel, Field, Group, Topic, User
from flows.engine.contact import Contact, FieldValue, Ticket, channel_uuid_of, with_channel
from flows.engine.options import DEFAULT_OPTIONS, Options
from flows.engine.services import NO_SERVICES, Services
from flows.engine.smart_groups import Membership
from flows.engine.state import EventLog
from flows.environment import Clock, Environment, in_zone_of, parse_moment, write_moment
from flows.numbers import NumberError, parse_decimal
from flows.places import DISTRICT, STATE, WARD, Place, find_first, find_path, is_possible_path
from flows.urns import Urn, UrnError, normalize, parse, validate
from flows.words import cut_between_letters

CLOSED_STATUSES = ("blocked", "stopped", "archived")

APPEND = "append"
REMOVE = "remove"
SET = "set"
Route = tuple[str, Channel | None]

_LEVELS = {"state": STATE, "district": DISTRICT, "ward": WARD}


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


def open_ticket(editor: ContactEditor, topic: Topic | None, assignee: User | None, note: str) -> Ticket | None:
    """Opens a ticket unless one is open already; returns the ticket. In generation 13 the note is the ticket's body."""
    if editor.contact.open_tickets:
        return None
    is_early = editor.options.is_early
    ticket = Ticket(
        editor.clock.uuid(),
        topic=topic.reference if topic else None,
        assignee=_refer(assignee, is_early=is_early) if assignee else None,
        body=note if is_early else "",
    )
    editor.contact.tickets.append(ticket)
    # In generation 13 all tickets of a session are open.
    unsaid = ("status",) if is_early else ()
    written = {name: part for name, part in ticket.to_json().items() if name not in unsaid}
    editor.log.add("ticket_opened", {"ticket": written})
    if note and not is_early:
        editor.log.add("ticket_note_added", {"ticket_uuid": ticket.uuid, "note": note})
    return ticket


def add_note(editor: ContactEditor, ticket_uuid: str, note: str) -> bool:
    """Adds a note; returns whether there is such a ticket."""
    if not any(ticket.uuid == ticket_uuid for ticket in editor.contact.tickets):
        return False
    editor.log.add("ticket_note_added", {"ticket_uuid": ticket_uuid, "note": note})
    return True


def close_ticket(editor: ContactEditor, ticket_uuid: str) -> bool:
    """Closes an open ticket; returns whether it was open."""
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, status="closed"))
    if changed:
        editor.log.add("ticket_closed", {"ticket_uuid": ticket_uuid})
    return changed


def reopen_ticket(editor: ContactEditor, ticket_uuid: str) -> bool:
    """Opens a closed ticket again unless another one is open; returns whether it did."""
    if editor.contact.open_tickets:
        return False
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, status="open"))
    if changed:
        editor.log.add("ticket_reopened", {"ticket_uuid": ticket_uuid})
    return changed


def assign_ticket(editor: ContactEditor, ticket_uuid: str, assignee: User | None) -> bool:
    """Assigns a ticket to a user, or to nobody; returns whether that changed anything. The event contains the
    previous assignee."""
    reference = assignee.reference if assignee else None
    previous = next((ticket.assignee for ticket in editor.contact.tickets if ticket.uuid == ticket_uuid), None)
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, assignee=reference))
    if changed:
        fields = {"ticket_uuid": ticket_uuid, "assignee": reference}
        editor.log.add("ticket_assignee_changed", {**fields, "prev_assignee": dict(previous)} if previous else fields)
    return changed


def change_ticket_topic(editor: ContactEditor, ticket_uuid: str, topic: Topic) -> bool:
    """Changes the topic of a ticket; returns whether that changed anything."""
    changed = _change(editor, ticket_uuid, lambda ticket: replace(ticket, topic=topic.reference))
    if changed:
        editor.log.add("ticket_topic_changed", {"ticket_uuid": ticket_uuid, "topic": topic.reference})
    return changed


def change_routes(editor: ContactEditor, routes: Sequence[Route], modification: str) -> bool:
    """Appends, removes or sets URNs, each with its preferred channel, or None to keep the channel. Appending a URN that
    the contact has already does not change it or its channel. URNs that are invalid or belong to another contact are
    reported and left out. Returns whether any changed.
    """
    wanted = [(urn, channel) for text, channel in routes if (urn := read_urn(editor, text)) is not None]
    if modification == REMOVE:
        gone = {urn.identity for urn, _ in wanted}
        return _replace(editor, [urn for urn in editor.contact.urns if urn.identity not in gone])
    kept = list(editor.contact.urns) if modification == APPEND else []
    for urn, channel in wanted:
        known = next((item for item in editor.contact.urns if item.identity == urn.identity), None)
        if known is None and not _claim(editor, urn, kept):
            continue
        chosen = known or urn
        if channel is not None and (known is None or modification == SET):
            chosen = with_channel(chosen, channel.uuid)
        _put(kept, chosen)
    return _replace(editor, kept)


def read_urn(editor: ContactEditor, text: str) -> Urn | None:
    """The valid, normalized URN of a string; None, with an error event, if it is not valid."""
    try:
        urn = normalize(parse(text), editor.environment.default_country)
        validate(urn)
    except UrnError:
        editor.log.error(f"'{text}' is not valid URN", "urn:invalid", {"urn": text})
        return None
    return urn


def set_affinity(editor: ContactEditor, urn: Urn, channel: Channel | None) -> bool:
    """Moves a URN of the contact to the front and sets its channel; returns whether anything changed."""
    known = next((item for item in editor.contact.urns if item.identity == urn.identity), None)
    if known is None:
        return False
    front = with_channel(known, channel.uuid) if channel else known
    return _replace(editor, [front, *(item for item in editor.contact.urns if item is not known)])


def prefer_channel(editor: ContactEditor, channel: Channel | None) -> bool:
    """Makes a channel preferred for the URNs that it serves, which move to the front; None clears all preferences.
    Phone numbers may change their channel; other URNs belong to the channel that they have. A channel that cannot send
    is reported. Returns whether anything changed.
    """
    urns = editor.contact.urns
    if channel is None:
        return _replace(editor, [with_channel(urn, "") for urn in urns])
    if not channel.can_send:
        editor.log.error("Can't set channel that can't send as the preferred channel")
        return False
    served = [_offer_channel(urn, channel) for urn in urns]
    first = [urn for urn in served if channel_uuid_of(urn) == channel.uuid]
    return _replace(editor, first + [urn for urn in served if channel_uuid_of(urn) != channel.uuid])


def change_name(editor: ContactEditor, name: str) -> bool:
    """Sets the name, cut to its limit; returns whether it changed."""
    return change_property(editor, "name", cut_between_letters(name, editor.options.contact_name_characters))


def change_property(editor: ContactEditor, name: str, value: str, event_name: str = "") -> bool:
    """Sets a property to a checked string, such as `language`, `timezone` or `status`; returns whether it changed."""
    if getattr(editor.contact, name) == value:
        return False
    setattr(editor.contact, name, value)
    editor.log.add(f"contact_{event_name or name}_changed", {name: value})
    return True


def change_last_seen(editor: ContactEditor, seen_on: str) -> bool:
    """Sets when the contact was last seen, an ISO string, unless the known time is later; returns whether it
    changed."""
    last, seen = editor.contact.last_seen_at, parse_moment(seen_on)
    if seen is None or (last is not None and seen <= last):
        return False
    return change_property(editor, "last_seen_on", seen_on, "last_seen")


def change_field(editor: ContactEditor, field: Field, text: str) -> bool:
    """Sets a field to a string and everything as which it can be read; an empty string clears it. Returns whether it
    changed."""
    contact = editor.contact
    old = contact.fields.get(field.key)
    text = cut_between_letters(text.strip(), editor.options.field_value_characters)
    new = read_field_value(editor, field, text) if text else None
    if _means_same(old, new):
        return False
    if new is None:
        contact.fields.pop(field.key, None)
    else:
        contact.fields[field.key] = new
    value = new.to_json() if new else None
    editor.log.add("contact_field_changed", {"field": field.reference, "value": value})
    if new is not None and new.moment is not None and field.type == "datetime":
        year = in_zone_of(new.moment, editor.environment.zone).year
        short = find_short_year(editor.environment, text, year)
        if short:
            editor.log.warning(f"The year '{short}' of '{text}' was read as {year}", "date:short_year")
    return True


def read_field_value(editor: ContactEditor, field: Field, text: str) -> FieldValue:
    """The value of a string for a field of a contact, with everything as which it can be read."""
    moment = parse_datetime(editor.environment, editor.clock, text, fill_time=True)
    place = _find_place(editor, field, text)
    return FieldValue(
        text,
        _read_number(editor, text),
        write_moment(moment) if moment else "",
        **{kind: place_path(place, level) for kind, level in _LEVELS.items()},
    )


def place_path(place: Place | None, level: int) -> str:
    """The path to a level of a place that is at least that deep; otherwise an empty string."""
    if place is None or place.level < level:
        return ""
    return " > ".join(part.strip() for part in place.path.split(">")[: level + 1])


def _refer(user: User, *, is_early: bool) -> dict[str, str]:
    return {"email": user.email, "name": user.name} if is_early else user.reference


def _change(editor: ContactEditor, ticket_uuid: str, change: Callable[[Ticket], Ticket]) -> bool:
    for index, ticket in enumerate(editor.contact.tickets):
        if ticket.uuid == ticket_uuid:
            editor.contact.tickets[index] = change(ticket)
            return editor.contact.tickets[index] != ticket
    return False


def _offer_channel(urn: Urn, channel: Channel) -> Urn:
    is_free = urn.scheme == "tel" or not channel_uuid_of(urn)
    return with_channel(urn, channel.uuid) if is_free and urn.scheme in channel.schemes else urn


def _claim(editor: ContactEditor, urn: Urn, kept: list[Urn]) -> bool:
    if len(kept) >= editor.options.urns_per_contact:
        editor.log.error(f"Contact has too many URNs, limit is {editor.options.urns_per_contact}")
        return False
    service = editor.services.urns
    if service is not None and not service.claim(editor.contact.uuid, urn):
        editor.log.error("URN is taken by another contact", "urn:taken", {"urn": urn.identity})
        return False
    return True


def _put(urns: list[Urn], urn: Urn) -> None:
    for index, known in enumerate(urns):
        if known.identity == urn.identity:
            urns[index] = urn
            return
    urns.append(urn)


def _replace(editor: ContactEditor, urns: list[Urn]) -> bool:
    if urns == editor.contact.urns:
        return False
    editor.contact.urns = urns
    editor.log.add("contact_urns_changed", {"urns": [str(urn) for urn in urns]})
    return True


def _read_number(editor: ContactEditor, text: str) -> Decimal | None:
    """Expressions write plain numbers, people write those of their number format. A text that is the message of the
    contact was written by a person.
    """
    formats = [None, editor.environment.number_format]
    if text == editor.typed_text:
        formats.reverse()
    for number_format in formats:
        with contextlib.suppress(NumberError):
            return parse_decimal(text, number_format)
        if text == editor.typed_text:
            return None
    return None


def _find_place(editor: ContactEditor, field: Field, text: str) -> Place | None:
    root = editor.assets.places
    if root is None:
        return None
    if is_possible_path(text):
        return find_path(root, text)
    if field.type == "state":
        return find_first(root, STATE, text)
    if field.type in ("district", "ward"):
        parent_kind = "state" if field.type == "district" else "district"
        parent = _find_parent(editor, parent_kind, root)
        return find_first(root, _LEVELS[field.type], text, parent) if parent else None
    return None


def _find_parent(editor: ContactEditor, kind: str, root: Place) -> Place | None:
    for field in editor.assets.fields.values():
        value = editor.contact.fields.get(field.key)
        path = getattr(value, kind) if field.type == kind and value else ""
        if path:
            return find_path(root, path)
    return None


def _means_same(old: FieldValue | None, new: FieldValue | None) -> bool:
    if old is None or new is None:
        return old is new
    # A date without a time gets the time of day when it was saved, which does not change the value.
    return (
        old.text == new.text
        and old.number == new.number
        and bool(old.datetime) == bool(new.datetime)
        and ((old.state, old.district, old.ward) == (new.state, new.district, new.ward))
    )
