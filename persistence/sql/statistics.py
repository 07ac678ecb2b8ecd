"""What a database knows about its tables when it chooses an index. PostgreSQL learns it by itself, but only once in a
minute: until then it may read all messages of a workspace to find those of one contact.
"""

from sqlalchemy import text

from persistence.database import Database
from persistence.tables.complete import metadata

LEAST_ROWS = 10_000
"""SQLite takes a table that it knows nothing about for large. It must not learn that one is small: then it reads it
from end to end, also when it has grown."""
ROWS_OF_INDEX = 1000
"""So much of each index is read, which takes milliseconds for a table of any size."""
STORES = "SELECT name FROM sqlite_master WHERE name IN ('sqlite_stat1', 'sqlite_stat4') ORDER BY name"
LARGE = " UNION ALL ".join(
    f"""SELECT '{table.name}' WHERE EXISTS (SELECT 1 FROM "{table.name}" LIMIT 1 OFFSET :before)"""
    for table in metadata.sorted_tables
)

LEARNED_ROWS = 500
FILLED = """SELECT CAST(activity.relid AS regclass)::text FROM pg_stat_user_tables AS activity
JOIN pg_class ON pg_class.oid = activity.relid
WHERE activity.n_live_tup >= :least AND activity.n_live_tup > 10 * greatest(pg_class.reltuples, 0)
ORDER BY 1"""
"""Tables by what PostgreSQL has counted meanwhile, and what it took for true when it last looked at them."""


def refresh_statistics(database: Database) -> list[str]:
    """Samples the large tables of a SQLite database, each in a transaction of its own; returns their names. What
    somebody let it learn of small ones is forgotten. Nothing is to be done on PostgreSQL."""
    if not database.sqlite:
        return []
    with database.reading() as tx:
        # In one statement: a worker that starts would take longer to build one for each table than for all its work.
        large = list(tx.execute(text(LARGE), {"before": LEAST_ROWS - 1}).scalars())
        stores = tx.execute(text(STORES)).scalars().all()
        known = set(tx.execute(text("SELECT tbl FROM sqlite_stat1")).scalars() if "sqlite_stat1" in stores else ())
    if known - set(large):
        with database.writing() as tx:
            for store in stores:  # Every connection learns of a dropped table, and of a deleted row none but new ones.
                tx.execute(text(f"DROP TABLE {store}"))
    for table in large:
        with database.writing() as tx:
            tx.execute(text(f"PRAGMA analysis_limit={ROWS_OF_INDEX}"))
            tx.execute(text(f'ANALYZE "{table}"'))
    return large


def learn_filled_tables(database: Database) -> list[str]:
    """Lets PostgreSQL take statistics of the tables that it knows nothing about, or knew when they had a tenth of their
    rows; returns their names. Nothing is to be done on SQLite.
    """
    if database.sqlite:
        return []
    with database.reading() as tx:
        filled = list(tx.execute(text(FILLED), {"least": LEARNED_ROWS}).scalars())
    for table in filled:
        with database.writing() as tx:
            tx.execute(text(f"ANALYZE (SKIP_LOCKED) {table}"))
    return filled
