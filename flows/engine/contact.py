"""The contact of a session (flow format, contact).

Values of contact fields: how a string is read for a field of any type (flow format, field values).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from datetime import datetime as Moment
from decimal import Decimal, InvalidOperation
from typing import Any, Self
from urllib.parse import urlencode

from flows.engine.assets import Assets, Channel
from flows.engine.errors import ContactError
from flows.engine.input_schemas import CONTACT, Required, find_mismatch
from flows.environment import Environment, is_timezone, parse_moment
from flows.numbers import LARGEST_INTEGER, NumberError, is_in_range, parse_decimal
from flows.phones import country_of
from flows.urns import PHONES, Urn, UrnError, choose_channel, parse

STATUSES = ("active", "blocked", "stopped", "archived")
_CHANNEL_QUERY = "channel"

_PLACE_LEVELS = ("state", "district", "ward")


@dataclass(frozen=True, slots=True)
class Ticket:
    """A conversation with a contact that users handle; `topic` and `assignee` are references or None."""

    uuid: str
    status: str = "open"
    topic: Mapping[str, str] | None = None
    assignee: Mapping[str, str] | None = None
    body: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        status = source.get("status") or "open"
        return cls(source["uuid"], status, source.get("topic"), source.get("assignee"), source.get("body") or "")

    def to_json(self) -> dict[str, Any]:
        """The stored form, without empty parts."""
        written: dict[str, Any] = {"uuid": self.uuid, "status": self.status}
        for name in ("topic", "assignee"):
            if getattr(self, name):
                written[name] = dict(getattr(self, name))
        if self.body:
            written["body"] = self.body
        return written


def channel_uuid_of(urn: Urn) -> str:
    """The UUID of the channel that a URN prefers, or an empty string."""
    name, _, value = urn.query.partition("=")
    if name == _CHANNEL_QUERY and value.replace("-", "").isalnum():
        return value  # as hosts write it: needed for every text, and much faster than parsing a query
    values = urn.query_values.get(_CHANNEL_QUERY) if urn.query else None
    return values[0] if values else ""


def _read_stored(stored: object) -> Decimal | None:
    try:
        number = Decimal(str(stored))
    except InvalidOperation:
        return None
    return number if number.is_finite() and is_in_range(number) else None


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A string and everything as which it can be read; datetimes are kept as ISO strings, places as paths."""

    text: str
    number: Decimal | None = None
    datetime: str = ""
    state: str = ""
    district: str = ""
    ward: str = ""

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form."""
        text = str(source.get("text") or "")
        texts = {name: str(source.get(name) or "") for name in ("datetime", *_PLACE_LEVELS)}
        return cls(text, _read_number(text, source.get("number")), **texts)

    def to_json(self) -> dict[str, Any]:
        """The stored form, without empty parts."""
        written: dict[str, Any] = {"text": self.text}
        if self.datetime:
            written["datetime"] = self.datetime
        if self.number is not None:
            written["number"] = plain_number(self.number)
        for level in _PLACE_LEVELS:
            if getattr(self, level):
                written[level] = getattr(self, level)
        return written

    @property
    def moment(self) -> Moment | None:
        """The datetime as such."""
        return parse_moment(self.datetime) if self.datetime else None

    def typed(self, field_type: str) -> str | Decimal | Moment | None:
        """The part with the field's own type, None if the string cannot be read as that type."""
        if field_type == "number":
            return self.number
        if field_type == "datetime":
            return self.moment
        if field_type in _PLACE_LEVELS:
            return getattr(self, field_type) or None
        return self.text


@dataclass(slots=True)
class Contact:
    """A contact as the engine reads and changes it. Times are kept as their original strings."""

    uuid: str
    id: int = 0
    name: str = ""
    language: str = ""
    status: str = "active"
    timezone: str = ""
    created_on: str = ""
    last_seen_on: str = ""
    urns: list[Urn] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    fields: dict[str, FieldValue] = field(default_factory=dict)
    tickets: list[Ticket] = field(default_factory=list)
    group_names: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form; invalid URNs are left out. Raises ContactError."""
        mismatch = find_mismatch(source, Required(CONTACT))
        if mismatch:
            raise ContactError(f"contact cannot be read: {mismatch} is missing or of another type")
        return cls.from_checked_json(source)

    @classmethod
    def from_checked_json(cls, source: Mapping[str, Any]) -> Self:
        """Reads the stored form as part of something whose schema was checked. Raises ContactError."""
        status = source.get("status") or "active"
        if status not in STATUSES:
            raise ContactError(f"{status!r} is not a status of contacts")
        groups = source.get("groups") or ()
        texts = {
            name: source.get(name) or "" for name in ("name", "language", "timezone", "created_on", "last_seen_on")
        }
        return cls(
            source["uuid"],
            int(source.get("id") or 0),
            status=status,
            urns=_read_urns(source.get("urns") or ()),
            groups=[group["uuid"] for group in groups],
            group_names={group["uuid"]: group.get("name") or "" for group in groups},
            fields={key: FieldValue.from_json(item) for key, item in (source.get("fields") or {}).items() if item},
            tickets=[Ticket.from_json(item) for item in source.get("tickets") or ()],
            **texts,
        )

    def to_json(self) -> dict[str, Any]:
        """The stored form, without empty parts."""
        written: dict[str, Any] = {
            "uuid": self.uuid,
            "id": self.id,
            "name": self.name,
            "language": self.language,
            "status": self.status,
            "timezone": self.timezone,
            "created_on": self.created_on,
            "last_seen_on": self.last_seen_on,
            "urns": [str(urn) for urn in self.urns],
            "groups": [{"uuid": uuid, "name": self.group_names.get(uuid, "")} for uuid in self.groups],
            "fields": {key: value.to_json() for key, value in self.fields.items()},
            "tickets": [ticket.to_json() for ticket in self.tickets],
        }
        return {name: value for name, value in written.items() if value}

    def copy(self) -> Self:
        """A contact that can be changed without changing this one."""
        return type(self)(
            *(self.uuid, self.id, self.name, self.language, self.status, self.timezone),
            *(self.created_on, self.last_seen_on),
            urns=list(self.urns),
            groups=list(self.groups),
            fields=dict(self.fields),
            tickets=list(self.tickets),
            group_names=dict(self.group_names),
        )

    @property
    def reference(self) -> dict[str, str]:
        """UUID and name."""
        return {"uuid": self.uuid, "name": self.name}

    @property
    def is_active(self) -> bool:
        """Whether the contact may get messages and be in groups."""
        return self.status == "active"

    @property
    def created_at(self) -> datetime | None:
        """When the contact was created."""
        return parse_moment(self.created_on)

    @property
    def last_seen_at(self) -> datetime | None:
        """When the contact was last seen."""
        return parse_moment(self.last_seen_on)

    @property
    def open_tickets(self) -> list[Ticket]:
        """The tickets that are open, oldest first."""
        return [ticket for ticket in self.tickets if ticket.status == "open"]

    def find_urn(self, scheme: str) -> Urn | None:
        """The first URN of a scheme."""
        return next((urn for urn in self.urns if urn.scheme == scheme), None)

    def has_urn(self, urn: Urn) -> bool:
        """Whether the contact has this URN, ignoring its channel and display name."""
        return any(known.identity == urn.identity for known in self.urns)

    def find_country(self, assets: Assets) -> str:
        """The country of the channel of the first URN, otherwise of the first phone number, otherwise an empty
        string."""
        channel = self.find_preferred_channel(assets)
        if channel is not None and channel.country:
            return channel.country
        numbers = (country_of(urn.path) for urn in self.urns if urn.scheme == "tel")
        return next((country for country in numbers if country), "")

    def find_preferred_channel(self, assets: Assets) -> Channel | None:
        """The channel that messages to the contact go through."""
        routes = self.find_routes(assets)
        return routes[0][1] if routes else None

    def find_routes(self, assets: Assets) -> list[tuple[Urn, Channel]]:
        """The URNs to which messages can be sent, with their channels, best first."""
        routes = ((urn, find_channel(urn, assets)) for urn in self.urns)
        return [(urn, channel) for urn, channel in routes if channel is not None]


def without_query(urn: Urn) -> str:
    """A URN as flows and messages show it: without the channel and other data of the host."""
    return str(replace(urn, query="") if urn.query else urn)


def with_channel(urn: Urn, channel_uuid: str) -> Urn:
    """The same URN with another preferred channel; an empty string for none."""
    values = urn.query_values
    values.pop(_CHANNEL_QUERY, None)
    if channel_uuid:
        values[_CHANNEL_QUERY] = [channel_uuid]
    return replace(urn, query=urlencode(values, doseq=True))


def localize_environment(base: Environment, contact: Contact, assets: Assets) -> Environment:
    """The workspace's settings, replaced by the contact's time zone, language (if it is allowed) and country."""
    languages = base.allowed_languages
    if contact.language in languages:
        languages = (contact.language, *(language for language in languages if language != contact.language))
    timezone = contact.timezone if contact.timezone and is_timezone(contact.timezone) else base.timezone
    country = contact.find_country(assets) or base.default_country
    if (timezone, languages, country) == (base.timezone, base.allowed_languages, base.default_country):
        return base
    return replace(base, timezone=timezone, allowed_languages=languages, default_country=country)


def find_channel(urn: Urn, assets: Assets) -> Channel | None:
    """The channel for messages to a URN: the one that it prefers, otherwise one that serves its scheme. Of channels for
    numbers the last is the best, of others the first (flow format, channels).
    """
    preferred = assets.channels.get(channel_uuid_of(urn)) if urn.query else None
    own = preferred if preferred is not None and preferred.can_send else None
    able = assets.find_senders(urn.scheme)
    return choose_channel(urn.scheme, urn.path, able if urn.scheme == PHONES else able[::-1], own)


def plain_number(number: Decimal) -> int | float | str:
    """A number for JSON: an integer if it is whole and has 64 bits, as writers of JSON have them; a string in the rare
    case that a float would not be exact.
    """
    if number == number.to_integral_value() and abs(number) <= LARGEST_INTEGER:
        return int(number)
    approximate = float(number)
    return approximate if Decimal(repr(approximate)) == number else format(number, "f")


def _read_urns(texts: Sequence[str]) -> list[Urn]:
    urns = []
    for text in texts:
        try:
            urns.append(parse(text))
        except UrnError:
            # The host's data may be older than its rules; invalid URNs cannot be used anyway.
            continue
    return urns


def _read_number(text: str, stored: object) -> Decimal | None:
    if stored is None:
        return None
    known = _read_stored(stored)
    try:
        # The string is exact if JSON's number may not be; in another number format it is another number.
        exact = parse_decimal(text)
    except NumberError:
        return known
    return exact if known is None or math.isclose(exact, known) else known
