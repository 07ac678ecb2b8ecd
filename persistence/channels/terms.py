"""The terms on which a channel sends: what a segment costs, whether texts are transliterated, and when automatic
messages go: within hours, and so many segments a day. They are applied once, when a message is made.

What a person writes always goes at once. What nobody waits for (broadcasts, campaigns, starts) waits for the hours;
answers of flows do not, because somebody has just written. The budget of a day is for all automatic messages: what is
beyond it waits for the next day, for MOST_DAYS days at most.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from sqlalchemy import Column, ColumnElement, Executable, or_, select

from channels.hours import HELP, SendingHours, next_day, read_hours
from channels.sms import count_segments, transliterate
from flows.words import told
from persistence.database import Transaction
from persistence.errors import InvalidInput, RecordMissing
from persistence.statements import among, statement, update
from persistence.tables.accounts import workspace
from persistence.tables.changes import day_count
from persistence.tables.channels import channel
from persistence.tables.messages import FAILED, QUEUED

UTC = ZoneInfo("UTC")
MOST_DAYS = 3
MILLIONTHS = 1_000_000
AUTOMATIC = "automatic"
"""The kind of counts of a day: segments of automatic messages that a channel is to send then, by the days of the
workspace's time zone."""
HOURS, BUDGET, OVER_BUDGET = "hours", "budget", "over_budget"

HAS_TERMS: ColumnElement[bool] = or_(
    channel.c.transliterates.is_not(None),
    channel.c.segment_cost.is_not(None),
    channel.c.sending_hours.is_not(None),
    channel.c.automatic_per_day.is_not(None),
)


COLUMNS: dict[str, Column[Any]] = {
    "transliterate": channel.c.transliterates,
    "cost_per_segment": channel.c.segment_cost,
    "sending_hours": channel.c.sending_hours,
    "automatic_per_day": channel.c.automatic_per_day,
}
"""The settings of channels of all types, by their names in requests."""
NO_TERMS: dict[str, Any] = {column.key: None for column in COLUMNS.values()}


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a channel; `segment_cost` in millionths of the workspace's currency, `budget` in segments a day."""

    is_transliterated: bool = False
    segment_cost: int = 0
    hours: SendingHours | None = None
    budget: int | None = None
    zone: ZoneInfo = UTC

    def count(self, urn: str | None, text: str, urls: Sequence[str]) -> int | None:
        """The segments of a message as it is sent."""
        return count_segments(urn, transliterate(text) if self.is_transliterated else text, urls)


USUAL = Terms()


def read_terms(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns for those of these settings that are given; None or an empty text removes one. Raises
    InvalidInput."""
    values: dict[str, Any] = {}
    for name in COLUMNS.keys() & given.keys():
        is_removed = given[name] is None or given[name] is False or given[name] == ""
        values[COLUMNS[name].key] = None if is_removed else _read(name, given[name])
    return values


def _read(name: str, value: Any) -> Any:
    if name == "cost_per_segment":
        cost = Decimal(str(value)) * MILLIONTHS
        if cost != cost.to_integral_value():
            raise InvalidInput.on(name, "At most six decimals.")
        return int(cost)
    if name == "sending_hours":
        if read_hours(value) is None:
            raise InvalidInput.on(name, f"{HELP}; not {told(value)}.")
        return " ".join(value.lower().split())
    return value


def set_terms(tx: Transaction, workspace_id: int, uuid: str, given: Mapping[str, Any]) -> None:
    """Changes the given terms of an active channel, for messages to come. Raises RecordMissing, InvalidInput."""
    values = read_terms(given)
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    if values and tx.execute(update(channel).where(mine).values(values).returning(channel.c.id)).first() is None:
        raise RecordMissing


def show_terms(row: Mapping[str, Any]) -> dict[str, Any]:
    """The terms as records tell them, from a row with their names."""
    cost = row["cost_per_segment"]
    return {
        "transliterate": bool(row["transliterate"]),
        "cost_per_segment": None if cost is None else cost / MILLIONTHS,
        "sending_hours": row["sending_hours"],
        "automatic_per_day": row["automatic_per_day"],
    }


def load_terms(tx: Transaction, workspace_id: int, channel_ids: Collection[int]) -> dict[int, Terms]:
    """The terms of these channels; one statement, or none."""
    if not channel_ids:
        return {}
    return {
        channel_id: Terms(
            bool(is_transliterated), cost or 0, None if hours is None else read_hours(hours), budget, ZoneInfo(zone)
        )
        for channel_id, is_transliterated, cost, hours, budget, zone in _select_terms.rows(
            tx, workspace_id, sorted(channel_ids)
        )
    }


def plan(
    tx: Transaction, workspace_id: int, rows: Sequence[tuple[dict[str, Any], bool]], terms: Mapping[int, Terms]
) -> None:
    """Says of new automatic messages when they are due, and why so late; fails what is beyond the budgets of all days
    that it may wait for. Each row comes with whether it answers somebody who has just written. Two statements for a
    channel and day.
    """
    for channel_id, theirs in sorted(terms.items()):
        mine = [each for each in rows if each[0]["channel_id"] == channel_id and each[0]["status"] == QUEUED]
        for is_answer in (True, False):
            some = [row for row, answers in mine if answers == is_answer]
            hours = None if is_answer else theirs.hours
            begin = tx.now if hours is None else hours.next_opening(tx.now, theirs.zone)
            _delay(some, begin, None if begin == tx.now else HOURS)
            if theirs.budget is not None and some:
                _spend(tx, workspace_id, channel_id, some, begin, theirs)


def _spend(
    tx: Transaction, workspace_id: int, channel_id: int, rows: list[dict[str, Any]], begin: datetime, terms: Terms
) -> None:
    for _ in range(MOST_DAYS + 1):
        rows = _take(tx, (workspace_id, channel_id, begin.astimezone(terms.zone).date()), rows, terms.budget or 0)
        if not rows:
            return
        following = next_day(begin, terms.zone)
        begin = following if terms.hours is None else terms.hours.next_opening(following, terms.zone)
        _delay(rows, begin, BUDGET)
    for row in rows:
        row |= {"status": FAILED, "failed_reason": OVER_BUDGET, "due_on": None, "due_reason": None}


def _take(
    tx: Transaction, where: tuple[int, int, date], rows: list[dict[str, Any]], budget: int
) -> list[dict[str, Any]]:
    """Takes what the first of these messages need from the budget of a day; returns the others."""
    workspace_id, channel_id, day = where
    keys = {"workspace_id": workspace_id, "kind": AUTOMATIC, "day": day, "subject": channel_id}
    counts = day_count.c
    begun = tx.upsert(day_count).values(**keys, number=0)
    # It locks the row, so that two workers never spend the same.
    begun = begun.on_conflict_do_update(
        index_elements=["workspace_id", "kind", "day", "subject"], set_={"number": counts.number}
    )
    left = budget - tx.execute(begun.returning(counts.number)).scalar_one()
    taken = 0
    for row in rows:
        if left < _size(row):
            break
        left, taken = left - _size(row), taken + 1
    spent = sum(map(_size, rows[:taken]))
    if spent:
        mine = [counts[name] == value for name, value in keys.items()]
        tx.execute(update(day_count).where(*mine).values(number=counts.number + spent))
    return rows[taken:]


def _size(row: Mapping[str, Any]) -> int:
    return row["segments"] or 1


def _delay(rows: Sequence[dict[str, Any]], due_on: datetime, reason: str | None) -> None:
    for row in rows:
        row |= {"due_on": None if reason is None else due_on, "due_reason": reason}


@statement
def _select_terms(workspace_id: int, channel_ids: Sequence[int]) -> Executable:
    rows = channel.c
    columns = (rows.id, rows.transliterates, rows.segment_cost, rows.sending_hours, rows.automatic_per_day)
    found = select(*columns, workspace.c.timezone).join(workspace, workspace.c.id == rows.workspace_id)
    return found.where(rows.workspace_id == workspace_id, among(rows.id, channel_ids))
