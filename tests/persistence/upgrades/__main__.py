"""For a release: `python -m tests.persistence.upgrades` keeps rows of every table as the newest revision has them."""

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Boolean, Column, Integer, Table, insert, select

from persistence.database import Database, Transaction
from persistence.migrations import newest_revision, upgrade
from persistence.sql.columns import UtcDateTime, UuidText, new_uuid
from persistence.tables.complete import metadata
from persistence.workspaces.writes import create_workspace
from testbed.tokens import KEYS
from tests.contract.filled_workspace import fill_workspace
from tests.persistence.upgrades.rows import read_rows, write_release

MOMENT = datetime(2026, 3, 2, 8, 10, 10, 123000, tzinfo=UTC)
ROWS = 3


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{Path(folder) / 'released.db'}", clock=lambda: MOMENT, keys=KEYS)
        upgrade(database.engine)
        for name in ("Riverside Health", "Hilltop Schools"):
            with database.writing() as tx:
                workspace = create_workspace(tx, name, country="RW", timezone="Africa/Kigali", languages=("eng", "kin"))
            fill_workspace(database, workspace, ROWS)
        with database.writing() as tx:
            for table in metadata.sorted_tables:
                if tx.execute(select(table).limit(1)).first() is None:
                    tx.execute(insert(table).values(_make_row(tx, table)))
        write_release(newest_revision(), read_rows(database.engine))
        database.close()
    return 0


def _make_row(tx: Transaction, table: Table) -> dict[str, Any]:
    return {column.name: _value(tx, column) for column in table.c if column.name != "id" or not column.autoincrement}


def _value(tx: Transaction, column: Column[Any]) -> Any:
    for key in column.foreign_keys:
        return tx.execute(select(key.column).order_by(key.column)).scalars().first()
    for kind, value in ((UtcDateTime, MOMENT), (UuidText, new_uuid()), (JSON, {}), (Boolean, True), (Integer, 1)):
        if isinstance(column.type, kind):
            return value
    return "0" if column.nullable else column.name[:1]


if __name__ == "__main__":
    sys.exit(main())
