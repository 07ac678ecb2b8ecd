"""Archives: files that hold the messages and runs which are too old for the live lists."""

from collections.abc import Callable, Sequence
from datetime import datetime, time

import orjson
from sqlalchemy import ColumnElement

from persistence.database import Transaction
from persistence.sql.json_sql import declare_record
from persistence.sql.pages import Order, Page, Position, fetch_page
from persistence.tables.service import archive

MESSAGE, RUN = "message", "run"
DAILY, MONTHLY = "daily", "monthly"

ARCHIVE_RECORD = declare_record(
    {
        "archive_type": archive.c.archive_type,
        "type": archive.c.archive_type,
        "start_date": archive.c.start_date,
        "period": archive.c.period,
        "record_count": archive.c.record_count,
        "size": archive.c.size,
        "hash": archive.c.hash,
        "download_url": archive.c.location,
    }
)

ARCHIVES_ORDER = Order(archive.c.start_date, archive.c.id)


def list_archives(
    tx: Transaction,
    workspace_id: int,
    position: Position | None,
    size: int,
    *,
    link: Callable[[str], str],
    kinds: Sequence[str] = (),
    period: str | None = None,
    before: datetime | None = None,
    after: datetime | None = None,
) -> Page:
    """The archives of a workspace, newest period first, without days that a month has taken in.

    `link` makes a download address of a place in the media store. What is found is of all `kinds` that are given, so
    that two different ones, or an unknown word, find nothing.
    """
    conditions = [archive.c.workspace_id == workspace_id, archive.c.rollup_id.is_(None)]
    conditions += [archive.c.archive_type == kind for kind in kinds]
    if period is not None:
        conditions.append(archive.c.period == period)
    if before is not None:
        conditions.append(archive.c.start_date <= before.date())
    if after is not None:
        conditions.append(_begins_from(after))
    page = fetch_page(
        tx,
        record=ARCHIVE_RECORD,
        source=archive,
        source_id=archive.c.id,
        order=ARCHIVES_ORDER,
        conditions=conditions,
        position=position,
        size=size,
    )
    return Page([_with_link(record, link) for record in page.records], page.next, page.previous)


def _begins_from(moment: datetime) -> ColumnElement[bool]:
    """Whether midnight of the first day is at or after a moment."""
    day = moment.date()
    return archive.c.start_date >= day if moment.time() == time() else archive.c.start_date > day


def _with_link(record: str, link: Callable[[str], str]) -> str:
    shown = orjson.loads(record)
    if shown["download_url"] is not None:
        shown["download_url"] = link(shown["download_url"])
    return orjson.dumps(shown).decode()
