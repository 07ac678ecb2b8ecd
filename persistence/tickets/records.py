"""Tickets: conversations that wait for a user."""

from collections.abc import Collection

from sqlalchemy import ColumnElement, case, insert, literal, select

from persistence.accounts.accounts import email_key
from persistence.database import Transaction
from persistence.errors import InvalidInput, NothingFound
from persistence.lists import ListQuery, ListSpec, belongs_to, equals, reversible, within
from persistence.records import Record, optional
from persistence.stamps import TICKET_ASSIGNED, stamped, tell
from persistence.statements import update
from persistence.tables.accounts import membership, user, user_ref
from persistence.tables.contacts import CONTACT_REF, OPEN, TOPIC_REF, contact, ticket, ticket_event, topic
from persistence.teams import narrow_tickets, of_team

OPENED, ASSIGNED, NOTE_ADDED, TOPIC_CHANGED = "opened", "assigned", "note_added", "topic_changed"
REOPENED = "reopened"
NOBODY = "nobody"
"""In the filter by assignee: tickets without one."""

assignee = user.alias("assignee")
opener = user.alias("opener")

WITH_REFERENCES = (
    ticket.join(contact, contact.c.id == ticket.c.contact_id)
    .join(topic, topic.c.id == ticket.c.topic_id)
    .outerjoin(assignee, assignee.c.id == ticket.c.assignee_id)
    .outerjoin(opener, opener.c.id == ticket.c.opened_by_id)
)

AWAITS_REPLY = (ticket.c.status == literal(OPEN, literal_execute=True)) & ticket.c.replied_on.is_(None)
REPLY_DUE = case((AWAITS_REPLY, ticket.c.reply_due))
"""Until when a team wants the first reply to a ticket that has none."""

TICKET_ROLES = ("administrator", "editor", "agent")


TICKET_RECORD = Record(
    {
        "uuid": ticket.c.uuid,
        "contact": Record(CONTACT_REF),
        "status": ticket.c.status,
        "topic": Record(TOPIC_REF),
        "assignee": optional(assignee.c.id, user_ref(assignee)),
        "opened_on": ticket.c.opened_on,
        "opened_by": optional(opener.c.id, user_ref(opener)),
        "opened_in": optional(ticket.c.flow_uuid, {"uuid": ticket.c.flow_uuid, "name": ticket.c.flow_name}),
        "modified_on": ticket.c.modified_on,
        "closed_on": ticket.c.closed_on,
        "reply_due": REPLY_DUE,
    }
)


def has_assignee(whom: str) -> ColumnElement[bool]:
    """Whether a ticket is assigned to the user with this e-mail address, or to nobody."""
    email = email_key(whom)
    theirs = select(user.c.id).where(user.c.email_key == email).scalar_subquery()
    return ticket.c.assignee_id.is_(None) if email == NOBODY else ticket.c.assignee_id == theirs


def _is_overdue(query: ListQuery, is_wanted: bool) -> list[ColumnElement[bool]]:
    """False is not a filter."""
    return [AWAITS_REPLY, ticket.c.reply_due < query.tx.now] if is_wanted else []


TICKETS = ListSpec(
    ticket,
    TICKET_RECORD,
    reversible(ticket.c.modified_on, ticket.c.id),
    source=WITH_REFERENCES,
    standing=narrow_tickets,
    options=frozenset({"reverse"}),
    is_followed=True,
    filters={
        "uuid": equals(ticket.c.uuid),
        "contact": belongs_to(ticket.c.contact_id, contact),
        "status": lambda _query, status: ticket.c.status == status.strip().lower(),
        "topic": belongs_to(ticket.c.topic_id, topic),
        "team": of_team,
        "assignee": lambda _query, whom: has_assignee(whom),
        "overdue": _is_overdue,
        **within(ticket.c.modified_on),
    },
)


def find_assignee(tx: Transaction, workspace_id: int, email: str) -> int:
    """The id of the user with this e-mail address, who keeps the role until the end of this unit of work. Raises
    InvalidInput for an address that is nobody's here, and for users who cannot act on tickets."""
    statement = select(user.c.id, user.c.email, membership.c.role).join(membership, membership.c.user_id == user.c.id)
    mine = (membership.c.workspace_id == workspace_id) & (user.c.email_key == email_key(email)) & user.c.is_active
    row = tx.execute(statement.where(mine).with_for_update(read=True, of=membership)).first()
    if row is None:
        raise NothingFound("assignee", email)
    if row.role not in TICKET_ROLES:
        raise InvalidInput.on(
            "assignee",
            f"{row.email} has the role {row.role}, which cannot act on tickets: "
            "assign to an administrator, an editor or an agent.",
        )
    return int(row.id)


def find_assignee_of_flow(tx: Transaction, workspace_id: int, uuid: str) -> int | None:
    """The id of the user with this UUID; None for one who cannot act on tickets (any more): the ticket is nobody's."""
    found = tx.execute(select(user.c.id).where(user.c.uuid == uuid)).scalar_one_or_none()
    return None if found is None else next(iter(choose_assignees(tx, workspace_id, [found])), None)


def choose_assignees(tx: Transaction, workspace_id: int, user_ids: Collection[int | None]) -> set[int]:
    """Those of the users who may have tickets, until the end of this unit of work."""
    given = [each for each in user_ids if each is not None]
    if not given:
        return set()
    fitting = select(membership.c.user_id).where(_fits(workspace_id), membership.c.user_id.in_(given))
    held = fitting.order_by(membership.c.user_id).with_for_update(read=True)
    return set(tx.execute(held).scalars())


def unassign_stranded(
    tx: Transaction, workspace_id: int, user_id: int | None = None, by_user_id: int | None = None
) -> int:
    """Takes open tickets from those who cannot act on them, or from one such user, and writes it into their history;
    returns how many."""
    mine = (ticket.c.workspace_id == workspace_id) & (ticket.c.status == OPEN) & ticket.c.assignee_id.is_not(None)
    if user_id is not None:
        mine &= ticket.c.assignee_id == user_id
    fitting = select(membership.c.user_id).where(_fits(workspace_id)).scalar_subquery()
    chosen = select(ticket.c.id).where(mine, ticket.c.assignee_id.not_in(fitting))
    ids = list(tx.execute(chosen.order_by(ticket.c.id).with_for_update()).scalars())
    unassign_tickets(tx, workspace_id, ids, by_user_id)
    return len(ids)


def unassign_tickets(tx: Transaction, workspace_id: int, ids: Collection[int], by_user_id: int | None) -> None:
    """Makes locked tickets nobody's, with an entry in the history of each."""
    if not ids:
        return
    mine = (ticket.c.workspace_id == workspace_id) & ticket.c.id.in_(ids)
    tx.execute(update(ticket).where(mine).values(assignee_id=None, modified_on=stamped(tx, ticket, workspace_id)))
    tell(tx, workspace_id, TICKET_ASSIGNED, ids)
    shared = {"workspace_id": workspace_id, "type": ASSIGNED, "user_id": by_user_id, "created_on": tx.now}
    tx.execute(insert(ticket_event), [{**shared, "assignee_id": None, "ticket_id": each} for each in ids])


def _fits(workspace_id: int) -> ColumnElement[bool]:
    return (membership.c.workspace_id == workspace_id) & membership.c.role.in_(TICKET_ROLES)
