"""Writes archives of another server, whose files come as they are."""

from collections.abc import Sequence
from datetime import date

from sqlalchemy import func, select

from persistence.database import Transaction
from persistence.move.moves import ARCHIVE, Move, Moved, Record, find_carried, keep_moved
from persistence.tables.service import archive


def find_new_archives(tx: Transaction, move: Move, records: Sequence[Record]) -> list[Record]:
    known = find_carried(tx, move, ARCHIVE, [each["reference"] for each in records])
    return [each for each in records if each["reference"] not in known]


def write_archive(tx: Transaction, move: Move, record: Record, location: str | None) -> None:
    """Lists an archive whose file (`location`) is in the media store."""
    day = date.fromisoformat(record["start_date"])
    same = (
        (archive.c.workspace_id == move.workspace.id)
        & (archive.c.archive_type == record["type"])
        & (archive.c.period == record["period"])
        & (archive.c.start_date == day)
    )
    part = tx.execute(select(func.coalesce(func.max(archive.c.part), -1) + 1).where(same)).scalar_one()
    archive_id = tx.insert(
        archive,
        workspace_id=move.workspace.id,
        archive_type=record["type"],
        period=record["period"],
        start_date=day,
        part=part,
        record_count=record["record_count"],
        size=record["size"],
        hash=record["hash"],
        location=location,
        is_trimmed=True,
        created_on=tx.now,
    )
    keep_moved(tx, move, ARCHIVE, [Moved(record["reference"], archive_id)])


def lose_archive(tx: Transaction, move: Move, record: Record, why: str) -> None:
    keep_moved(tx, move, ARCHIVE, [Moved(record["reference"], None, record["label"], why)])
