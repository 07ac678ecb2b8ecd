"""Events of messages, to the contact and to others (flow format, events)."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from flows.events.base import EventBase, Json, Reference


class QuickReply(TypedDict):
    """A suggested reply of type `text` or `location`, or a `form` or `url` to open, which `extra` identifies."""

    type: NotRequired[str]
    text: NotRequired[str]
    extra: NotRequired[str]


class CreatedMessage(TypedDict):
    """A message to send; one with an `unsendable_reason` is only recorded. In generation 13 quick replies are
    strings."""

    text: str
    uuid: NotRequired[str]
    urn: NotRequired[str]
    channel: NotRequired[Reference]
    attachments: NotRequired[list[str]]
    quick_replies: NotRequired[list[QuickReply | str]]
    templating: NotRequired[Json]
    topic: NotRequired[str]
    locale: NotRequired[str]
    text_language: NotRequired[str]
    unsendable_reason: NotRequired[str]


class MsgCreated(EventBase):
    """A message is to be sent."""

    type: Literal["msg_created"]
    msg: CreatedMessage


class IvrCreated(EventBase):
    """Something is to be spoken or played in a call."""

    type: Literal["ivr_created"]
    msg: CreatedMessage


class ReceivedMessage(TypedDict):
    """A message of the contact, as the host passed it in."""

    text: NotRequired[str | None]
    uuid: NotRequired[str | None]
    urn: NotRequired[str | None]
    channel: NotRequired[Json | None]
    attachments: NotRequired[list[str] | None]
    external_id: NotRequired[str | None]
    payload: NotRequired[Json | None]


class MsgReceived(EventBase):
    """A message came in, as trigger or answer."""

    type: Literal["msg_received"]
    msg: ReceivedMessage


class InputLabelsAdded(EventBase):
    """The incoming message gets labels."""

    type: Literal["input_labels_added"]
    input_uuid: str
    labels: list[Reference]


class OptinRequested(EventBase):
    """The contact is to be asked for an opt-in."""

    type: Literal["optin_requested"]
    optin: Reference
    channel: Reference
    urn: str


class _Recipients(EventBase):
    """The recipients of a broadcast or the contacts to start."""

    groups: NotRequired[list[Reference]]
    contacts: NotRequired[list[Reference]]
    contact_query: NotRequired[str]
    urns: NotRequired[list[str]]


class BroadcastCreated(_Recipients):
    """A message to many, by language."""

    type: Literal["broadcast_created"]
    translations: dict[str, CreatedMessage]
    base_language: str
    template: NotRequired[Reference]
    template_variables: NotRequired[list[str]]


class SessionTriggered(_Recipients):
    """Other contacts are to be started in a flow; `run_summary` is their `@parent`."""

    type: Literal["session_triggered"]
    flow: Reference
    run_summary: Json
    history: Json
    create_contact: NotRequired[bool]
    exclusions: NotRequired[Json]


MessageEvent: TypeAlias = (
    MsgCreated | IvrCreated | MsgReceived | InputLabelsAdded | OptinRequested | BroadcastCreated | SessionTriggered
)
