"""All rows of a database, kept aside and put back, so that many trials begin with the same ones."""

from sqlalchemy import Table

from persistence.database import Database
from persistence.tables.accounts import membership, token, user, workspace

STAYING = {each.name for each in (membership, token, user, workspace)}
"""What trials do not change, and much refers to."""


class KeptRows:
    """Copies of all rows but those of accounts, in tables of their own beside them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        tables = [each for each in workspace.metadata.sorted_tables if each.name not in STAYING]
        deletions = [f"DELETE FROM {each.name}" for each in reversed(tables)]
        aside = [f"DELETE FROM kept_{each.name}" for each in tables]
        self._clearing = deletions
        self._keeping = aside + [_copy(each, f"kept_{each.name}", each.name) for each in tables]
        self._restoring = deletions + [_copy(each, each.name, f"kept_{each.name}") for each in tables]
        self._run([f"CREATE TABLE kept_{each.name} AS SELECT * FROM {each.name}" for each in tables])

    def clear(self) -> None:
        self._run(self._clearing)

    def keep(self) -> None:
        self._run(self._keeping)

    def restore(self) -> None:
        self._run(self._restoring)

    def _run(self, statements: list[str]) -> None:
        """All in one transaction, on PostgreSQL in one round trip."""
        with self._database.writing() as tx:
            for one in statements if tx.sqlite else [";".join(statements)]:
                tx.connection.exec_driver_sql(one)


def _copy(table: Table, target: str, source: str) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.columns if column.computed is None)
    return f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {source}"
