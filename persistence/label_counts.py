"""Counts of visible messages per label, kept right in the transaction that changes them."""

from sqlalchemy import ColumnElement, func, select, update

from persistence.database import Transaction
from persistence.errors import LostRace
from persistence.labels import label, message_label
from persistence.messages import message


def change_count(tx: Transaction, workspace_id: int, label_id: int, change: int) -> None:
    """Add to a label's count of visible messages."""
    if change:
        mine = (label.c.workspace_id == workspace_id) & (label.c.id == label_id)
        if not tx.execute(update(label).where(mine).values(message_count=label.c.message_count + change)).rowcount:
            raise LostRace


def hold_messages(tx: Transaction, messages: ColumnElement[bool]) -> int:
    """Keep others from labelling or moving these messages until this transaction ends, so that it counts each once.

    Returns how many there are.
    """
    held = select(message.c.id).where(messages).order_by(message.c.id).with_for_update().subquery()
    return int(tx.execute(select(func.count()).select_from(held)).scalar_one())


def recount_after(tx: Transaction, workspace_id: int, messages: ColumnElement[bool], direction: int) -> None:
    """Take labelled messages out of their labels' counts (direction -1) or put them back (+1).

    `messages` is the condition under which the caller, who holds them, changes visibility, before it does.
    """
    counted = (
        select(message_label.c.label_id, func.count().label("n"))
        .join(message, message.c.id == message_label.c.message_id)
        .where(messages)
        .group_by(message_label.c.label_id)
        .order_by(message_label.c.label_id)
    )
    for label_id, count in tx.execute(counted).all():
        change_count(tx, workspace_id, label_id, direction * count)
