"""Events of changes to the contact (flow format, events)."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from flows.events.base import EventBase, Json, Reference


class FieldValue(TypedDict):
    """A text and whatever it can be read as; places are paths like `Rwanda > Kigali City`."""

    text: str
    datetime: NotRequired[str]
    number: NotRequired[float]
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
    """The whole new list of addresses."""

    type: Literal["contact_urns_changed"]
    urns: list[str]


class ContactNameChanged(EventBase):
    """The new name; empty when it was taken away."""

    type: Literal["contact_name_changed"]
    name: str


class ContactLanguageChanged(EventBase):
    """The new language, a code of three letters; empty when it was taken away."""

    type: Literal["contact_language_changed"]
    language: str


class ContactStatusChanged(EventBase):
    """The new status: `active`, `blocked`, `stopped` or `archived`."""

    type: Literal["contact_status_changed"]
    status: str


class ContactTimezoneChanged(EventBase):
    """The new timezone, an IANA name; empty when it was taken away."""

    type: Literal["contact_timezone_changed"]
    timezone: str


class ContactLastSeenChanged(EventBase):
    """When the contact was last heard from."""

    type: Literal["contact_last_seen_changed"]
    last_seen_on: str


class ContactRefreshed(EventBase):
    """Generation 13: a resume brought the contact as it is now."""

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
