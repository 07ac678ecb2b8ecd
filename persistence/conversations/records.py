"""Conversations: contacts with their last message, newest first."""

from sqlalchemy import literal, select

from persistence.contacts.queries import match_query
from persistence.labels import find_label
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to
from persistence.messages.records import FOLDERS, MESSAGE_FIELDS, labels_of_message
from persistence.messages.records import SOURCE as MESSAGES_WITH_NAMES
from persistence.pages import Order
from persistence.records import Record, optional
from persistence.runs.records import first_urn
from persistence.tables.changes import conversation
from persistence.tables.contacts import contact, contact_urn
from persistence.tables.flows import flow
from persistence.tables.messages import message, message_label
from persistence.tokens import check_area

URN = first_urn(contact_urn.c.scheme + literal(":", literal_execute=True) + contact_urn.c.path)

current_flow = flow.alias("current_flow")
"""The flow in which the contact waits; the message has its own."""
SOURCE = MESSAGES_WITH_NAMES.join(
    conversation,
    (conversation.c.message_id == message.c.id) & (conversation.c.workspace_id == message.c.workspace_id),
).outerjoin(current_flow, current_flow.c.id == contact.c.current_flow_id)


def _record(*, masked: bool = False) -> Record:
    shown = MESSAGE_FIELDS | {"labels": labels_of_message(conversation.c.message_id)}
    return Record(
        {
            "uuid": contact.c.uuid,
            "contact": Record({"uuid": contact.c.uuid, "name": contact.c.name}),
            "urn": None if masked else URN,
            "unread_count": conversation.c.unread_count,
            "has_open_ticket": contact.c.open_ticket_count > 0,
            "flow": optional(current_flow.c.id, {"uuid": current_flow.c.uuid, "name": current_flow.c.name}),
            "last_message": Record(shown | {"urn": None} if masked else shown),
            "last_on": conversation.c.last_on,
        }
    )


def _in_folder(_query: ListQuery, folder: str) -> Condition:
    return conversation.c.folder == (folder.lower() if folder.lower() in FOLDERS else "none")


def _with_label(query: ListQuery, reference: str) -> Condition:
    label_id = find_label(query.tx, query.workspace.id, reference)
    labeled = select(message.c.contact_id).join(message_label, message_label.c.message_id == message.c.id)
    return conversation.c.contact_id.in_(
        labeled.where(message.c.workspace_id == query.workspace.id, message_label.c.label_id == label_id)
    )


def _matching(query: ListQuery, text: str) -> Condition:
    check_area(query.areas, "contacts")
    matches = match_query(query.tx, query.workspace, text, "search", for_agent=query.is_agent)
    return conversation.c.contact_id.in_(select(contact.c.id).where(matches))


def _unread(_query: ListQuery, unread: bool) -> list[Condition]:
    """False is not a filter."""
    return [conversation.c.is_unread] if unread else []


CONVERSATIONS = ListSpec(
    conversation,
    _record(),
    Order(conversation.c.last_on, conversation.c.id),
    source=SOURCE,
    masked=_record(masked=True),
    filters={
        "contact": belongs_to(conversation.c.contact_id, contact),
        "folder": _in_folder,
        "label": _with_label,
        "search": _matching,
        "unread": _unread,
    },
)
