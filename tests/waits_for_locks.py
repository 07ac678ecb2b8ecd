"""Whether somebody waits for a lock of a unit of work, on PostgreSQL."""

from sqlalchemy import text

from persistence.database import Database, Transaction

BLOCKED = text("select count(*) from pg_stat_activity where :holder = any(pg_blocking_pids(pid))")


def backend_of(tx: Transaction) -> int:
    """The number by which PostgreSQL knows the connection of a unit of work."""
    number: int = tx.execute(text("select pg_backend_pid()")).scalar_one()
    return number


def is_awaited(database: Database, holder: int) -> bool:
    """Whether another connection waits for this one."""
    with database.reading() as tx:
        return bool(tx.execute(BLOCKED, {"holder": holder}).scalar_one())
