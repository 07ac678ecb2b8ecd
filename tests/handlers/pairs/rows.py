"""Stores and restores all rows of a database, so that many trials begin with the same rows."""

import re
from typing import Any

from sqlalchemy import Table, event

from persistence.database import Database
from persistence.tables.accounts import membership, token, user, workspace

STAYING = {each.name for each in (user, workspace)}
"""What much refers to; trials do not depend on its former values."""
PEOPLE = {each.name for each in (membership, token)}
"""What few trials change."""
INSERTED = re.compile(r'\bINSERT INTO "?(\w+)')


class KeptRows:
    """Copies of all rows but those of accounts, in tables of their own beside them.

    Putting back leaves out tables that are empty, which are most: those that held nothing and got nothing.
    """

    def __init__(self, *databases: Database) -> None:
        """`databases` are all through which rows are written; they are one."""
        self._database = databases[0]
        self._all = [each for each in workspace.metadata.sorted_tables if each.name not in STAYING]
        self._tables = self._all
        self._filled: set[str] = set()
        self._inserted: set[str] = set()
        self._run([f"CREATE TABLE kept_{each.name} AS SELECT * FROM {each.name} WHERE false" for each in self._all])
        for each in databases:
            event.listen(each.engine, "before_cursor_execute", self._note)

    def clear(self, *, keeps_people: bool = False) -> None:
        """Delete all rows but those of accounts. The next trials put users and tokens back if it `keeps_people`."""
        others = [each for each in self._all if each.name not in PEOPLE]
        self._run(_deletions(others))
        self._tables = self._all if keeps_people else others

    def keep(self) -> None:
        empty = [f"DELETE FROM kept_{name}" for name in self._filled]
        self._filled = {name for name, rows in self._count("").items() if rows}
        self._run(empty + [_copy(each, f"kept_{each.name}", each.name) for each in self._tables_of(self._filled)])

    def restore(self) -> None:
        touched = self._tables_of(self._filled | self._inserted)
        filled = self._tables_of(self._filled)
        self._run(_deletions(touched) + [_copy(each, each.name, f"kept_{each.name}") for each in filled])
        self._inserted.clear()

    def check(self) -> None:
        """Putting back has left nothing out."""
        self.restore()
        assert self._count("") == self._count("kept_")

    def _tables_of(self, names: set[str]) -> list[Table]:
        return [each for each in self._tables if each.name in names]

    def _count(self, prefix: str) -> dict[str, int]:
        parts = [f"SELECT '{each.name}', count(*) FROM {prefix}{each.name}" for each in self._tables]
        with self._database.reading() as tx:
            return {name: rows for name, rows in tx.connection.exec_driver_sql(" UNION ALL ".join(parts))}

    def _run(self, statements: list[str]) -> None:
        """All in one transaction, on PostgreSQL in one round trip. The driver gets them: they are many, and trivial."""
        with self._database.writing() as tx:
            cursor = tx.connection.connection.cursor()
            for one in statements if tx.sqlite else [";".join(statements) or "SELECT 1"]:
                cursor.execute(one)

    def _note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "INSERT" in statement:
            self._inserted.update(INSERTED.findall(statement))


def _deletions(tables: list[Table]) -> list[str]:
    return [f"DELETE FROM {each.name}" for each in reversed(tables)]


def _copy(table: Table, target: str, source: str) -> str:
    columns = ", ".join(f'"{column.name}"' for column in table.columns if column.computed is None)
    return f"INSERT INTO {target} ({columns}) SELECT {columns} FROM {source}"
