"""Events of services that a flow called (flow format, events)."""

from typing import Any, Literal, NotRequired, TypeAlias

from flows.events.base import EventBase, Json, Reference


class EmailSent(EventBase):
    """An e-mail was sent to the host's service."""

    type: Literal["email_sent"]
    to: list[str]
    subject: str
    body: str


class WebhookCalled(EventBase):
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


class ResthookCalled(EventBase):
    """The payload for the subscribers of a resthook."""

    type: Literal["resthook_called"]
    resthook: str
    payload: Json


class FlowEventMade(EventBase):
    """The flow event of the API, for hosts that requested it."""

    type: Literal["flow_event_made"]
    payload: Json
    answer: Any


class ServiceCalled(EventBase):
    """A classifier was called."""

    type: Literal["service_called"]
    service: str
    classifier: Reference
    http_logs: list[Json]


class LlmCalled(EventBase):
    """A language model was called."""

    type: Literal["llm_called"]
    llm: Reference
    instructions: str
    input: str
    output: str
    tokens: dict[str, int]
    elapsed_ms: int


class _Airtime(EventBase):
    sender: str
    recipient: str
    currency: str
    http_logs: list[Json]


class AirtimeTransferred(_Airtime):
    """Generation 13: airtime was transferred, or not if `actual_amount` is 0."""

    type: Literal["airtime_transferred"]
    desired_amount: float
    actual_amount: float


class AirtimeCreated(_Airtime):
    """Airtime was transferred."""

    type: Literal["airtime_created"]
    external_id: str
    amount: float


ServiceEvent: TypeAlias = (
    EmailSent
    | WebhookCalled
    | ResthookCalled
    | FlowEventMade
    | ServiceCalled
    | LlmCalled
    | AirtimeTransferred
    | AirtimeCreated
)
