"""What events have in common."""

from typing import Any, NotRequired, TypeAlias, TypedDict

Json: TypeAlias = dict[str, Any]


class Reference(TypedDict):
    """An asset by its UUID, or by its key, slug or e-mail address."""

    name: NotRequired[str]
    uuid: NotRequired[str]
    key: NotRequired[str]
    email: NotRequired[str]
    revision: NotRequired[int]


class EventBase(TypedDict):
    """What all events have; `uuid` from generation 14 on, `step_uuid` before, while a node is visited."""

    created_on: str
    uuid: NotRequired[str]
    step_uuid: NotRequired[str]
