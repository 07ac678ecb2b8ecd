"""The contact and what belongs to it, as values (flow format, expression context).

The sources of the expression context.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from flows.definition import Node
from flows.engine.assets import Assets, Channel, Field
from flows.engine.contact import Contact, Ticket, without_query
from flows.engine.options import Options
from flows.engine.state import Run, Session
from flows.environment import Environment, in_zone_of
from flows.expressions.conversions import render
from flows.expressions.values import Deprecated, Getter, Property, Shape, Value, XArray, XObject, XRecord
from flows.urn_schemes import SCHEMES
from flows.urns import Urn, write_contact_reference

REDACTED_PATH = "********"
_EARLY_SCHEMES = frozenset({"discord"})

# Cached, because with hundreds of fields they should not be built for every template.
_field_shapes: WeakKeyDictionary[Assets, Shape] = WeakKeyDictionary()


@dataclass(slots=True)
class ContactSource:
    """A contact, with what decides how it is shown."""

    contact: Contact
    assets: Assets
    environment: Environment
    is_early: bool


def contact_value(source: ContactSource) -> XObject:
    """`@contact`: as text its name, otherwise its first URN, otherwise nothing."""
    return XRecord(_EARLY_CONTACT if source.is_early else _CONTACT, source)


def preferred_urn(contact: Contact, assets: Assets, environment: Environment) -> str | None:
    """The URN that messages go to, as flows may show it; None if no channel can send to any."""
    routes = contact.find_routes(assets)
    return show_urn(routes[0][0], environment) if routes else None


def describe_contact(contact: Contact, environment: Environment) -> str:
    """The text of a contact: the name, otherwise the first URN as people write it, or the id if URNs are redacted."""
    if contact.name:
        return contact.name
    if environment.redacts_urns:
        return str(contact.id)
    return contact.urns[0].show() if contact.urns else ""


def fields_value(source: ContactSource) -> XObject:
    """`@fields`: every field's value in its own type, null when unset."""
    shape = _field_shapes.get(source.assets)
    if shape is None:
        getters = {field.key: partial(_field_value, field) for field in source.assets.fields.values()}
        shape = _field_shapes[source.assets] = Shape(getters, default=_describe_fields)
    return XRecord(shape, source)


def urns_value(source: ContactSource) -> XObject:
    """`@urns`: the first URN of every scheme, null if there is none."""
    return XRecord(_EARLY_URNS if source.is_early else _URNS, source)


def show_urn(urn: Urn, environment: Environment) -> str:
    """A URN as flows may show it, without its path if URNs are redacted."""
    if environment.redacts_urns:
        return f"{urn.scheme}:{REDACTED_PATH}"
    return without_query(urn)


def channel_value(channel: Channel | None) -> XObject | None:
    """A channel; as text its name."""
    if channel is None:
        return None
    properties: dict[str, Property] = {"uuid": channel.uuid, "name": channel.name, "address": channel.address}
    return XObject(properties, default=channel.name)


def ticket_value(ticket: Ticket, assets: Assets, *, is_early: bool) -> XObject:
    """A ticket with its topic and assignee, and in generation 13 with its ticketer and body."""
    topic = assets.topics.get((ticket.topic or {}).get("uuid", ""))
    properties: dict[str, Property] = {
        "uuid": ticket.uuid,
        "topic": named(topic.uuid, topic.name) if topic else None,
        "assignee": user_value(ticket.assignee, assets),
    }
    if is_early:
        properties |= {"subject": "", "body": ticket.body}
    return XObject(properties)


def user_value(reference: Mapping[str, Any] | None, assets: Assets) -> Value:
    """A user from a reference; as text the name, or the e-mail address."""
    if not reference:
        return None
    found = assets.users.get(reference.get("uuid", "")) or assets.find_user_by_email(reference.get("email", "-"))
    if found is None:
        return None
    properties: dict[str, Property] = {
        "email": found.email,
        "name": found.name,
        "first_name": next(iter(found.name.split()), ""),
    }
    return XObject(properties, default=found.name or found.email)


def _tickets_value(source: ContactSource) -> XArray:
    tickets = source.contact.open_tickets
    return XArray([ticket_value(ticket, source.assets, is_early=source.is_early) for ticket in tickets])


def _first_name(source: ContactSource) -> str:
    return next(iter(source.contact.name.split()), "")


def _groups_value(source: ContactSource) -> XArray:
    return XArray([_group_value(uuid, source.contact, source.assets) for uuid in source.contact.groups])


_GETTERS: dict[str, Getter] = {
    "uuid": lambda source: source.contact.uuid,
    "id": lambda source: str(source.contact.id),
    "name": lambda source: source.contact.name,
    "first_name": _first_name,
    "language": lambda source: source.contact.language,
    "timezone": lambda source: source.contact.timezone or None,
    "status": lambda source: source.contact.status,
    "created_on": lambda source: source.contact.created_at,
    "last_seen_on": lambda source: source.contact.last_seen_at,
    "urns": lambda source: XArray([show_urn(urn, source.environment) for urn in source.contact.urns]),
    "urn": lambda source: preferred_urn(source.contact, source.assets, source.environment),
    "groups": _groups_value,
    "fields": fields_value,
    "channel": lambda source: channel_value(source.contact.find_preferred_channel(source.assets)),
    "tickets": _tickets_value,
}


def _deprecated_id(source: ContactSource) -> Deprecated:
    return Deprecated(str(source.contact.id), "@contact.id is deprecated, use @contact.ref instead")


def _deprecated_tickets(source: ContactSource) -> Deprecated:
    return Deprecated(_tickets_value(source), "@contact.tickets is deprecated, use @ticket instead")


_LATER_GETTERS: dict[str, Getter] = {
    "ref": lambda source: write_contact_reference(source.contact.id),
    "id": _deprecated_id,
    "tickets": _deprecated_tickets,
}


def _describe_source(source: ContactSource) -> str:
    return describe_contact(source.contact, source.environment)


_EARLY_CONTACT = Shape(_GETTERS, default=_describe_source)
_CONTACT = Shape(_GETTERS | _LATER_GETTERS, default=_describe_source)


def _first_urn(scheme: str, source: ContactSource) -> str | None:
    urn = source.contact.find_urn(scheme)
    return show_urn(urn, source.environment) if urn else None


_EARLY_URNS = Shape({scheme: partial(_first_urn, scheme) for scheme in SCHEMES})
_URNS = Shape({scheme: partial(_first_urn, scheme) for scheme in SCHEMES if scheme not in _EARLY_SCHEMES})


@dataclass(slots=True)
class ContextSource:
    """A run and its current node. `read_webhook` returns the last call, possibly with more than is stored,
    `address_callback` the URL that ends the next wait for a callback.
    """

    session: Session
    run: Run
    node: Node | None
    assets: Assets
    environment: Environment
    options: Options
    resume: Mapping[str, Any] | None
    read_webhook: Callable[[], Value]
    address_callback: Callable[[], str] | None = None
    own_contact: ContactSource = field(init=False)

    def __post_init__(self) -> None:
        self.own_contact = self.show_contact(self.session.contact)

    def show_contact(self, contact: Contact) -> ContactSource:
        """A contact in the form that is shown."""
        return ContactSource(contact, self.assets, self.environment, self.options.is_early)

    def deprecated(self, value: Value, path: str, instead: str) -> Property:
        """A deprecated property, which later generations warn about."""
        if self.options.is_early:
            return value
        return Deprecated(value, f"@{path} is deprecated, use @{instead} instead")


def lines(pairs: list[tuple[str, str]]) -> str:
    """The text of a collection of named values."""
    return "\n".join(f"{name}: {text}" for name, text in sorted(pairs))


def named(uuid: str, name: str) -> XObject:
    """A reference as a value; as text its name."""
    return XObject({"uuid": uuid, "name": name}, default=name)


def _field_value(field: Field, source: ContactSource) -> Value:
    stored = source.contact.fields.get(field.key)
    value = stored.typed(field.type) if stored else None
    return in_zone_of(value, source.environment.zone) if isinstance(value, datetime) else value


def _describe_fields(source: ContactSource) -> str:
    values = ((field.name, _field_value(field, source)) for field in source.assets.fields.values())
    return lines([(name, render(value)) for name, value in values if value is not None])


def _group_value(uuid: str, contact: Contact, assets: Assets) -> XObject:
    group = assets.groups.get(uuid)
    return XObject({"uuid": uuid, "name": group.name if group else contact.group_names.get(uuid, "")})
