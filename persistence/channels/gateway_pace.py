"""The rate limit of a gateway in messages per second, stored for all workers as one time on its channel."""

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Executable, select, update

from persistence.database import Transaction
from persistence.sql.fixed_statements import Fixed, among
from persistence.tables.channels import channel

BURST_PART = 20
"""At most a twentieth of a second's messages is sent at once, so that workers need not wake up for every single
message."""


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
    ids = [channel_id for (channel_id,) in _LIMITED.rows(tx, {"ids": sorted(channel_ids)})]
    if not ids:
        return {}
    columns = (rows.id, rows.messages_per_second, rows.paced_until)
    statement = select(*columns).where(rows.id.in_(ids)).order_by(rows.id).with_for_update(key_share=True)
    return {
        row.id: Pace(row.messages_per_second, row.paced_until or tx.now, tx.now)
        for row in tx.execute(statement)
        if row.messages_per_second is not None
    }


def _find_limited(_is_sqlite: bool) -> Executable:
    return select(channel.c.id).where(among(channel.c.id, "ids"), channel.c.messages_per_second.is_not(None))


_LIMITED = Fixed(_find_limited)


def charge_pace(tx: Transaction, paces: dict[int, Pace], sent_to: Iterable[int]) -> None:
    """Counts messages against the limits of their gateways, and updates `paces`."""
    for channel_id, count in Counter(sent_to).items():
        if channel_id in paces:
            paces[channel_id] = paces[channel_id].after(count)
            spent = {"paced_until": paces[channel_id].spent_until}
            tx.execute(update(channel).where(channel.c.id == channel_id).values(**spent))
