"""The contact and what belongs to it, as values (flow format, expression context)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flows.engine.assets import Assets, Channel
from flows.engine.contact import Contact, Ticket, without_query
from flows.engine.contact_reference import write_contact_reference
from flows.engine.context.source import lines, named
from flows.environment import Environment
from flows.expressions.rendering import render
from flows.expressions.values import Deprecated, Property, Value, XArray, XObject
from flows.urn_schemes import SCHEMES
from flows.urns import Urn

REDACTED_PATH = "********"
_EARLY_SCHEMES = frozenset({"discord"})


@dataclass(frozen=True, slots=True)
class ContactSource:
    """A contact and what decides how it is shown."""

    contact: Contact
    assets: Assets
    environment: Environment
    is_early: bool


def contact_value(source: ContactSource) -> XObject:
    """`@contact`: its name stands for it, else its first address, else nothing."""
    contact, assets = source.contact, source.assets
    properties: dict[str, Property] = {
        "uuid": contact.uuid,
        "id": str(contact.id),
        "name": contact.name,
        "first_name": next(iter(contact.name.split()), ""),
        "language": contact.language,
        "timezone": contact.timezone or None,
        "status": contact.status,
        "created_on": lambda: contact.created_at,
        "last_seen_on": lambda: contact.last_seen_at,
        "urns": lambda: XArray([show_urn(urn, source.environment) for urn in contact.urns]),
        "urn": lambda: preferred_urn(contact, assets, source.environment),
        "groups": lambda: XArray([_group_value(uuid, contact, assets) for uuid in contact.groups]),
        "fields": lambda: fields_value(source),
        "channel": lambda: channel_value(contact.find_preferred_channel(assets)),
        "tickets": lambda: _tickets_value(source),
    }
    if not source.is_early:
        properties["ref"] = lambda: write_contact_reference(contact.id)
        properties["id"] = Deprecated(str(contact.id), "@contact.id is deprecated, use @contact.ref instead")
        properties["tickets"] = lambda: Deprecated(
            _tickets_value(source), "@contact.tickets is deprecated, use @ticket instead"
        )
    return XObject(properties, default=lambda: describe_contact(contact, source.environment))


def preferred_urn(contact: Contact, assets: Assets, environment: Environment) -> str | None:
    """The address that messages go to, as flows may show it; None when no channel can send to any."""
    routes = contact.find_routes(assets)
    return show_urn(routes[0][0], environment) if routes else None


def _tickets_value(source: ContactSource) -> XArray:
    tickets = source.contact.open_tickets
    return XArray([ticket_value(ticket, source.assets, is_early=source.is_early) for ticket in tickets])


def describe_contact(contact: Contact, environment: Environment) -> str:
    """What stands for a contact: the name, else the first address as people write it, or the id if redacted."""
    if contact.name:
        return contact.name
    if environment.redacts_urns:
        return str(contact.id)
    return contact.urns[0].show() if contact.urns else ""


def fields_value(source: ContactSource) -> XObject:
    """`@fields`: every field's value in its own type, null when unset."""
    values: dict[str, Property] = {}
    shown: list[tuple[str, str]] = []
    for field in source.assets.fields.values():
        stored = source.contact.fields.get(field.key)
        value = stored.typed(field.type) if stored else None
        values[field.key] = value
        if value is not None:
            shown.append((field.name, render(value)))
    return XObject(values, default=lambda: lines(shown))


def urns_value(source: ContactSource) -> XObject:
    """`@urns`: the first address of every scheme, null when there is none."""
    schemes = [scheme for scheme in SCHEMES if source.is_early or scheme not in _EARLY_SCHEMES]
    found = ((scheme, source.contact.find_urn(scheme)) for scheme in schemes)
    return XObject({scheme: show_urn(urn, source.environment) if urn else None for scheme, urn in found})


def show_urn(urn: Urn, environment: Environment) -> str:
    """An address as flows may show it, without its path if addresses are redacted."""
    if environment.redacts_urns:
        return f"{urn.scheme}:{REDACTED_PATH}"
    return without_query(replace(urn, query=""))


def channel_value(channel: Channel | None) -> XObject | None:
    """A channel; its name stands for it."""
    if channel is None:
        return None
    properties: dict[str, Property] = {"uuid": channel.uuid, "name": channel.name, "address": channel.address}
    return XObject(properties, default=channel.name)


def ticket_value(ticket: Ticket, assets: Assets, *, is_early: bool) -> XObject:
    """A ticket with its topic and assignee, and in generation 13 with what it was opened with."""
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
    """A user out of a reference; the name stands for it, or the e-mail address."""
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


def _group_value(uuid: str, contact: Contact, assets: Assets) -> XObject:
    group = assets.groups.get(uuid)
    return XObject({"uuid": uuid, "name": group.name if group else contact.group_names.get(uuid, "")})
