"""Who of the workspace takes part in a conversation: who looks at it or types an answer now, and who was named in a
note and has not looked since; and who has a flow open in the editor. There is no history: a person has a row for what
they look at and for what waits for them.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from itertools import product

from sqlalchemy import Column, case, delete, select

from persistence.accounts.accounts import email_key
from persistence.database import Transaction
from persistence.deletions import SHOWN_KINDS
from persistence.errors import LostRace, NothingFound
from persistence.lists import Condition, ListQuery, ListSpec, belongs_to, reversible
from persistence.records import Record, optional
from persistence.stamps import EPOCH, stamped
from persistence.statements import update
from persistence.tables.accounts import membership, user, user_ref
from persistence.tables.changes import participant
from persistence.tables.contacts import CONTACT_REF, contact
from persistence.tables.flows import FLOW_REF, flow
from persistence.tickets.records import TICKET_ROLES

GONE = "gone"
HOLDS = timedelta(seconds=90)
"""So long somebody takes part after they said so last."""

rows = participant.c


def _of_user(_query: ListQuery, email: str) -> Condition:
    return rows.user_id == select(user.c.id).where(user.c.email_key == email_key(email)).scalar_subquery()


def _here(query: ListQuery, here: bool) -> list[Condition]:
    """False is not a filter."""
    return [rows.state != GONE, rows.seen_on > query.tx.now - HOLDS] if here else []


def _mentioned(_query: ListQuery, mentioned: bool) -> list[Condition]:
    """False is not a filter."""
    return [rows.mentioned_on.is_not(None)] if mentioned else []


CONVERSATIONS, FLOWS = "contact", "flow"
SORT = case((rows.flow_id.is_(None), CONVERSATIONS), else_=FLOWS)
"""What somebody takes part in."""


def _of_kinds(query: ListQuery) -> list[Condition]:
    kinds = query.values.get(SHOWN_KINDS)
    return [] if kinds is None else [SORT.in_(kinds)]


PARTICIPANTS = ListSpec(
    participant,
    Record(
        {
            "contact": optional(contact.c.id, CONTACT_REF),
            "flow": optional(flow.c.id, FLOW_REF),
            "user": Record(user_ref(user)),
            "state": rows.state,
            "seen_on": rows.seen_on,
            "mentioned_on": rows.mentioned_on,
            "modified_on": rows.modified_on,
        }
    ),
    reversible(rows.modified_on, rows.id),
    source=participant.join(user, user.c.id == rows.user_id)
    .outerjoin(contact, contact.c.id == rows.contact_id)
    .outerjoin(flow, flow.c.id == rows.flow_id),
    options=frozenset({SHOWN_KINDS}),
    standing=_of_kinds,
    filters={
        "contact": belongs_to(rows.contact_id, contact),
        "flow": belongs_to(rows.flow_id, flow),
        "user": _of_user,
        "here": _here,
        "mentioned": _mentioned,
    },
)


def attend(tx: Transaction, workspace_id: int, contact_id: int, user_id: int, state: str) -> None:
    """A user looks at a conversation, types in it or leaves it. Who looks at it has seen where they were named. Where
    the user was before nobody keeps, unless something waits for them there. Raises LostRace if the contact was deleted
    since the caller found it; who answers or changes it does not wait for this, and no worker passes it over.
    """
    person = (contact.c.workspace_id == workspace_id) & (contact.c.id == contact_id) & ~contact.c.is_deleted
    if tx.execute(select(contact.c.id).where(person).with_for_update(read=True, key_share=True)).first() is None:
        raise LostRace
    _say(tx, workspace_id, rows.contact_id, contact_id, user_id, state)


def attend_flow(tx: Transaction, workspace_id: int, flow_id: int, user_id: int, state: str) -> None:
    """The same of a flow in the editor. Flows are not deleted."""
    _say(tx, workspace_id, rows.flow_id, flow_id, user_id, state)


def _say(
    tx: Transaction, workspace_id: int, about: Column[int | None], about_id: int, user_id: int, state: str
) -> None:
    mine = (rows.workspace_id == workspace_id) & (rows.user_id == user_id)
    is_over = (rows.seen_on < tx.now - HOLDS) & rows.mentioned_on.is_(None) & about.is_distinct_from(about_id)
    tx.execute(delete(participant).where(mine, is_over))
    values = {"state": state, "seen_on": tx.now, "modified_on": stamped(tx, participant, workspace_id)}
    seen = {} if state == GONE else {"mentioned_on": None}
    made = {"workspace_id": workspace_id, about.key: about_id, "user_id": user_id, "mentioned_on": None}
    added = tx.upsert(participant).values(**made, **values)
    key = (rows.workspace_id, about, rows.user_id)
    tx.execute(added.on_conflict_do_update(index_elements=key, set_={**values, **seen}))


def mention(tx: Transaction, workspace_id: int, contact_ids: Collection[int], user_ids: Sequence[int]) -> None:
    """Users are named in a note on each of these contacts. That is no look of theirs (`accounts.reminders`):
    who has not looked at all was seen at EPOCH.
    """
    if not user_ids:
        return
    values = {"mentioned_on": tx.now, "modified_on": stamped(tx, participant, workspace_id)}
    made = {"workspace_id": workspace_id, "state": GONE, "seen_on": EPOCH}
    pairs = product(sorted(set(contact_ids)), sorted(user_ids))
    added = tx.upsert(participant).values(
        [{**made, **values, "contact_id": contact_id, "user_id": user_id} for contact_id, user_id in pairs]
    )
    key = (rows.workspace_id, rows.contact_id, rows.user_id)
    tx.execute(added.on_conflict_do_update(index_elements=key, set_=values))


def join_mentions(tx: Transaction, workspace_id: int, kept_id: int, other_id: int) -> None:
    """Who takes part in both of two contacts that become one is told of what waits at the other."""
    other = participant.alias("other")
    of_other = (other.c.workspace_id == workspace_id) & (other.c.contact_id == other_id)
    theirs = of_other & (other.c.user_id == rows.user_id)
    named = select(other.c.mentioned_on).where(theirs).correlate(participant).scalar_subquery()
    mine = (rows.workspace_id == workspace_id) & (rows.contact_id == kept_id) & rows.mentioned_on.is_(None)
    values = {"mentioned_on": named, "modified_on": stamped(tx, participant, workspace_id)}
    tx.execute(update(participant).where(mine, named.is_not(None)).values(values))


def find_mentioned(tx: Transaction, workspace_id: int, emails: Sequence[str]) -> list[int]:
    """The ids of users who can be named. Raises NothingFound for an address that is nobody's here who answers."""
    wanted = {email_key(email): email for email in emails}
    if not wanted:
        return []
    fits = (membership.c.workspace_id == workspace_id) & membership.c.role.in_(TICKET_ROLES)
    known = select(user.c.email_key, user.c.id).join(membership, membership.c.user_id == user.c.id)
    rows_found = tx.execute(known.where(fits, user.c.is_active, user.c.email_key.in_(wanted))).all()
    found = {row.email_key: int(row.id) for row in rows_found}
    for key, email in wanted.items():
        if key not in found:
            raise NothingFound("mentions", email)
    return sorted(set(found.values()))
