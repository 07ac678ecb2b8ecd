"""What SQLite knows about its tables when it chooses an index. PostgreSQL learns it by itself."""

from sqlalchemy import Table, func, literal_column, select, text

from persistence.database import Database, Transaction
from persistence.tables.complete import metadata

LEAST_ROWS = 10_000
"""SQLite takes a table that it knows nothing about for large. It must not learn that one is small: then it reads it
from end to end, also when it has grown."""
ROWS_OF_INDEX = 1000
"""So much of each index is read, which takes milliseconds for a table of any size."""


def refresh_statistics(database: Database) -> list[str]:
    """Samples the large tables of a SQLite database, each in a transaction of its own; returns their names. Nothing is
    to be done on PostgreSQL."""
    if not database.sqlite:
        return []
    with database.reading() as tx:
        large = [table for table in metadata.sorted_tables if _is_large(tx, table)]
    for table in large:
        with database.writing() as tx:
            tx.execute(text(f"PRAGMA analysis_limit={ROWS_OF_INDEX}"))
            tx.execute(text(f'ANALYZE "{table.name}"'))
    return [table.name for table in large]


def _is_large(tx: Transaction, table: Table) -> bool:
    first = select(literal_column("1")).select_from(table).limit(LEAST_ROWS).subquery()
    return tx.execute(select(func.count()).select_from(first)).scalar_one() == LEAST_ROWS
