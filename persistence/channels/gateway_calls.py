"""The log of calls to gateways: what was said, with secrets hidden, and what became of it. It is bounded by an age, and
by a number for each channel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import partial
from typing import Any

import orjson
from sqlalchemy import ColumnElement, delete, func, insert, null, select

from persistence.database import Database, Transaction
from persistence.deliveries.hiding import HIDDEN
from persistence.lists import ListSpec, belongs_to, equals
from persistence.sql.columns import split
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order
from persistence.tables.channels import channel, gateway_call

ACCEPTED, REFUSED, UNANSWERED = "accepted", "refused", "unanswered"
KEPT_FOR = timedelta(days=7)
KEPT_CALLS = 1000
"""Of each channel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayCall:
    """One request to a gateway for a part of a message, and its response (`status` and the begin of the body in
    `answer`) or why there was none (`error`). Secrets are hidden already."""

    workspace_id: int
    channel_id: int
    contact_id: int
    message_id: int
    part: int
    outcome: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: str | None
    status: int | None
    answer: str | None
    error: str | None
    duration_ms: int


NAMES = tuple(each.name for each in fields(GatewayCall))


def _record(*, is_masked: bool) -> ColumnElement[Any]:
    rows = gateway_call.c
    return declare_record(
        {
            "id": rows.id,
            "message": rows.message_id,
            "part": rows.part,
            "outcome": rows.outcome,
            "method": rows.method,
            "url": null() if is_masked else rows.url,
            "headers": rows.headers,
            "body": null() if is_masked else rows.body,
            "status": rows.status,
            "answer": null() if is_masked else rows.answer,
            "error": rows.error,
            "duration_ms": rows.duration_ms,
            "created_on": rows.created_on,
        }
    )


def _show(stored: str) -> str:
    """The record with its request and its response. In anonymous workspaces it does not tell whom it was for."""
    row = orjson.loads(stored)
    request = {name: row.pop(name) for name in ("method", "url", "headers", "body")}
    status, answer = row.pop("status"), row.pop("answer")
    response = None if status is None else {"status": status, "body": answer}
    return orjson.dumps(row | {"request": request | {"url": request["url"] or HIDDEN}, "response": response}).decode()


GATEWAY_CALLS = ListSpec(
    gateway_call,
    _record(is_masked=False),
    Order(gateway_call.c.created_on, gateway_call.c.id),
    masked=_record(is_masked=True),
    filters={"channel": belongs_to(gateway_call.c.channel_id, channel), "outcome": equals(gateway_call.c.outcome)},
    show=_show,
)


def record_calls(tx: Transaction, calls: Sequence[GatewayCall]) -> None:
    """Stores calls that have just ended; one statement, or none."""
    if calls:
        tx.execute(
            insert(gateway_call),
            [{name: getattr(each, name) for name in NAMES} | {"created_on": tx.now} for each in calls],
        )


def trim_calls(database: Database, limit: int) -> bool:
    """Deletes calls older than KEPT_FOR, and of each channel those before its latest KEPT_CALLS, at most so many of
    each channel and of each kind, in a unit of work of its own; whether there may be more.
    """
    with database.reading() as tx:
        due = [channel_id for channel_id in _list_channels(tx) if _find_old(tx, channel_id, 1)]
    gone = (database.write(partial(_trim_channel, channel_id=each, limit=limit), may_repeat=True) for each in due)
    return max(gone, default=0) >= limit


def _list_channels(tx: Transaction) -> list[int]:
    """The channels with calls; one index seek for each."""
    rows = gateway_call.c
    found = select(func.min(rows.channel_id).label("id")).cte("called", recursive=True)
    following = select(func.min(rows.channel_id)).where(rows.channel_id > found.c.id)
    found = found.union_all(select(following.scalar_subquery()).where(found.c.id.is_not(None)))
    return list(tx.execute(select(found.c.id).where(found.c.id.is_not(None))).scalars())


def _find_old(tx: Transaction, channel_id: int, limit: int) -> set[int]:
    rows = gateway_call.c
    its = select(rows.id).where(rows.channel_id == channel_id)
    old = its.where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on, rows.id).limit(limit)
    surplus = its.order_by(rows.created_on.desc(), rows.id.desc()).offset(KEPT_CALLS).limit(limit)
    return {each for chosen in (old, surplus) for each in tx.execute(chosen).scalars()}


def _trim_channel(tx: Transaction, channel_id: int, limit: int) -> int:
    rows = gateway_call.c
    gone = _find_old(tx, channel_id, limit)
    for some in split(sorted(gone)):
        tx.execute(delete(gateway_call).where(rows.channel_id == channel_id, rows.id.in_(some)))
    return len(gone)
