"""The queue of HTTP gateways, with a row for each message that they do not have yet (relayer protocol, section 22), and
the rate limit of each in messages per second, stored for all workers as one time on its channel.

A message is sent to its gateway in parts, one request each. The row stores how many parts were begun and how many the
gateway has accepted; it is deleted when the last part is accepted or the message is given up.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Executable, delete, select

from persistence.database import Transaction
from persistence.statements import among, insert_rows, statement, update
from persistence.tables.channels import channel
from persistence.tables.messages import gateway_send

BURST_PART = 20
"""At most a twentieth of a second's messages is sent at once, so that workers need not wake up for every single
message."""

CONVERSATION, BULK = 0, 1
"""Priorities: replies and single messages come before broadcasts, campaigns and flow starts."""

_insert_sends = insert_rows(gateway_send, [column.name for column in gateway_send.c if column.name != "id"])


@dataclass(frozen=True, slots=True)
class Pace:
    """A rate limit and its use, by the generic cell rate algorithm. `spent_until` is when a gateway that always gets
    the maximum would get the next message. In no second more than `per_second` messages are sent: the size of a burst
    is subtracted from the rate.
    """

    per_second: float
    spent_until: datetime
    now: datetime

    @property
    def burst(self) -> int:
        return 1 + int(self.per_second // BURST_PART)

    @property
    def interval_seconds(self) -> float:
        return 1 / (self.per_second - (self.burst - 1))

    @property
    def allowance(self) -> int:
        """How many messages may be sent now."""
        ahead_seconds = (max(self.spent_until, self.now) - self.now).total_seconds()
        return max(self.burst - math.ceil(round(ahead_seconds / self.interval_seconds, 6)), 0)

    @property
    def next_on(self) -> datetime:
        """When half a burst may be sent again."""
        seconds = (self.burst - max(self.burst // 2, 1)) * self.interval_seconds
        return self.spent_until - timedelta(seconds=seconds)

    def after(self, messages: int) -> "Pace":
        """The pace after so many more messages were sent."""
        spent = timedelta(seconds=messages * self.interval_seconds)
        return Pace(self.per_second, max(self.spent_until, self.now) + spent, self.now)


def lock_paces(tx: Transaction, channel_ids: Collection[int]) -> dict[int, Pace]:
    """The paces of those gateways that have a limit, locked in one order until the transaction ends."""
    rows = channel.c
    if not channel_ids:
        return {}
    ids = [channel_id for (channel_id,) in _find_limited.rows(tx, sorted(channel_ids))]
    if not ids:
        return {}
    columns = (rows.id, rows.messages_per_second, rows.paced_until)
    statement = select(*columns).where(rows.id.in_(ids)).order_by(rows.id).with_for_update(key_share=True)
    return {
        row.id: Pace(row.messages_per_second, row.paced_until or tx.now, tx.now)
        for row in tx.execute(statement)
        if row.messages_per_second is not None
    }


@statement
def _find_limited(channel_ids: Sequence[int]) -> Executable:
    return select(channel.c.id).where(among(channel.c.id, channel_ids), channel.c.messages_per_second.is_not(None))


def charge_pace(tx: Transaction, paces: dict[int, Pace], sent_to: Iterable[int]) -> None:
    """Counts messages against the limits of their gateways, and updates `paces`."""
    for channel_id, count in Counter(sent_to).items():
        if channel_id in paces:
            paces[channel_id] = paces[channel_id].after(count)
            spent = {"paced_until": paces[channel_id].spent_until}
            tx.execute(update(channel).where(channel.c.id == channel_id).values(**spent))


def queue_sends(
    tx: Transaction, workspace_id: int, sends: Sequence[tuple[int | None, int, int, datetime | None]]
) -> None:
    """Queue messages of this unit of work for their gateways: the channel, the message, the priority and the time of
    each, None for now; one statement.
    """
    counts = {"parts_begun": 0, "parts_accepted": 0, "error_count": 0, "attempts": 0}
    new: dict[str, Any] = {"workspace_id": workspace_id, **counts, "created_on": tx.now}
    rows = [
        {"channel_id": channel_id, "message_id": number, "priority": priority, "due_on": due_on or tx.now, **new}
        for channel_id, number, priority, due_on in sends
    ]
    _insert_sends.run(tx, rows)


def drop_sends_of(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> None:
    """Delete the queues of released gateways."""
    rows = gateway_send.c
    tx.execute(delete(gateway_send).where(rows.workspace_id == workspace_id, rows.channel_id.in_(channel_ids)))


def drop_untried_sends(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> dict[int, int]:
    """Take messages out of the queues of gateways before anything of them was written; returns their priorities. A
    worker that is about to begin one finds no row any more, and does not send it."""
    rows = gateway_send.c
    untried = (rows.workspace_id == workspace_id) & rows.channel_id.in_(channel_ids) & (rows.parts_begun == 0)
    dropped = tx.execute(delete(gateway_send).where(untried).returning(rows.message_id, rows.priority))
    return {message_id: priority for message_id, priority in dropped}
