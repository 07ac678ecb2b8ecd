"""Archives: files with the messages (by their creation) and runs (by their end) that are too old for the live lists,
and the lines in them.
"""

import gzip
from collections.abc import Iterator
from datetime import datetime, time

from persistence.lists import Condition, ListQuery, ListSpec, equals, in_areas
from persistence.media.store import MediaStore
from persistence.pages import Order
from persistence.records import Record
from persistence.tables.service import archive

MESSAGE, RUN = "message", "run"
DAILY, MONTHLY = "daily", "monthly"

ARCHIVE_RECORD = Record(
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

_in_areas = in_areas(archive.c.archive_type, {MESSAGE: "messages", RUN: "flows"})


def _listed(query: ListQuery) -> list[Condition]:
    return [archive.c.rollup_id.is_(None), *_in_areas(query)]


def _begins_from(_query: ListQuery, moment: datetime) -> Condition:
    """Whether midnight of the first day is at or after a time."""
    day = moment.date()
    return archive.c.start_date >= day if moment.time() == time() else archive.c.start_date > day


ARCHIVES = ListSpec(
    archive,
    ARCHIVE_RECORD,
    Order(archive.c.start_date, archive.c.id),
    standing=_listed,
    filters={
        "archive_type": equals(archive.c.archive_type),
        "type": equals(archive.c.archive_type),
        "period": equals(archive.c.period),
        "before": lambda _query, moment: archive.c.start_date <= moment.date(),
        "after": _begins_from,
    },
)
"""Newest period first, without days that were merged into a month; `download_url` is a path in the media store."""


class ArchiveGone(Exception):
    """The media store does not have the file of an archive."""


def read_lines(store: MediaStore, location: str) -> Iterator[bytes]:
    """The records of an archive as JSON, each with its line end. Raises ArchiveGone."""
    stored = store.open(location)
    if stored is None:
        raise ArchiveGone(location)
    with stored.stream, gzip.open(stored.stream) as packed:
        yield from packed
