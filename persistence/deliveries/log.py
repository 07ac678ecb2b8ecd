"""A delivery with its body and its attempts, as people who look for a fault need it."""

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import select

from persistence.database import Transaction
from persistence.deliveries.records import LISTED_DELIVERIES
from persistence.errors import RecordMissing
from persistence.lists import ListQuery, find_record
from persistence.sql.columns import time_text
from persistence.tables.deliveries import delivery, delivery_attempt
from persistence.tokens import Areas
from persistence.workspaces import Workspace

MOST_ATTEMPTS = 100


def read_delivery(tx: Transaction, workspace: Workspace, uuid: str, areas: Areas = None) -> dict[str, Any]:
    """A delivery with its body and its latest attempts, oldest first. Raises RecordMissing, also for one of
    another area than these."""
    listed = find_record(ListQuery(tx, workspace, areas=areas), LISTED_DELIVERIES, "uuid", uuid)
    if listed is None:
        raise RecordMissing
    mine = (delivery.c.workspace_id == workspace.id) & (delivery.c.uuid == uuid.lower())
    delivery_id, content_type, body = tx.execute(
        select(delivery.c.id, delivery.c.content_type, delivery.c.body).where(mine)
    ).one()
    rows = delivery_attempt.c
    its = (rows.workspace_id == workspace.id) & (rows.delivery_id == delivery_id)
    found = select(delivery_attempt).where(its).order_by(rows.id.desc()).limit(MOST_ATTEMPTS)
    attempts = [_describe(dict(row), uuid.lower(), content_type) for row in tx.execute(found).mappings()]
    shown: dict[str, Any] = orjson.loads(listed)
    return shown | {"content_type": content_type, "body": body, "attempt_log": attempts[::-1]}


def _describe(row: Mapping[str, Any], event_id: str, content_type: str) -> dict[str, Any]:
    started_on = row["started_on"]
    headers = {"Content-Type": content_type, "webhook-id": event_id}
    if started_on is not None:
        headers["webhook-timestamp"] = str(int(started_on.timestamp()))
    if row["signed"]:
        headers["webhook-signature"] = " ".join(f"{scheme},***" for scheme in row["signed"].split())
    response = {"status": row["status"], "headers": row["answer_headers"] or {}, "body": row["answer"]}
    return {
        "number": row["number"],
        "scheduled_on": time_text(row["scheduled_on"]),
        "started_on": None if started_on is None else time_text(started_on),
        "finished_on": time_text(row["finished_on"]),
        "duration_ms": row["duration_ms"],
        "request": {"method": "POST", "url": row["url"], "headers": headers},
        "response": None if row["status"] is None else response,
        "error": row["error"],
    }
