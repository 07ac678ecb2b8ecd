"""A database whose rows lie in partitions by workspace, to which the same rules apply as to one on several machines."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, event, make_url

from persistence.migrations.keys import OWNER, SHARED

CREATED = re.compile(r"\s*CREATE TABLE (\w+) \((.*)\)\s*\Z", re.DOTALL)
OWNED = re.compile(rf"^\s*{OWNER} \w+ NOT NULL", re.MULTILINE)


@contextmanager
def partitioning(url: str, count: int) -> Iterator[None]:
    """Meanwhile tables of rows of workspaces that are made in this database have `count` partitions, whatever engine
    makes them: migrations have one of their own.
    """
    divided = []

    def divide(connection: Connection, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> tuple[str, Any]:
        if connection.engine.url == make_url(url) and _owned_table(statement) is not None:
            statement = f"{statement.rstrip()} PARTITION BY HASH ({OWNER})"
        return statement, parameters

    def add_parts(connection: Connection, cursor: Any, statement: str, *_rest: Any) -> None:
        name = _owned_table(statement.removesuffix(f" PARTITION BY HASH ({OWNER})"))
        if connection.engine.url != make_url(url) or name is None:
            return
        divided.append(name)
        for number in range(count):
            bounds = f"MODULUS {count}, REMAINDER {number}"
            cursor.execute(f"CREATE TABLE {name}_part{number} PARTITION OF {name} FOR VALUES WITH ({bounds})")

    event.listen(Engine, "before_cursor_execute", divide, retval=True)
    event.listen(Engine, "after_cursor_execute", add_parts)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", divide)
        event.remove(Engine, "after_cursor_execute", add_parts)
    assert divided or not count, "no table has partitions"


def _owned_table(statement: str) -> str | None:
    found = CREATED.match(statement)
    if found is None or found[1] in SHARED or not OWNED.search(found[2]):
        return None
    return found[1]
