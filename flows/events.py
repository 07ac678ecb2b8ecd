"""The types of the events that sessions give, one for each kind, told apart by `type` (flow format, events).

`AnyEvent` is any of them, so that a type checker knows the fields of an event once its type was compared:

>>> def texts(events: list[AnyEvent]) -> list[str]:
...     return [event["msg"]["text"] for event in events if event["type"] == "msg_created"]

Moments are ISO 8601 texts. What sessions of generation 13 leave out or write besides is not required.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

Json: TypeAlias = dict[str, Any]


class Reference(TypedDict):
    """An asset by its UUID, or by its key, slug or e-mail address."""

    name: NotRequired[str]
    uuid: NotRequired[str]
    key: NotRequired[str]
    email: NotRequired[str]
    revision: NotRequired[int]


class _Event(TypedDict):
    """What all events have; `uuid` from generation 14 on, `step_uuid` before, while a node is visited."""

    created_on: str
    uuid: NotRequired[str]
    step_uuid: NotRequired[str]


class RunStarted(_Event):
    """A flow was entered; `parent_uuid` is the run it was entered from."""

    type: Literal["run_started"]
    flow: Reference
    run_uuid: str
    parent_uuid: NotRequired[str]
    terminal: NotRequired[bool]


class FlowEntered(_Event):
    """Generation 13: a flow entered another one."""

    type: Literal["flow_entered"]
    flow: Reference
    parent_run_uuid: str
    terminal: bool


class RunEnded(_Event):
    """A run is over: `completed`, `interrupted`, `expired` or `failed`."""

    type: Literal["run_ended"]
    run_uuid: str
    flow: Reference
    status: str


class RunExpired(_Event):
    """Generation 13: the wait of a run has expired."""

    type: Literal["run_expired"]
    run_uuid: str


class QuickReply(TypedDict):
    """A suggested answer of type `text` or `location`, a `form` or a `url` to open; `extra` is which."""

    type: NotRequired[str]
    text: NotRequired[str]
    extra: NotRequired[str]


class CreatedMessage(TypedDict):
    """A message to send; one with an `unsendable_reason` is recorded only. Generation 13 has quick replies as texts."""

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


class MsgCreated(_Event):
    """A message is to be sent."""

    type: Literal["msg_created"]
    msg: CreatedMessage


class IvrCreated(_Event):
    """Something is to be said or played in a call."""

    type: Literal["ivr_created"]
    msg: CreatedMessage


class ReceivedMessage(TypedDict):
    """A message of the contact, as the host handed it in."""

    text: NotRequired[str | None]
    uuid: NotRequired[str | None]
    urn: NotRequired[str | None]
    channel: NotRequired[Json | None]
    attachments: NotRequired[list[str] | None]
    external_id: NotRequired[str | None]
    payload: NotRequired[Json | None]


class MsgReceived(_Event):
    """A message came in, as trigger or answer."""

    type: Literal["msg_received"]
    msg: ReceivedMessage


class MsgWait(_Event):
    """The session waits for a message."""

    type: Literal["msg_wait"]
    timeout_seconds: NotRequired[int]
    expires_on: NotRequired[str]
    hint: NotRequired[Json]


class DialWait(_Event):
    """The session waits for the end of a call that the host makes."""

    type: Literal["dial_wait"]
    urn: str
    dial_limit_seconds: int
    call_limit_seconds: int
    expires_on: str


class WaitTimedOut(_Event):
    """Generation 13: nobody answered in time."""

    type: Literal["wait_timed_out"]


class Dial(TypedDict):
    """How a call ended: `answered`, `no_answer`, `busy` or `failed`, after so many seconds."""

    status: str
    duration: NotRequired[float]


class DialEnded(_Event):
    """Generation 13: a call that was waited for has ended."""

    type: Literal["dial_ended"]
    dial: Dial


class PreviousResult(TypedDict):
    """What a result was before."""

    value: str
    category: str


class RunResultChanged(_Event):
    """A result was saved; since generation 14 only when value or category changed."""

    type: Literal["run_result_changed"]
    name: str
    value: str
    category: str
    category_localized: NotRequired[str]
    input: NotRequired[str]
    extra: NotRequired[Any]
    previous: NotRequired[PreviousResult]


class FieldValue(TypedDict):
    """A text and whatever it can be read as; places are paths like `Rwanda > Kigali City`."""

    text: str
    datetime: NotRequired[str]
    number: NotRequired[float]
    state: NotRequired[str]
    district: NotRequired[str]
    ward: NotRequired[str]


class ContactFieldChanged(_Event):
    """A field was set, or cleared when `value` is None."""

    type: Literal["contact_field_changed"]
    field: Reference
    value: FieldValue | None


class ContactGroupsChanged(_Event):
    """The contact entered or left groups."""

    type: Literal["contact_groups_changed"]
    groups_added: NotRequired[list[Reference]]
    groups_removed: NotRequired[list[Reference]]


class ContactUrnsChanged(_Event):
    """The whole new list of addresses."""

    type: Literal["contact_urns_changed"]
    urns: list[str]


class ContactNameChanged(_Event):
    """The new name; empty when it was taken away."""

    type: Literal["contact_name_changed"]
    name: str


class ContactLanguageChanged(_Event):
    """The new language, a code of three letters; empty when it was taken away."""

    type: Literal["contact_language_changed"]
    language: str


class ContactStatusChanged(_Event):
    """The new status: `active`, `blocked`, `stopped` or `archived`."""

    type: Literal["contact_status_changed"]
    status: str


class ContactTimezoneChanged(_Event):
    """The new timezone, an IANA name; empty when it was taken away."""

    type: Literal["contact_timezone_changed"]
    timezone: str


class ContactLastSeenChanged(_Event):
    """When the contact was last heard from."""

    type: Literal["contact_last_seen_changed"]
    last_seen_on: str


class ContactRefreshed(_Event):
    """Generation 13: a resume brought the contact as it is now."""

    type: Literal["contact_refreshed"]
    contact: Json


class EnvironmentRefreshed(_Event):
    """Generation 13: a resume brought other settings."""

    type: Literal["environment_refreshed"]
    environment: Json


class InputLabelsAdded(_Event):
    """The message that was answered with gets labels."""

    type: Literal["input_labels_added"]
    input_uuid: str
    labels: list[Reference]


class _Recipients(_Event):
    """Who gets a broadcast or is started."""

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
    """Others are to be started in a flow; `run_summary` is what they see as `@parent`."""

    type: Literal["session_triggered"]
    flow: Reference
    run_summary: Json
    history: Json
    create_contact: NotRequired[bool]
    exclusions: NotRequired[Json]


class EmailSent(_Event):
    """A mail was handed to the host's service."""

    type: Literal["email_sent"]
    to: list[str]
    subject: str
    body: str


class Ticket(TypedDict):
    """A ticket that was opened."""

    uuid: str
    status: NotRequired[str]
    topic: NotRequired[Reference]
    assignee: NotRequired[Reference]
    body: NotRequired[str]


class TicketOpened(_Event):
    """A ticket was opened."""

    type: Literal["ticket_opened"]
    ticket: Ticket


class TicketNoteAdded(_Event):
    """A note was added to a ticket."""

    type: Literal["ticket_note_added"]
    ticket_uuid: str
    note: str


class TicketClosed(_Event):
    """A ticket was closed."""

    type: Literal["ticket_closed"]
    ticket_uuid: str


class TicketReopened(_Event):
    """A ticket was opened again."""

    type: Literal["ticket_reopened"]
    ticket_uuid: str


class TicketAssigneeChanged(_Event):
    """A ticket went to somebody, or to nobody when `assignee` is None."""

    type: Literal["ticket_assignee_changed"]
    ticket_uuid: str
    assignee: Reference | None
    prev_assignee: NotRequired[Reference]


class TicketTopicChanged(_Event):
    """A ticket got another topic."""

    type: Literal["ticket_topic_changed"]
    ticket_uuid: str
    topic: Reference


class WebhookCalled(_Event):
    """A webhook was called; `status` is `success`, `response_error`, `connection_error` or `subscriber_gone`."""

    type: Literal["webhook_called"]
    url: str
    status: str
    request: str
    elapsed_ms: int
    retries: int
    status_code: NotRequired[int]
    response: NotRequired[str]
    resthook: NotRequired[str]
    sizes: NotRequired[Json]
    extraction: NotRequired[str]


class ResthookCalled(_Event):
    """What the subscribers of a resthook are told."""

    type: Literal["resthook_called"]
    resthook: str
    payload: Json


class FlowEventMade(_Event):
    """The flow event of the interface, for hosts that asked for it."""

    type: Literal["flow_event_made"]
    payload: Json
    answer: Any


class ServiceCalled(_Event):
    """A classifier was asked."""

    type: Literal["service_called"]
    service: str
    classifier: Reference
    http_logs: list[Json]


class LlmCalled(_Event):
    """A language model was asked."""

    type: Literal["llm_called"]
    llm: Reference
    instructions: str
    input: str
    output: str
    tokens: dict[str, int]
    elapsed_ms: int


class OptinRequested(_Event):
    """The contact is to be asked for an opt-in."""

    type: Literal["optin_requested"]
    optin: Reference
    channel: Reference
    urn: str


class _Airtime(_Event):
    sender: str
    recipient: str
    currency: str
    http_logs: list[Json]


class AirtimeTransferred(_Airtime):
    """Generation 13: airtime was given, or not when `actual_amount` is 0."""

    type: Literal["airtime_transferred"]
    desired_amount: float
    actual_amount: float


class AirtimeCreated(_Airtime):
    """Airtime was given."""

    type: Literal["airtime_created"]
    external_id: str
    amount: float


class _Text(_Event):
    text: str
    code: NotRequired[str]
    extra: NotRequired[dict[str, str]]


class Error(_Text):
    """Something went wrong and the flow goes on."""

    type: Literal["error"]


class Warning_(_Text):
    """Something worked that should not be relied on."""

    type: Literal["warning"]


class Failure(_Text):
    """The run and its session failed."""

    type: Literal["failure"]


AnyEvent: TypeAlias = (
    RunStarted
    | FlowEntered
    | RunEnded
    | RunExpired
    | MsgCreated
    | IvrCreated
    | MsgReceived
    | MsgWait
    | DialWait
    | WaitTimedOut
    | DialEnded
    | RunResultChanged
    | ContactFieldChanged
    | ContactGroupsChanged
    | ContactUrnsChanged
    | ContactNameChanged
    | ContactLanguageChanged
    | ContactStatusChanged
    | ContactTimezoneChanged
    | ContactLastSeenChanged
    | ContactRefreshed
    | EnvironmentRefreshed
    | InputLabelsAdded
    | BroadcastCreated
    | SessionTriggered
    | EmailSent
    | TicketOpened
    | TicketNoteAdded
    | TicketClosed
    | TicketReopened
    | TicketAssigneeChanged
    | TicketTopicChanged
    | WebhookCalled
    | ResthookCalled
    | FlowEventMade
    | ServiceCalled
    | LlmCalled
    | OptinRequested
    | AirtimeTransferred
    | AirtimeCreated
    | Error
    | Warning_
    | Failure
)
