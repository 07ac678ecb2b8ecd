"""Figures of a workspace by day (UTC), and of a flow: from counts that are kept as things happen, and from indexes."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import String, func, literal, select

from persistence.changes import ACTIVE, CAME, ERRORS, WENT
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.messages.states import IS_UNHANDLED
from persistence.runs.runs import EXPIRED, INTERRUPTED, IS_OPEN
from persistence.sql.columns import time_text
from persistence.sql.json_sql import Template
from persistence.tables.changes import day_count, flow_count
from persistence.tables.channels import channel
from persistence.tables.flows import flow
from persistence.tables.messages import message
from persistence.tables.runs import flow_run
from persistence.tables.tickets import ticket
from persistence.troubles import find_oldest_delivery, list_failing_webhooks, list_silent_phones

MOST_COUNTED = 10_000
BY_CHANNEL = ("messages_in", "messages_out", "errors")
EXIT, RESULT = "exit", "result"
UNFINISHED = (INTERRUPTED, EXPIRED)


class LastNode(Template, sqlite="json_extract({0}, '$[#-1].node')", postgresql="({0} -> -1 ->> 'node')", kind=String()):
    """The node of the last step of a run's path."""


def read_workspace_figures(tx: Transaction, workspace_id: int, days: int) -> dict[str, Any]:
    """What happened on each of the last days, today included, and what waits now."""
    today = tx.now.date()
    listed = [today - timedelta(days=number) for number in range(days)]
    by_day: dict[date, dict[str, Any]] = {day: {"day": day.isoformat()} | _nothing() for day in listed}
    channels: dict[int, dict[date, dict[str, int]]] = {}
    rows = day_count.c
    mine = (rows.workspace_id == workspace_id) & (rows.day >= listed[-1])
    for kind in (CAME, WENT, ACTIVE, ERRORS):
        found = tx.execute(select(rows.day, rows.subject, rows.number).where(mine, rows.kind == kind))
        name = {CAME: "messages_in", WENT: "messages_out", ACTIVE: "active_contacts", ERRORS: "errors"}[kind]
        for day, subject, number in found:
            if day in by_day:
                if kind != ERRORS:
                    by_day[day][name] += number
                if kind != ACTIVE and subject:
                    channels.setdefault(subject, {}).setdefault(day, dict.fromkeys(BY_CHANNEL, 0))
                    channels[subject][day][name] += number
    _add_tickets(tx, workspace_id, by_day, listed[-1])
    return {
        "days": [by_day[day] for day in listed],
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
    }


def _nothing() -> dict[str, Any]:
    counts = ("messages_in", "messages_out", "active_contacts", "tickets_opened", "tickets_closed")
    return dict.fromkeys(counts, 0) | {"first_reply_seconds": None, "closing_seconds": None}


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
    tx: Transaction, workspace_id: int, counts: dict[int, dict[date, dict[str, int]]], listed: Sequence[date]
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
