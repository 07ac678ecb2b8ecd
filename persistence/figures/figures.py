"""Figures of a workspace by day (UTC), and of a flow: from counts that are kept as things happen, and from indexes;
and what does not work.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from statistics import median
from typing import Any

from sqlalchemy import ColumnElement, Row, func, literal, select, tuple_, union_all

from persistence.channels.channels import IS_RELAYER, LOST_AFTER
from persistence.channels.terms import MILLIONTHS
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.runs.runs import EXPIRED, INTERRUPTED, IS_OPEN
from persistence.sql.columns import time_text
from persistence.stamps import ACTIVE, CAME, COST, ERRORS, SEGMENTS, WENT
from persistence.tables.changes import day_count, flow_count
from persistence.tables.channels import channel
from persistence.tables.contacts import ticket
from persistence.tables.deliveries import PENDING, delivery, resthook, resthook_subscriber, webhook_trouble
from persistence.tables.flows import LastNode, flow, flow_run
from persistence.tables.messages import FAILED, INCOMING, IS_UNHANDLED, OUTGOING, message

MOST_COUNTED = 10_000
NAMES = {
    CAME: "messages_in",
    WENT: "messages_out",
    SEGMENTS: "segments_out",
    COST: "cost_out",
    ACTIVE: "active_contacts",
    ERRORS: "errors",
}
"""The counts of a day, by their names in figures."""
BY_CHANNEL = ("messages_in", "messages_out", "segments_out", "cost_out", "errors")
EXIT, RESULT = "exit", "result"
UNFINISHED = (INTERRUPTED, EXPIRED)

QUESTIONS = 1_000
"""Of so many newest incoming messages of a period it is looked up whether they were answered."""
ANSWERED_WITHIN = timedelta(days=7)
IN_FOLDERS = ("inbox", "flows", "archived")
"""The folders of incoming messages."""

MOST = 100
DECIMALS = 6
"""Of costs."""
TROUBLE = webhook_trouble.c
FACTS = (TROUBLE.began_on, TROUBLE.last_failed_on, TROUBLE.given_up, TROUBLE.switched_off_on)


def read_workspace_figures(tx: Transaction, workspace_id: int, days: int) -> dict[str, Any]:
    """What happened on each of the last days, today included, in these days together and in as many before them, and
    what waits now.
    """
    today = tx.now.date()
    begin = today - timedelta(days=days - 1)
    listed = [today - timedelta(days=number) for number in range(days)]
    by_day: dict[date, dict[str, Any]] = {day: {"day": day.isoformat()} | _nothing() for day in listed}
    channels: dict[int, dict[date, dict[str, float]]] = {}
    rows = day_count.c
    mine = (rows.workspace_id == workspace_id) & (rows.day >= listed[-1])
    for kind, name in NAMES.items():
        found = tx.execute(select(rows.day, rows.subject, rows.number).where(mine, rows.kind == kind))
        for day, subject, counted in found:
            number = counted / MILLIONTHS if kind == COST else counted
            if day in by_day:
                if kind != ERRORS:
                    by_day[day][name] = round(by_day[day][name] + number, DECIMALS)
                if kind != ACTIVE and subject:
                    channels.setdefault(subject, {}).setdefault(day, dict.fromkeys(BY_CHANNEL, 0))
                    channels[subject][day][name] += number
    _add_tickets(tx, workspace_id, by_day, listed[-1])
    return {
        "days": [by_day[day] for day in listed],
        "period": _read_period(tx, workspace_id, begin, days),
        "period_before": _read_period(tx, workspace_id, begin - timedelta(days=days), days),
        "channels": _name_channels(tx, workspace_id, channels, listed),
        "runs_in_progress": _count_runs(tx, workspace_id),
        "oldest_unhandled_on": _oldest(tx, workspace_id, is_incoming=True),
        "oldest_unsent_on": _oldest(tx, workspace_id, is_incoming=False),
        "oldest_delivery_on": find_oldest_delivery(tx, workspace_id),
        "silent_phones": list_silent_phones(tx, workspace_id),
        "failing_webhooks": list_failing_webhooks(tx, workspace_id),
    }


def read_flow_figures(tx: Transaction, workspace_id: int, uuid: str, days: int) -> dict[str, Any]:
    """Where contacts wait in a flow, how many went through each exit, and its results by day. Raises RecordMissing."""
    mine = (flow.c.workspace_id == workspace_id) & (flow.c.uuid == uuid)
    flow_id = tx.execute(select(flow.c.id).where(mine)).scalar_one_or_none()
    if flow_id is None:
        raise RecordMissing
    rows, first = flow_count.c, tx.now.date() - timedelta(days=days - 1)
    counted = (rows.workspace_id == workspace_id) & (rows.flow_id == flow_id)
    exits = select(rows.key, func.sum(rows.number)).where(counted, rows.kind == EXIT).group_by(rows.key)
    results = select(rows.key, rows.value, rows.day, rows.number).where(counted, rows.kind == RESULT, rows.day >= first)
    totals = select(rows.key, rows.value, func.sum(rows.number)).where(counted, rows.kind == RESULT)
    totals = totals.group_by(rows.key, rows.value).order_by(rows.key, func.sum(rows.number).desc(), rows.value)
    runs = (flow_run.c.workspace_id == workspace_id) & (flow_run.c.flow_id == flow_id)
    some = select(LastNode(flow_run.c.path).label("node")).where(runs, IS_OPEN).limit(MOST_COUNTED + 1).subquery()
    waiting = tx.execute(select(some.c.node, func.count()).where(some.c.node.is_not(None)).group_by(some.c.node)).all()
    newest = select(flow_run.c.path, flow_run.c.status).where(runs).order_by(flow_run.c.modified_on.desc())
    recent = newest.limit(MOST_COUNTED).subquery()
    ended = select(LastNode(recent.c.path).label("node")).where(recent.c.status.in_(UNFINISHED)).subquery()
    left = tx.execute(select(ended.c.node, func.count()).where(ended.c.node.is_not(None)).group_by(ended.c.node))
    return {
        "waiting": [{"node": node, "count": number} for node, number in sorted(waiting)],
        "left": [{"node": node, "count": number} for node, number in sorted(left.all())],
        "is_exact": sum(number for _, number in waiting) <= MOST_COUNTED,
        "exits": [{"exit": key, "count": int(number)} for key, number in tx.execute(exits.order_by(rows.key))],
        "results": [
            {"key": key, "category": value, "day": day.isoformat(), "count": number}
            for key, value, day, number in tx.execute(results.order_by(rows.day, rows.key, rows.value))
        ],
        "totals": [{"key": key, "category": value, "count": int(number)} for key, value, number in tx.execute(totals)],
    }


def list_silent_phones(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """Phones that have not called for as long as opens an alarm, the longest silent first, at most MOST."""
    seen = func.coalesce(channel.c.last_seen, channel.c.created_on)
    silent = (channel.c.workspace_id == workspace_id) & channel.c.is_active & IS_RELAYER & (seen < tx.now - LOST_AFTER)
    columns = (channel.c.uuid, channel.c.name, channel.c.last_seen)
    rows = tx.execute(select(*columns).where(silent).order_by(seen, channel.c.id).limit(MOST))
    return [
        {"channel": _ref(uuid, name), "last_seen": None if moment is None else time_text(moment)}
        for uuid, name, moment in rows
    ]


def list_failing_webhooks(tx: Transaction, workspace_id: int) -> list[dict[str, Any]]:
    """Webhooks of channels, and subscribers of resthooks and of events, that accept nothing at present, at most MOST of
    both. URLs are not told: they may contain secrets.
    """
    is_channels = (TROUBLE.channel_id == channel.c.id) & (TROUBLE.workspace_id == channel.c.workspace_id)
    mine = (channel.c.workspace_id == workspace_id) & channel.c.is_active & channel.c.webhook_url.is_not(None)
    of_channels = select(channel.c.uuid, channel.c.name, *FACTS).select_from(channel.join(webhook_trouble, is_channels))
    first = _first(tx, of_channels.where(mine), channel.c.id)
    found = [_webhook(row, channel=_ref(row.uuid, row.name)) for row in first]
    rows = resthook_subscriber.c
    is_subscribers = (TROUBLE.subscriber_id == rows.id) & (TROUBLE.workspace_id == rows.workspace_id)
    source = resthook_subscriber.join(webhook_trouble, is_subscribers)
    named = (resthook.c.id == rows.resthook_id) & (resthook.c.workspace_id == rows.workspace_id)
    of_subscribers = select(resthook.c.slug, *FACTS).select_from(source.outerjoin(resthook, named))
    theirs = of_subscribers.where(rows.workspace_id == workspace_id)
    return found + [_webhook(row, resthook=row.slug) for row in _first(tx, theirs, rows.id)]


def find_oldest_delivery(tx: Transaction, workspace_id: int) -> str | None:
    """Since when the oldest event waits for its webhook."""
    waits = (delivery.c.workspace_id == workspace_id) & (delivery.c.status == literal(PENDING, literal_execute=True))
    oldest = select(delivery.c.created_on).where(waits).order_by(delivery.c.created_on).limit(1)
    moment = tx.execute(oldest).scalar_one_or_none()
    return None if moment is None else time_text(moment)


def _read_period(tx: Transaction, workspace_id: int, first: date, days: int) -> dict[str, Any]:
    """What happened in so many days from the first on."""
    since = datetime.combine(first, time(), UTC)
    until = since + timedelta(days=days)
    rows, out = day_count.c, message.c
    mine = (rows.workspace_id == workspace_id) & (rows.day >= first) & (rows.day < until.date())
    kinds = (CAME, WENT, COST)
    counted = select(rows.kind, func.sum(rows.number)).where(mine, rows.kind.in_(kinds)).group_by(rows.kind)
    totals = {**dict.fromkeys(kinds, 0), **{kind: int(number) for kind, number in tx.execute(counted)}}
    failed = (out.workspace_id == workspace_id) & (out.folder == literal(FAILED, literal_execute=True))
    some = select(out.id).where(failed, out.created_on >= since, out.created_on < until).limit(MOST_COUNTED).subquery()
    return {
        "messages_in": totals[CAME],
        "messages_out": totals[WENT],
        "cost_out": round(totals[COST] / MILLIONTHS, DECIMALS),
        "failed": int(tx.execute(select(func.count()).select_from(some)).scalar_one()),
        **_read_answers(tx, workspace_id, since, until),
    }


def _read_answers(tx: Transaction, workspace_id: int, since: datetime, until: datetime) -> dict[str, Any]:
    """How many of the newest messages that began to wait in a period were answered, and after how long half of these:
    see docs/decisions-messages.md. An index leads to each of them, to what came before it, and to its answer.
    """
    rows = message.c

    def newest(folder: str) -> Any:
        found = select(rows.contact_id, rows.created_on, rows.id).where(
            rows.workspace_id == workspace_id,
            rows.folder == literal(folder, literal_execute=True),
            rows.created_on >= since,
            rows.created_on < until,
        )
        return select(found.order_by(rows.created_on.desc(), rows.id.desc()).limit(QUESTIONS).subquery())

    each = union_all(*map(newest, IN_FOLDERS)).subquery()
    asked = select(each).order_by(each.c.created_on.desc(), each.c.id.desc()).limit(QUESTIONS).subquery().c
    earlier, later = message.alias().c, message.alias().c
    begin = tuple_(asked.created_on, asked.id)
    # The second condition is that of the first, for SQLite, which finds no place in an index by a pair.
    said = select(earlier.direction).where(earlier.workspace_id == workspace_id, earlier.broadcast_id.is_(None))
    said = said.where(earlier.contact_id == asked.contact_id, tuple_(earlier.created_on, earlier.id) < begin)
    said = said.where(earlier.created_on <= asked.created_on)
    said = said.order_by(earlier.created_on.desc(), earlier.id.desc()).limit(1)
    told = select(later.created_on).where(later.workspace_id == workspace_id, later.broadcast_id.is_(None))
    told = told.where(later.contact_id == asked.contact_id, later.created_on >= asked.created_on)
    told = told.where(later.direction == OUTGOING).order_by(later.created_on, later.id).limit(1)
    columns = (asked.created_on, said.scalar_subquery().label("said"), told.scalar_subquery().label("answered_on"))
    found = tx.execute(select(*columns)).all()
    begun = [row for row in found if row.said != INCOMING]
    waits = [row.answered_on - row.created_on for row in begun if row.answered_on is not None]
    soon = [wait for wait in waits if wait <= ANSWERED_WITHIN]
    return {
        "questions": len(begun),
        "answered": len(soon),
        "reply_seconds": round(median(soon).total_seconds()) if soon else None,
        "is_exact": len(found) < QUESTIONS,
    }


def _nothing() -> dict[str, Any]:
    counts = ("messages_in", "messages_out", "segments_out", "cost_out", "active_contacts")
    return dict.fromkeys((*counts, "tickets_opened", "tickets_closed"), 0) | {
        "first_reply_seconds": None,
        "closing_seconds": None,
    }


def _add_tickets(tx: Transaction, workspace_id: int, by_day: dict[date, dict[str, Any]], first: date) -> None:
    """Tickets by the day when they were opened or closed; times are means over the tickets opened or closed then."""
    since = datetime.combine(first, time(), UTC)
    rows, mine = ticket.c, ticket.c.workspace_id == workspace_id
    opened: dict[date, list[float]] = {}
    for begun, replied in tx.execute(select(rows.opened_on, rows.replied_on).where(mine, rows.opened_on >= since)):
        day = begun.date()
        if day in by_day:
            by_day[day]["tickets_opened"] += 1
            opened.setdefault(day, []).extend([] if replied is None else [(replied - begun).total_seconds()])
    closed: dict[date, list[float]] = {}
    ended = rows.closed_on.is_not(None) & (rows.closed_on >= since)
    for begun, done in tx.execute(select(rows.opened_on, rows.closed_on).where(mine, ended)):
        if done is not None and done.date() in by_day:
            by_day[done.date()]["tickets_closed"] += 1
            closed.setdefault(done.date(), []).append((done - begun).total_seconds())
    for name, seconds in (("first_reply_seconds", opened), ("closing_seconds", closed)):
        for day, times in seconds.items():
            by_day[day][name] = round(sum(times) / len(times)) if times else None


def _name_channels(
    tx: Transaction, workspace_id: int, counts: dict[int, dict[date, dict[str, float]]], listed: Sequence[date]
) -> list[dict[str, Any]]:
    """The messages by channel, of those that the workspace has now."""
    mine = (channel.c.workspace_id == workspace_id) & channel.c.id.in_(sorted(counts))
    found = tx.execute(select(channel.c.id, channel.c.uuid, channel.c.name).where(mine).order_by(channel.c.id))
    return [
        {
            "channel": {"uuid": row.uuid, "name": row.name},
            "days": [{"day": day.isoformat()} | counts[row.id][day] for day in listed if day in counts[row.id]],
        }
        for row in found
    ]


def _count_runs(tx: Transaction, workspace_id: int) -> int:
    total = select(func.coalesce(func.sum(flow.c.active_run_count), 0)).where(flow.c.workspace_id == workspace_id)
    return int(tx.execute(total).scalar_one())


def _oldest(tx: Transaction, workspace_id: int, *, is_incoming: bool) -> str | None:
    """The time of the oldest message that waits to be handled, or to be sent."""
    waits = IS_UNHANDLED if is_incoming else message.c.folder == literal("outbox", literal_execute=True)
    theirs = select(message.c.created_on).where(message.c.workspace_id == workspace_id, waits)
    moment = tx.execute(theirs.order_by(message.c.created_on).limit(1)).scalar_one_or_none()
    return None if moment is None else time_text(moment)


def _first(tx: Transaction, statement: Any, order: ColumnElement[int]) -> Sequence[Row[Any]]:
    found: Sequence[Row[Any]] = tx.execute(statement.order_by(order).limit(MOST)).all()
    return found


def _ref(uuid: str, name: str | None) -> dict[str, Any]:
    return {"uuid": uuid, "name": name}


def _webhook(row: Row[Any], **of: Any) -> dict[str, Any]:
    moments = {name: getattr(row, name) for name in ("began_on", "last_failed_on", "switched_off_on")}
    told = {name: moment and time_text(moment) for name, moment in moments.items()}
    return {"channel": None, "resthook": None, "given_up": row.given_up} | told | of
