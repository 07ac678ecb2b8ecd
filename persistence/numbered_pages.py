"""Numbered paging, as v1 does it: pages of JSON records with the number of all records, in at most two statements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, FromClause, func, select

from persistence.database import Transaction
from persistence.errors import RecordMissing
from persistence.list_counts import count_again, count_records
from persistence.pages import Order
from persistence.shapes import as_text


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """Records as JSON texts, and how many the whole list has (of a long list up to a minute ago)."""

    records: list[str]
    count: int


def fetch_numbered_page(
    tx: Transaction,
    *,
    record: ColumnElement[Any],
    source: FromClause,
    order: Order,
    conditions: Sequence[ColumnElement[bool]],
    number: int,
    size: int,
) -> NumberedPage:
    """Page `number` (from 1) of the records whose ids, `order.id`, fit the conditions.

    Raises RecordMissing (404) for a page beyond the end; the first page always exists.
    """
    counting = select(func.count(order.id)).where(*conditions)
    skipped = (number - 1) * size
    count = count_records(tx, counting, at_least=number * size)
    if skipped and skipped >= count:
        raise RecordMissing("This page does not exist.")
    by_column, by_id = (order.column.desc(), order.id.desc()) if order.descending else (order.column, order.id)
    wanted = select(order.id).where(*conditions).order_by(by_column, by_id).limit(size).offset(skipped).subquery()
    statement = select(as_text(record)).select_from(source).where(order.id.in_(select(wanted.c.id)))
    records = list(tx.execute(statement.order_by(by_column, by_id)).scalars())
    if len(records) < size and number * size < count:
        # The list has become shorter since it was counted.
        count = count_again(tx, counting)
        if skipped and skipped >= count:
            raise RecordMissing("This page does not exist.")
    return NumberedPage(records, count)
