"""Events of changes to the contact (flow format, events)."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from flows.events.base import EventBase, Json, Reference


class FieldValue(TypedDict):
    """A string and everything as which it can be read; places are paths like `Rwanda > Kigali City`. A number that JSON
    cannot hold exactly is a string."""

    text: str
    datetime: NotRequired[str]
    number: NotRequired[float | str]
    state: NotRequired[str]
    district: NotRequired[str]
    ward: NotRequired[str]


class ContactFieldChanged(EventBase):
    """A field was set, or cleared when `value` is None."""

    type: Literal["contact_field_changed"]
    field: Reference
    value: FieldValue | None


class ContactGroupsChanged(EventBase):
    """The contact entered or left groups."""

    type: Literal["contact_groups_changed"]
    groups_added: NotRequired[list[Reference]]
    groups_removed: NotRequired[list[Reference]]


class ContactUrnsChanged(EventBase):
    """The whole new list of URNs."""

    type: Literal["contact_urns_changed"]
    urns: list[str]


class ContactNameChanged(EventBase):
    """The new name; empty if it was cleared."""

    type: Literal["contact_name_changed"]
    name: str


class ContactLanguageChanged(EventBase):
    """The new language, a code of three letters; empty if it was cleared."""

    type: Literal["contact_language_changed"]
    language: str


class ContactStatusChanged(EventBase):
    """The new status: `active`, `blocked`, `stopped` or `archived`."""

    type: Literal["contact_status_changed"]
    status: str


class ContactTimezoneChanged(EventBase):
    """The new time zone, an IANA name; empty if it was cleared."""

    type: Literal["contact_timezone_changed"]
    timezone: str


class ContactLastSeenChanged(EventBase):
    """When the contact was last seen."""

    type: Literal["contact_last_seen_changed"]
    last_seen_on: str


class ContactRefreshed(EventBase):
    """Generation 13: a resume contained the current contact."""

    type: Literal["contact_refreshed"]
    contact: Json


ContactEvent: TypeAlias = (
    ContactFieldChanged
    | ContactGroupsChanged
    | ContactUrnsChanged
    | ContactNameChanged
    | ContactLanguageChanged
    | ContactStatusChanged
    | ContactTimezoneChanged
    | ContactLastSeenChanged
    | ContactRefreshed
)
