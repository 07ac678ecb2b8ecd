"""What waits for a channel, what is wrong with it, and what a phone reported of itself."""

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select, true

from persistence.channels.former_channels import SEEN_ID, SEEN_NAME, SEEN_UUID, join_channels
from persistence.channels.states import REFUSED
from persistence.channels.types import GATEWAYS
from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.lists import ListSpec, belongs_to
from persistence.messages.states import IS_UNCERTAIN, IS_UNSENT, WIRED
from persistence.sql.columns import time_text
from persistence.sql.json_sql import declare_record, json_record_or_null
from persistence.sql.pages import Order
from persistence.tables.channels import channel, channel_alarm, sync_record
from persistence.tables.messages import VISIBLE, message

TOLD_FOR = timedelta(days=7)
MOST_REPORTS = 5000
"""A phone that syncs more often than every two minutes is told for fewer days."""

ALARMS = ListSpec(
    channel_alarm,
    declare_record(
        {
            "id": channel_alarm.c.id,
            "channel": json_record_or_null(SEEN_ID, {"uuid": SEEN_UUID, "name": func.coalesce(SEEN_NAME, "")}),
            "kind": channel_alarm.c.kind,
            "opened_on": channel_alarm.c.opened_on,
            "closed_on": channel_alarm.c.closed_on,
        }
    ),
    Order(channel_alarm.c.opened_on, channel_alarm.c.id),
    source=join_channels(channel_alarm, channel_alarm),
    filters={"channel": belongs_to(channel_alarm.c.channel_id, channel)},
)


def read_health(tx: Transaction, workspace_id: int, uuid: str) -> dict[str, Any]:
    """The health of an active channel. Raises RecordMissing."""
    mine = (channel.c.workspace_id == workspace_id) & (channel.c.uuid == uuid) & channel.c.is_active
    columns = (channel.c.id, channel.c.uuid, channel.c.name, channel.c.type, *REFUSED)
    row = tx.execute(select(*columns).where(mine)).first()
    if row is None:
        raise RecordMissing
    channel_id, channel_uuid, name, channel_type, refused_on, refused_reason = row
    pending, oldest = _count_waiting(tx, workspace_id, channel_id, is_gateway=channel_type in GATEWAYS)
    return {
        "channel": {"uuid": channel_uuid, "name": name},
        "pending": pending,
        "oldest_pending_on": None if oldest is None else time_text(oldest),
        "uncertain": _count_uncertain(tx, workspace_id, channel_id),
        "refused_on": None if refused_on is None else time_text(refused_on),
        "refused_reason": None if refused_on is None else refused_reason,
        "alarms": _list_open(tx, workspace_id, channel_id),
        "hours": _list_hours(tx, workspace_id, channel_id),
    }


def _count_waiting(
    tx: Transaction, workspace_id: int, channel_id: int, *, is_gateway: bool
) -> tuple[int, datetime | None]:
    """How many messages wait to be sent, and since when the oldest does. A gateway sends what it has (`wired`); a phone
    may still have to."""
    its = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id)
    here = message.c.status != WIRED if is_gateway else true()
    found = select(func.count(), func.min(message.c.created_on)).where(its, IS_UNSENT, message.c.visibility == VISIBLE)
    number, oldest = tx.execute(found.where(here)).one()
    return number, oldest


def _count_uncertain(tx: Transaction, workspace_id: int, channel_id: int) -> int:
    its = (message.c.workspace_id == workspace_id) & (message.c.channel_id == channel_id)
    return tx.execute(select(func.count()).select_from(message).where(its, IS_UNCERTAIN)).scalar_one()


def _list_open(tx: Transaction, workspace_id: int, channel_id: int) -> list[dict[str, Any]]:
    rows = channel_alarm.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id) & rows.closed_on.is_(None)
    found = tx.execute(select(rows.kind, rows.opened_on).where(its).order_by(rows.opened_on, rows.id))
    return [{"kind": kind, "opened_on": time_text(opened_on)} for kind, opened_on in found]


def _list_hours(tx: Transaction, workspace_id: int, channel_id: int) -> list[dict[str, Any]]:
    """The last report of each hour, latest first."""
    rows = sync_record.c
    its = (rows.workspace_id == workspace_id) & (rows.channel_id == channel_id)
    reports = select(rows.created_on, rows.power_level, rows.pending_count, rows.retry_count).where(its)
    hours: dict[datetime, dict[str, Any]] = {}
    for moment, power_level, pending, retried in tx.execute(reports.order_by(rows.id.desc()).limit(MOST_REPORTS)):
        hour = moment.replace(minute=0, second=0, microsecond=0)
        if moment >= tx.now - TOLD_FOR:
            report = {"hour": time_text(hour), "power_level": power_level, "pending": pending + retried}
            hours.setdefault(hour, report)
    return list(hours.values())[: TOLD_FOR // timedelta(hours=1)]
