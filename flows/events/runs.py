"""Events of runs, their waits and their errors (flow format, events)."""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from flows.events.base import EventBase, Json, Reference


class RunStarted(EventBase):
    """A flow was entered; `parent_uuid` is the run from which it was entered."""

    type: Literal["run_started"]
    flow: Reference
    run_uuid: str
    parent_uuid: NotRequired[str]
    terminal: NotRequired[bool]


class FlowEntered(EventBase):
    """Generation 13: a flow entered another one."""

    type: Literal["flow_entered"]
    flow: Reference
    parent_run_uuid: str
    terminal: bool


class RunEnded(EventBase):
    """A run has ended: `completed`, `interrupted`, `expired` or `failed`."""

    type: Literal["run_ended"]
    run_uuid: str
    flow: Reference
    status: str


class RunExpired(EventBase):
    """Generation 13: the wait of a run has expired."""

    type: Literal["run_expired"]
    run_uuid: str


class MsgWait(EventBase):
    """The session waits for a message."""

    type: Literal["msg_wait"]
    timeout_seconds: NotRequired[int]
    expires_on: NotRequired[str]
    hint: NotRequired[Json]


class DialWait(EventBase):
    """The session waits for the end of a call that the host makes."""

    type: Literal["dial_wait"]
    urn: str
    dial_limit_seconds: int
    call_limit_seconds: int
    expires_on: str


class TimeWait(EventBase):
    """The session waits for a time: until a moment, or for as long as a timeout."""

    type: Literal["time_wait"]
    until: NotRequired[str]
    timeout_seconds: NotRequired[int]
    expires_on: NotRequired[str]


class CallbackWait(EventBase):
    """The session waits until another system calls the address that it got."""

    type: Literal["callback_wait"]
    timeout_seconds: NotRequired[int]
    expires_on: NotRequired[str]


class WaitTimedOut(EventBase):
    """Generation 13: the contact did not answer in time."""

    type: Literal["wait_timed_out"]


class Dial(TypedDict):
    """How a call ended: `answered`, `no_answer`, `busy` or `failed`, after so many seconds."""

    status: str
    duration: NotRequired[float]


class DialEnded(EventBase):
    """Generation 13: a call for which the session waited has ended."""

    type: Literal["dial_ended"]
    dial: Dial


class PreviousResult(TypedDict):
    """The previous value of a result."""

    value: str
    category: str


class RunResultChanged(EventBase):
    """A result was saved; since generation 14 only when value or category changed."""

    type: Literal["run_result_changed"]
    name: str
    value: str
    category: str
    category_localized: NotRequired[str]
    input: NotRequired[str]
    extra: NotRequired[Any]
    previous: NotRequired[PreviousResult]


class EnvironmentRefreshed(EventBase):
    """Generation 13: a resume contained changed settings."""

    type: Literal["environment_refreshed"]
    environment: Json


class _Text(EventBase):
    text: str
    code: NotRequired[str]
    extra: NotRequired[dict[str, str]]


class Error(_Text):
    """Something went wrong and the flow continues."""

    type: Literal["error"]


class Warning_(_Text):
    """A deprecated feature was used."""

    type: Literal["warning"]


class Failure(_Text):
    """The run and its session failed."""

    type: Literal["failure"]


RunEvent: TypeAlias = (
    RunStarted
    | FlowEntered
    | RunEnded
    | RunExpired
    | MsgWait
    | DialWait
    | TimeWait
    | CallbackWait
    | WaitTimedOut
    | DialEnded
    | RunResultChanged
    | EnvironmentRefreshed
    | Error
    | Warning_
    | Failure
)
