"""The types of the events of sessions, one for each kind, discriminated by `type` (flow format, events). `AnyEvent` is
their union, so that a type checker knows the fields of an event once its type was compared:

>>> def texts(events: list[AnyEvent]) -> list[str]:
...     return [event["msg"]["text"] for event in events if event["type"] == "msg_created"]

Times are ISO 8601 strings. Keys that only one of the generations 13 and 14 has are not required.
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
