"""Which channels have failed for long: others are used instead of them (`flows.urns`) until they work again.

A phone is down after an hour of silence, and up with its next sync. A gateway is down if it has accepted nothing for an
hour and refused ten requests since; after half an hour in which others were used it is tried again, and one accepted
request makes it as good as any.
"""

from collections.abc import Collection, Mapping
from datetime import timedelta

from sqlalchemy import Update, case, func, literal, null, or_

from persistence.changes import note_changed
from persistence.channels.channels import IS_GATEWAY, IS_RELAYER
from persistence.database import Transaction
from persistence.sql.columns import UtcDateTime
from persistence.statements import update
from persistence.tables.channels import channel

DOWN_AFTER = timedelta(hours=1)
TRIED_AGAIN_AFTER = timedelta(minutes=30)
FEWEST_FAILURES = 10

WORKING = {"down_since": None, "failing_since": None, "failures": 0}
"""What is stored of a channel that has just done its work."""


def note_answers(tx: Transaction, working: Collection[int], failed: Mapping[int, int]) -> None:
    """Stores what gateways made of requests: these, which had failed before, have accepted one; the others have failed
    so many times. A statement for each that failed, and one for those that work. Call it before messages are locked,
    as whoever locks a channel does.
    """
    rows = channel.c
    if working:
        was_down = rows.id.in_(sorted(working)) & or_(rows.failures > 0, rows.down_since.is_not(None))
        _change(tx, update(channel).where(was_down).values(WORKING))
    for channel_id, number in sorted(failed.items()):
        since = func.coalesce(rows.failing_since, literal(tx.now, UtcDateTime()), type_=UtcDateTime())
        is_down = (rows.failures + number >= FEWEST_FAILURES) & (rows.failing_since <= tx.now - DOWN_AFTER)
        down_since = case((is_down & rows.down_since.is_(None), literal(tx.now, UtcDateTime())), else_=rows.down_since)
        news = {"failures": rows.failures + number, "failing_since": since, "down_since": down_since}
        _change(tx, update(channel).where(rows.id == channel_id, IS_GATEWAY).values(news))


def check_outages(tx: Transaction) -> None:
    """Notes which phones have been silent for too long, and which gateways are to be tried again. Safe to run twice."""
    rows = channel.c
    claimed = rows.is_active & rows.workspace_id.is_not(None)
    is_silent = func.coalesce(rows.last_seen, rows.created_on) < tx.now - DOWN_AFTER
    silent = update(channel).where(claimed, IS_RELAYER, rows.down_since.is_(None), is_silent)
    _change(tx, silent.values(down_since=tx.now))
    rested = update(channel).where(claimed, IS_GATEWAY, rows.down_since <= tx.now - TRIED_AGAIN_AFTER)
    _change(tx, rested.values(down_since=null()))


def _change(tx: Transaction, changing: Update) -> None:
    for workspace_id, channel_id in tx.execute(changing.returning(channel.c.workspace_id, channel.c.id)).all():
        if workspace_id is not None:
            note_changed(tx, channel, workspace_id, [channel_id])
