"""Conditions on flow starts and their batches."""

from sqlalchemy import select

from persistence.database import Database
from persistence.tables.flows import IS_BY_USER, IS_PENDING_BATCH, IS_UNFINISHED, flow_start, flow_start_batch


def test_statements_contain_the_words_themselves_as_partial_indexes_need_it(
    database: Database, statements: list[str]
) -> None:
    with database.reading() as tx:
        for table, condition in (
            (flow_start, IS_UNFINISHED),
            (flow_start, IS_BY_USER),
            (flow_start_batch, IS_PENDING_BATCH),
        ):
            tx.execute(select(table.c.id).where(condition))

    assert [each.partition("IN ")[2] for each in statements[-3:]] == [
        "('pending', 'queued', 'started')",
        "('manual', 'api', 'api_v1')",
        "('pending')",
    ]
