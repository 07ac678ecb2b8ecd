"""A database whose rows lie in partitions by workspace, to which the same rules apply as to one on several machines."""

import re
from typing import Any

from sqlalchemy import Connection, Engine, event

from persistence.migrations.keys import OWNER, SHARED

CREATED = re.compile(r"\s*CREATE TABLE (\w+) \((.*)\)\s*\Z", re.DOTALL)
OWNED = re.compile(rf"^\s*{OWNER} \w+ NOT NULL", re.MULTILINE)


def partition(engine: Engine, count: int) -> None:
    """From now on tables of rows of workspaces that are made through this engine have `count` partitions."""

    @event.listens_for(engine, "before_cursor_execute", retval=True)
    def divide(_connection: Connection, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> tuple[str, Any]:
        if _owned_table(statement) is not None:
            statement = f"{statement.rstrip()} PARTITION BY HASH ({OWNER})"
        return statement, parameters

    @event.listens_for(engine, "after_cursor_execute")
    def add_parts(_connection: Connection, cursor: Any, statement: str, *_rest: Any) -> None:
        name = _owned_table(statement.removesuffix(f" PARTITION BY HASH ({OWNER})"))
        for number in range(count if name is not None else 0):
            bounds = f"MODULUS {count}, REMAINDER {number}"
            cursor.execute(f"CREATE TABLE {name}_part{number} PARTITION OF {name} FOR VALUES WITH ({bounds})")


def _owned_table(statement: str) -> str | None:
    found = CREATED.match(statement)
    if found is None or found[1] in SHARED or not OWNED.search(found[2]):
        return None
    return found[1]
