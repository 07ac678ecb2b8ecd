"""Events of tickets (flow format, events)."""

from typing import Literal, NotRequired, TypeAlias, TypedDict

from flows.events.base import EventBase, Reference


class Ticket(TypedDict):
    """A ticket that was opened."""

    uuid: str
    status: NotRequired[str]
    topic: NotRequired[Reference]
    assignee: NotRequired[Reference]
    body: NotRequired[str]


class TicketOpened(EventBase):
    """A ticket was opened."""

    type: Literal["ticket_opened"]
    ticket: Ticket


class TicketNoteAdded(EventBase):
    """A note was added to a ticket."""

    type: Literal["ticket_note_added"]
    ticket_uuid: str
    note: str


class TicketClosed(EventBase):
    """A ticket was closed."""

    type: Literal["ticket_closed"]
    ticket_uuid: str


class TicketReopened(EventBase):
    """A ticket was opened again."""

    type: Literal["ticket_reopened"]
    ticket_uuid: str


class TicketAssigneeChanged(EventBase):
    """A ticket was assigned to a user, or to nobody if `assignee` is None."""

    type: Literal["ticket_assignee_changed"]
    ticket_uuid: str
    assignee: Reference | None
    prev_assignee: NotRequired[Reference]


class TicketTopicChanged(EventBase):
    """A ticket got another topic."""

    type: Literal["ticket_topic_changed"]
    ticket_uuid: str
    topic: Reference


TicketEvent: TypeAlias = (
    TicketOpened | TicketNoteAdded | TicketClosed | TicketReopened | TicketAssigneeChanged | TicketTopicChanged
)
