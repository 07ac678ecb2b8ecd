"""Rows of a released schema, as files keep them: columns as texts and numbers that both databases read."""

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Engine, MetaData, inspect, select, text

from persistence.migrations import FOLDER
from persistence.migrations.word_index import WORD_TABLE
from persistence.sql.columns import time_text

RELEASED = Path(__file__).parent / "released"
Rows = dict[str, list[dict[str, Any]]]


def fingerprint(revision: str) -> str:
    """What tells whether the file of a revision was changed."""
    (path,) = (FOLDER / "versions").glob(f"{revision}_*.py")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_release(revision: str) -> dict[str, Any]:
    """{"revision", "fingerprint", "rows"} as it was written at the release."""
    found: dict[str, Any] = json.loads((RELEASED / f"{revision}.json").read_text())
    return found


def write_release(revision: str, rows: Rows) -> None:
    RELEASED.mkdir(exist_ok=True)
    content = {"revision": revision, "fingerprint": fingerprint(revision), "rows": rows}
    (RELEASED / f"{revision}.json").write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


def read_rows(engine: Engine) -> Rows:
    """All rows of a database by table, in the order of their keys, without what the schema itself notes and what is
    made of other tables."""
    found: Rows = {}
    names = set(inspect(engine).get_table_names()) - {"alembic_version", "schema_note"}
    metadata = MetaData()
    metadata.reflect(engine, only=[name for name in names if not name.startswith(WORD_TABLE)])
    with engine.connect() as connection:
        for name, table in sorted(metadata.tables.items()):
            key = sorted(each.name for each in table.primary_key)
            rows = connection.execute(select(table)).mappings()
            found[name] = sorted(
                ({column: _plain(value) for column, value in row.items()} for row in rows),
                key=lambda row, key=key: [str(row[each]) for each in key],
            )
    return found


def insert_rows(engine: Engine, rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Rows as they were read, into tables as they are now; the database computes its own columns itself."""
    metadata = MetaData()
    metadata.reflect(engine)
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            computed = {each.name for each in table.columns if each.computed is not None}
            for row in rows.get(table.name, ()):
                names = [name for name in row if name not in computed]
                places = ", ".join(f":{name}" for name in names)
                columns = ", ".join(f'"{name}"' for name in names)
                statement = text(f"INSERT INTO {table.name} ({columns}) VALUES ({places})")
                connection.execute(statement, {name: row[name] for name in names})


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        return time_text(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (dict, list)):
        return json.dumps(value, separators=(",", ":"), sort_keys=True)
    if isinstance(value, UUID):
        return str(value)
    return float(value) if isinstance(value, Decimal) else value
