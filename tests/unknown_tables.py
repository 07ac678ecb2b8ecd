"""Tables as if nobody had filled them before, at which PostgreSQL does not look by itself meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import text

from persistence.database import Database

OF_TABLE = r"regexp_replace(relname, '_part[0-9]+$', '')"
"""The table of a partition."""


@contextmanager
def unknown_table(database: Database, name: str) -> Iterator[None]:
    """Empties a table of PostgreSQL, and what refers to it; it has no statistics until the block asks for them."""
    found = text(f"SELECT relname FROM pg_class WHERE relkind = 'r' AND {OF_TABLE} = :name")
    with database.writing() as tx:
        parts = tx.execute(found, {"name": name}).scalars().all()
        for part in parts:
            tx.execute(text(f"ALTER TABLE {part} SET (autovacuum_enabled = false)"))
        tx.execute(text(f"TRUNCATE {name} CASCADE"))
    yield
    with database.writing() as tx:
        for part in parts:
            tx.execute(text(f"ALTER TABLE {part} RESET (autovacuum_enabled)"))
