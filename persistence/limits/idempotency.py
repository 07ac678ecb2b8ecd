"""Responses stored under the client's Idempotency-Key, in the transaction of their effect."""

import hashlib
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, select, tuple_, update

from persistence.database import Transaction
from persistence.errors import Clash
from persistence.tables.service import kept_answer

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    body: str | None


def claim_key(tx: Transaction, workspace_id: int, operation: str, key: str, request: bytes) -> KeptAnswer | None:
    """The first response under this key, or None if the key is new and now claimed. A concurrent repeat waits here
    until the first request commits (PostgreSQL: on the unique key, SQLite: on the write lock). Raises Clash if the key
    was used with another request.
    """
    request_hash = hashlib.sha256(request).hexdigest()
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(delete(kept_answer).where(mine, rows.created_on < tx.now - KEPT_FOR))
    values = {"workspace_id": workspace_id, "operation": operation, "key": key, "request_hash": request_hash}
    claim = tx.upsert(kept_answer).values(created_on=tx.now, **values).on_conflict_do_nothing()
    if tx.execute(claim).rowcount == 1:
        return None
    first_hash, status, body = tx.execute(select(rows.request_hash, rows.status, rows.body).where(mine)).one()
    if first_hash != request_hash:
        raise Clash("This Idempotency-Key was used with another request.")
    assert status is not None, "a key is claimed and answered in one transaction"
    return KeptAnswer(status, body)


def keep_answer(tx: Transaction, workspace_id: int, operation: str, key: str, status: int, body: str | None) -> None:
    """Store the response to the request that claimed the key."""
    rows = kept_answer.c
    mine = (rows.workspace_id == workspace_id) & (rows.operation == operation) & (rows.key == key)
    tx.execute(update(kept_answer).where(mine).values(status=status, body=body))


def trim_answers(tx: Transaction, limit: int) -> int:
    """Deletes responses that are older than KEPT_FOR; returns their number."""
    rows = kept_answer.c
    keys = (rows.workspace_id, rows.operation, rows.key)
    old = select(*keys).where(rows.created_on < tx.now - KEPT_FOR).order_by(rows.created_on).limit(limit)
    return tx.execute(delete(kept_answer).where(tuple_(*keys).in_(old))).rowcount
