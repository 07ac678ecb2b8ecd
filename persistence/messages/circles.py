"""Automatic answers in a circle: two machines answer each other for ever, for example two phones whose flows catch all.

What a machine does again and again is counted, because a person who answers a survey quickly gets as many messages, but
others. Each message of a flow that begun anew because the contact wrote or called counts. What goes on (a flow that
waited, the reply of a webhook) counts only if its text was sent before, or once there are many times more messages than
a person reads. What is not an answer (campaigns, broadcasts, starts by people) does not count, and after a message that
a person wrote the count begins anew.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import Executable, literal_column, select, true, update

from persistence.database import Transaction
from persistence.messages.states import CIRCLE, OUTGOING
from persistence.sql.columns import UtcDateTime
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.stamps import stamped
from persistence.tables.accounts import workspace
from persistence.tables.contacts import contact
from persistence.tables.messages import message
from persistence.workspaces import USUAL_ANSWERS

NEUTRAL, GOING_ON, ANEW = 0, 1, 2
"""What made a message by itself: nothing that the contact did; a dialog that goes on; a flow that began because the
contact wrote or called."""
ANSWERS = (GOING_ON, ANEW)
WITHIN = timedelta(minutes=5)
MOST_FACTOR = 4
MOST_READ = 4000
"""Messages of a contact that are looked at."""


@dataclass(slots=True)
class Answers:
    """The automatic answers that a contact got lately without a person's doing."""

    limit: int
    is_stopped: bool
    total: int = 0
    anew: int = 0
    texts: Counter[str] = field(default_factory=Counter)
    is_over: bool = False

    def count(self, automatic: int | None, text: str) -> None:
        """Counts a message, the latest one first."""
        if automatic is None:
            self.is_over = True
        elif not self.is_over and automatic in ANSWERS:
            self.total += 1
            if automatic == ANEW:
                self.anew += 1
            else:
                self.texts[text] += 1

    @property
    def go_in_circle(self) -> bool:
        repeated = self.texts.total() - len(self.texts)
        return self.limit > 0 and (self.anew + repeated >= self.limit or self.total >= self.limit * MOST_FACTOR)


def find_circles(tx: Transaction, workspace_id: int, contact_ids: Collection[int]) -> set[int]:
    """The contacts of these that get no automatic answers any more; one statement, which reads the messages of five
    minutes. Those of whom it is news are marked.
    """
    if not contact_ids:
        return set()
    values = {"owner": workspace_id, "theirs": sorted(contact_ids), "since": tx.now - WITHIN}
    known: dict[int, Answers] = {}
    for contact_id, stopped_on, limit, automatic, text, number in _COUNTING.rows(tx, values):
        answers = known.get(contact_id)
        if answers is None:
            wanted = USUAL_ANSWERS if limit is None else limit
            answers = known[contact_id] = Answers(wanted, is_stopped=stopped_on is not None)
        if number is not None:
            answers.count(automatic, text)
    news = [contact_id for contact_id, each in known.items() if each.go_in_circle and not each.is_stopped]
    mark(tx, workspace_id, news, is_stopped=True)
    return {contact_id for contact_id, each in known.items() if each.is_stopped or each.go_in_circle}


def mark(tx: Transaction, workspace_id: int, contact_ids: Sequence[int], *, is_stopped: bool) -> None:
    """Marks contacts as those that get no automatic answers, or lets them have answers again."""
    if not contact_ids:
        return
    rows = contact.c
    mine = (rows.workspace_id == workspace_id) & rows.id.in_(sorted(contact_ids))
    others = rows.answers_stopped_on.is_(None) if is_stopped else rows.answers_stopped_on.is_not(None)
    values: Mapping[str, Any] = {"answers_stopped_on": tx.now if is_stopped else None}
    tx.execute(update(contact).where(mine, others).values(**values, modified_on=stamped(tx, contact, workspace_id)))


def answer_again(tx: Transaction, workspace_id: int, contact_ids: Sequence[int]) -> None:
    """Lets contacts have automatic answers again; the count begins anew, as after a message of a person."""
    mark(tx, workspace_id, contact_ids, is_stopped=False)
    rows = message.c
    recent = (rows.direction == OUTGOING) & (rows.created_on > tx.now - WITHIN) & rows.automatic.in_(ANSWERS)
    mine = (rows.workspace_id == workspace_id) & rows.contact_id.in_(sorted(contact_ids))
    tx.execute(update(message).where(mine, recent).values(automatic=NEUTRAL))


def channels_in_circle(rows: Iterable[Mapping[str, Any]]) -> set[int]:
    """The channels by which new messages would have gone, had they not been answers in a circle."""
    return {row["channel_id"] for row in rows if row["failed_reason"] == CIRCLE and row["channel_id"] is not None}


def _count(is_sqlite: bool) -> Executable:
    rows, owner = message.c, param("owner")
    limit = select(workspace.c.answer_limit).where(workspace.c.id == owner).scalar_subquery()
    recent = (rows.contact_id == contact.c.id) & (rows.created_on > param("since", UtcDateTime))
    sent = recent & (rows.workspace_id == owner) & (rows.direction == OUTGOING)
    wanted = sent & rows.failed_reason.is_distinct_from(CIRCLE)
    mine = (contact.c.workspace_id == owner) & among(contact.c.id, "theirs")
    known = (contact.c.id, contact.c.answers_stopped_on, limit)
    if is_sqlite:
        found = select(*known, rows.automatic, rows.text, rows.id).select_from(contact.outerjoin(message, wanted))
        return found.where(mine).order_by(contact.c.id, rows.created_on.desc(), rows.id.desc())
    # A seek for each contact: a join may read what all contacts of the workspace got in these minutes.
    latest = select(rows.automatic, rows.text, rows.id, rows.created_on).where(wanted)
    latest = latest.order_by(rows.created_on.desc(), rows.id.desc()).limit(literal_column(str(MOST_READ)))
    seek = latest.correlate(contact).lateral("latest")
    found = select(*known, seek.c.automatic, seek.c.text, seek.c.id).select_from(contact.outerjoin(seek, true()))
    return found.where(mine).order_by(contact.c.id, seek.c.created_on.desc(), seek.c.id.desc())


_COUNTING = Fixed(_count)
