"""The types of the events that sessions give, one for each kind, told apart by `type` (flow format, events).

`AnyEvent` is any of them, so that a type checker knows the fields of an event once its type was compared:

>>> def texts(events: list[AnyEvent]) -> list[str]:
...     return [event["msg"]["text"] for event in events if event["type"] == "msg_created"]

Moments are ISO 8601 texts. What sessions of generation 13 leave out or write besides is not required.
"""

from typing import TypeAlias

from flows.events.base import *  # noqa: F403
from flows.events.contacts import *  # noqa: F403
from flows.events.contacts import ContactEvent
from flows.events.messages import *  # noqa: F403
from flows.events.messages import MessageEvent
from flows.events.runs import *  # noqa: F403
from flows.events.runs import RunEvent
from flows.events.services import *  # noqa: F403
from flows.events.services import ServiceEvent
from flows.events.tickets import *  # noqa: F403
from flows.events.tickets import TicketEvent

AnyEvent: TypeAlias = RunEvent | MessageEvent | ContactEvent | TicketEvent | ServiceEvent
