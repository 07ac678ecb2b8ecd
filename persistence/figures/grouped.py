"""What happened in a span of days (UTC) by agent, team, topic, label, channel or day: of messages from the counts of
days, of tickets from the tickets themselves, whose median and 90th percentile are exact.
"""

import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import ColumnElement, Date, Float, cast, extract, func, literal, select

from persistence.channels.terms import MILLIONTHS
from persistence.database import Transaction
from persistence.exports.kinds import CsvSheet
from persistence.sql.columns import UtcDateTime
from persistence.stamps import ARRIVED, CAME, COST, LOST, SEGMENTS, TAKEN, WENT, WROTE
from persistence.tables.accounts import user, user_ref
from persistence.tables.changes import day_count
from persistence.tables.channels import channel
from persistence.tables.contacts import OPEN, team, team_topic, ticket, topic
from persistence.tables.messages import label, message_label

AGENT, TEAM, TOPIC, LABEL, CHANNEL, DAY = "agent", "team", "topic", "label", "channel", "day"
MOST_DAYS = 366
MOST_TICKETS = 100_000
"""So many tickets are looked at that were opened in the span, that were closed in it, and that are open now."""
MOST_ROWS = 1_000
DECIMALS = 6
"""Of costs."""
RATE_DECIMALS = 4
DAY_SECONDS = 86_400
MEDIAN, NINETY = 50, 90

OPENED = ("tickets_opened", "tickets_replied", "first_reply_seconds", "first_reply_p90_seconds")
CLOSED = ("tickets_closed", "closing_seconds", "closing_p90_seconds")
WAITING = ("tickets_open", "open_seconds", "open_p90_seconds")
TICKETS = (*OPENED, *CLOSED, *WAITING)
SENT = ("messages_out", "delivered", "failed", "delivery_rate", "segments_out", "cost_out")
COLUMNS: Mapping[str, tuple[str, ...]] = {
    AGENT: ("tickets_taken", *TICKETS, "messages_out"),
    TEAM: TICKETS,
    TOPIC: TICKETS,
    LABEL: ("messages_in",),
    CHANNEL: ("messages_in", *SENT),
    DAY: ("tickets_taken", *TICKETS, "messages_in", *SENT),
}
"""What is told of each group; the other figures of its rows are null."""
NAMES = list(dict.fromkeys(name for names in COLUMNS.values() for name in names))
COUNTS: Mapping[str, Mapping[str, str]] = {
    AGENT: {TAKEN: "tickets_taken", WROTE: "messages_out"},
    CHANNEL: {
        CAME: "messages_in",
        WENT: "messages_out",
        ARRIVED: "delivered",
        LOST: "failed",
        SEGMENTS: "segments_out",
        COST: "cost_out",
    },
}
"""The counts of days by their subject."""
SUMMED: Mapping[str, Mapping[str, str]] = {**COUNTS, DAY: {TAKEN: "tickets_taken", **COUNTS[CHANNEL]}}

KEYS: Mapping[str, ColumnElement[Any]] = {
    AGENT: ticket.c.assignee_id,
    TEAM: team_topic.c.team_id,
    TOPIC: ticket.c.topic_id,
}
"""Of tickets."""
WITH_TEAMS = ticket.outerjoin(
    team_topic,
    (team_topic.c.topic_id == ticket.c.topic_id) & (team_topic.c.workspace_id == ticket.c.workspace_id),
)
Key = int | str | None
"""The id of what a row is about, or a day; None for nobody or nothing."""
Figures = dict[str, Any]


@dataclass(slots=True)
class _Groups:
    """Rows by their key, and what they are together."""

    by: str
    rows: dict[Key, Figures] = field(default_factory=dict)
    total: Figures = field(default_factory=dict)
    is_exact: bool = True

    def of(self, key: Key) -> Figures:
        return self.rows.setdefault(key, {})

    def add(self, key: Key, name: str, number: int) -> None:
        for figures in (self.of(key), self.total):
            figures[name] = figures.get(name, 0) + number


def read_grouped_figures(tx: Transaction, workspace_id: int, by: str, first: date, last: date) -> dict[str, Any]:
    """The figures of the days from the first to the last, both included, in one row for each agent, team, topic,
    label, channel or day. At most six statements."""
    groups = _Groups(by)
    if by == DAY:
        listed = [last - timedelta(days=number) for number in range((last - first).days + 1)]
        groups.rows = {day.isoformat(): {} for day in listed}
    if by in SUMMED:
        _add_counts(tx, workspace_id, groups, first, last)
    if by in (*KEYS, DAY):
        _add_tickets(tx, workspace_id, groups, first, last)
    if by == LABEL:
        _add_labeled(tx, workspace_id, groups, first, last)
    rows = _name(tx, workspace_id, groups)
    return {
        "by": by,
        "after": first.isoformat(),
        "before": last.isoformat(),
        "rows": rows[:MOST_ROWS],
        "total": _row(groups, None, None, groups.total),
        "is_exact": groups.is_exact,
    }


def write_csv(found: Mapping[str, Any]) -> bytes:
    """The rows as CSV for spreadsheets, the total last."""
    names = ("key", "name", *COLUMNS[found["by"]])
    file = io.BytesIO()
    sheet = CsvSheet(file)
    for cells in [names, *([row[name] for name in names] for row in found["rows"])]:
        sheet.write(cells)
    sheet.write(["total", *(found["total"][name] for name in names[1:])])
    return file.getvalue()


def _add_counts(tx: Transaction, workspace_id: int, groups: _Groups, first: date, last: date) -> None:
    rows, names = day_count.c, SUMMED[groups.by]
    key: ColumnElement[Any] = rows.day if groups.by == DAY else rows.subject
    mine = (rows.workspace_id == workspace_id) & rows.kind.in_(sorted(names)) & rows.day.between(first, last)
    counted = select(rows.kind, key, func.sum(rows.number)).where(mine).group_by(rows.kind, key)
    for kind, one, number in tx.execute(counted):
        groups.add(one.isoformat() if isinstance(one, date) else one or None, names[kind], int(number))


def _add_labeled(tx: Transaction, workspace_id: int, groups: _Groups, first: date, last: date) -> None:
    """An index leads to the messages of a label by their time."""
    since, until = _span(first, last)
    links = message_label.c
    theirs = (links.label_id == label.c.id) & (links.created_on >= since) & (links.created_on < until)
    counted = select(func.count()).select_from(message_label).where(theirs).correlate(label).scalar_subquery()
    for label_id, number in tx.execute(select(label.c.id, counted).where(label.c.workspace_id == workspace_id)):
        if number:
            groups.add(label_id, "messages_in", number)


def _add_tickets(tx: Transaction, workspace_id: int, groups: _Groups, first: date, last: date) -> None:
    """Tickets opened in the span and how soon they were answered, those closed in it and how soon, and those that are
    open now, and for how long."""
    rows, mine = ticket.c, ticket.c.workspace_id == workspace_id
    since, until = _span(first, last)
    between = _between(is_sqlite=tx.sqlite)
    opened = mine & (rows.opened_on >= since) & (rows.opened_on < until)
    closed = mine & rows.closed_on.is_not(None) & (rows.closed_on >= since) & (rows.closed_on < until)
    waiting = mine & (rows.status == literal(OPEN, literal_execute=True))
    if groups.by == DAY:
        waiting &= (rows.opened_on >= since) & (rows.opened_on < until)
    now = literal(tx.now, UtcDateTime)
    for names, which, moment, seconds in (
        (OPENED, opened, rows.opened_on, between(rows.opened_on, rows.replied_on)),
        (CLOSED, closed, rows.closed_on, between(rows.opened_on, rows.closed_on)),
        (WAITING, waiting, rows.opened_on, between(rows.opened_on, now)),
    ):
        key = _key_of(groups.by, moment, is_sqlite=tx.sqlite)
        order = rows.modified_on if names is WAITING and groups.by != DAY else moment
        some = select(key.label("key"), seconds.label("seconds")).where(which).order_by(order.desc(), rows.id.desc())
        some = some.select_from(WITH_TEAMS if groups.by == TEAM else ticket)
        _add_times(groups, names, [(key, waited) for key, waited in tx.execute(some.limit(MOST_TICKETS)).tuples()])


def _key_of(by: str, moment: ColumnElement[Any], *, is_sqlite: bool) -> ColumnElement[Any]:
    if by == DAY:
        return func.substr(moment, 1, 10) if is_sqlite else cast(func.timezone("UTC", moment), Date)
    return KEYS[by]


def _between(*, is_sqlite: bool) -> Callable[[Any, Any], ColumnElement[Any]]:
    """The seconds from one time to another."""
    if is_sqlite:
        return lambda begin, end: (_days(end) - _days(begin)) * DAY_SECONDS
    return lambda begin, end: cast(extract("epoch", end - begin), Float)


def _days(moment: ColumnElement[Any]) -> ColumnElement[float]:
    return func.julianday(moment, type_=Float)


def _add_times(groups: _Groups, names: Sequence[str], found: Sequence[tuple[Any, float | None]]) -> None:
    """The names are those of the number, of the number with seconds unless all have them, and of the percentiles."""
    *numbers, median_name, ninety_name = names
    timed = sorted([(seconds, key) for key, seconds in found if seconds is not None], key=itemgetter(0))
    waits: dict[Any, list[float]] = {}
    for seconds, one in timed:
        waits.setdefault(one, []).append(seconds)
    for one, number in Counter([key for key, _ in found]).items():
        key = one.isoformat() if isinstance(one, date) else one
        sorted_waits = waits.get(one, [])
        for name, count in zip(numbers, (number, len(sorted_waits)), strict=False):
            groups.add(key, name, count)
        for name, percent in ((median_name, MEDIAN), (ninety_name, NINETY)):
            groups.of(key)[name] = _percentile(sorted_waits, percent)
    together = [seconds for seconds, _ in timed]
    groups.total |= {median_name: _percentile(together, MEDIAN), ninety_name: _percentile(together, NINETY)}
    groups.is_exact &= len(found) < MOST_TICKETS


def _percentile(values: Sequence[float], percent: int) -> float | None:
    """Of sorted values, by nearest rank: the least that so many percent do not exceed."""
    return values[(len(values) * percent + 99) // 100 - 1] if values else None


def _name(tx: Transaction, workspace_id: int, groups: _Groups) -> list[Figures]:
    """The rows with what they are called: days with today first, others with the busiest first. What is gone is counted
    with what is nobody's."""
    if groups.by == DAY:
        return [_row(groups, str(key), None, figures) for key, figures in groups.rows.items()]
    ids = [key for key in groups.rows if key is not None]
    if groups.by == AGENT:
        ref = user_ref(user)
        naming = select(user.c.id, ref["email"], ref["name"]).where(user.c.id.in_(ids))
    else:
        table = {TEAM: team, TOPIC: topic, LABEL: label, CHANNEL: channel}[groups.by]
        mine = (table.c.workspace_id == workspace_id) & table.c.id.in_(ids)
        naming = select(table.c.id, table.c.uuid, table.c.name).where(mine)
    called = {number: (key, name) for number, key, name in tx.execute(naming)}
    named = [_row(groups, *called[key], groups.rows[key]) for key in ids if key in called]
    named.sort(key=lambda row: (-_work(row), row["name"] or "", row["key"]))
    others = [figures for key, figures in groups.rows.items() if key not in called]
    if others:
        together = {name: sum(each.get(name, 0) for each in others) for name in NAMES if not name.endswith("_seconds")}
        nobodys = groups.rows.get(None, {})
        named.append(_row(groups, None, None, {**nobodys, **together}))
    return named


def _work(row: Figures) -> int:
    return sum(row[name] or 0 for name in ("tickets_opened", "tickets_closed", "messages_in", "messages_out"))


def _row(groups: _Groups, key: str | None, name: str | None, figures: Figures) -> Figures:
    row: Figures = {"key": key, "name": name, **dict.fromkeys(NAMES)}
    for column in COLUMNS[groups.by]:
        if column.endswith("_seconds"):
            seconds = figures.get(column)
            row[column] = None if seconds is None else max(0, round(seconds))
        elif column != "delivery_rate":
            row[column] = max(0, figures.get(column, 0))
    if row["cost_out"] is not None:
        row["cost_out"] = round(row["cost_out"] / MILLIONTHS, DECIMALS)
    if row["messages_out"] and "delivery_rate" in COLUMNS[groups.by]:
        row["delivery_rate"] = min(1.0, round(row["delivered"] / row["messages_out"], RATE_DECIMALS))
    return row


def _span(first: date, last: date) -> tuple[datetime, datetime]:
    return datetime.combine(first, time(), UTC), datetime.combine(last, time(), UTC) + timedelta(days=1)
