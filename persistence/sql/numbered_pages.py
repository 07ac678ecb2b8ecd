"""Numbered paging, as v1 does it: pages of JSON records with the number of all records, in a few statements."""

from dataclasses import dataclass

from sqlalchemy import func, select

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.sql.deep_pages import PageStart, find_place
from persistence.sql.json_sql import as_text
from persistence.sql.list_counts import count_records
from persistence.sql.pages import Selection, pick_ids

DEEP = 2500
"""Up to so many records are skipped one by one, which is quick."""


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """Records as JSON texts, and how many the whole list has (of a long list up to a minute ago)."""

    records: list[str]
    count: int


def fetch_numbered_page(
    tx: Transaction, chosen: Selection, number: int, size: int, *, keeps_places: bool = False
) -> NumberedPage:
    """Page `number` (from 1) of the records whose ids, `order.id`, fit the conditions.

    `keeps_places` says that whatever fits has done so from its beginning, and that its time, by which the newest comes
    first, never changes; such lists are read as fast in the depths as at the top.
    Raises RecordMissing (404) for a page beyond the end; the first page always exists.
    """
    order, conditions = chosen.order, chosen.conditions
    skipped = (number - 1) * size
    is_deep = keeps_places and skipped >= DEEP
    place = find_place(tx, order, conditions, skipped) if is_deep else PageStart(None, skipped)
    picked = pick_ids(order, conditions, place.position, size, sqlite=tx.sqlite, offset=place.offset)
    reading = select(as_text(chosen.record)).select_from(chosen.source).where(order.id.in_(select(picked.c.id)))
    records = list(tx.execute(reading.order_by(*order.sorting)).scalars())
    if number > 1 and not records:
        raise RecordMissing("This page does not exist.")
    if len(records) < size:
        return NumberedPage(records, skipped + len(records))
    if place.count is not None:
        return NumberedPage(records, max(place.count, skipped + size))
    counting = select(func.count(order.id)).where(*conditions)
    return NumberedPage(records, count_records(tx, counting, at_least=number * size))
