"""Messages that came in through a channel."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select

from persistence.contacts.owners import UrnOwner
from persistence.database import Transaction
from persistence.messages.states import INCOMING, QUEUED
from persistence.messages.storing import insert_incoming
from persistence.sql.columns import new_uuid
from persistence.sql.fixed_statements import Fixed, among, param
from persistence.tables.messages import VISIBLE, message


@dataclass(frozen=True, slots=True)
class Received:
    """The report of a channel: who sent what and when; `external_id` distinguishes repeats from new messages."""

    owner: UrnOwner
    text: str
    received_on: datetime
    external_id: str
    attachments: tuple[dict[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """The message of a report, and whether this was its first report."""

    message_id: int
    is_new: bool


def store_received(
    tx: Transaction, workspace_id: int, channel_id: int, reports: Sequence[Received]
) -> dict[str, Stored]:
    """Store incoming messages as `queued` for handling, by external id; repeats return the existing message. The caller
    leaves out messages that another workspace got through the channel while it had it (`find_known_messages`). One
    statement for any number, two if there are repeats. Wakes the workers that handle incoming messages when there are
    new ones.
    """
    wanted = {report.external_id: report for report in reports}
    if not wanted:
        return {}
    rows = [_row(tx, workspace_id, channel_id, report) for report in wanted.values()]
    new_contacts = {report.owner.contact_id for report in wanted.values() if report.owner.is_new}
    ids = insert_incoming(tx, workspace_id, rows, new_contacts)
    if ids:
        tx.wake("incoming")
    stored = {row["external_id"]: Stored(ids[row["uuid"]], True) for row in rows if row["uuid"] in ids}
    repeated = [name for name in wanted if name not in stored]
    if repeated:
        columns = message.c
        known = select(columns.id, columns.external_id).where(
            columns.workspace_id == workspace_id,
            columns.channel_id == channel_id,
            columns.direction == INCOMING,
            columns.external_id.in_(repeated),
        )
        stored |= {name: Stored(message_id, False) for message_id, name in tx.execute(known) if name}
    return stored


def find_known_messages(tx: Transaction, channel_id: int, external_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """The workspace and id of those messages that came through the channel before, by external id; one statement."""
    known = _KNOWN.rows(tx, {"channel": channel_id, "names": list(external_ids)})
    return {name: (workspace_id, number) for name, workspace_id, number in known}


_KNOWN = Fixed(
    lambda _is_sqlite: select(message.c.external_id, message.c.workspace_id, message.c.id).where(
        message.c.channel_id == param("channel"),
        message.c.direction == INCOMING,
        among(message.c.external_id, "names", "TEXT"),
    )
)


def _row(tx: Transaction, workspace_id: int, channel_id: int, report: Received) -> dict[str, Any]:
    return {
        "uuid": new_uuid(),
        "workspace_id": workspace_id,
        "channel_id": channel_id,
        "contact_id": report.owner.contact_id,
        "urn": report.owner.urn,
        "direction": INCOMING,
        "type": "text",
        "status": QUEUED,
        "visibility": VISIBLE,
        "text": report.text,
        "attachments": list(report.attachments),
        "quick_replies": [],
        "external_id": report.external_id,
        "error_count": 0,
        "created_on": report.received_on,
        "stored_on": tx.now,
        "modified_on": tx.now,
    }
