"""Pages of generation 1 beside those of generation 2: the same messages, found by page number and by cursor."""

from typing import Any
from urllib.parse import quote

from sqlalchemy import select

from bench.load import Request
from persistence.database import Database
from persistence.messages.records import CREATED_ORDER
from persistence.sql.columns import time_text
from persistence.sql.pages import Position, encode_cursor
from persistence.tables.messages import message

PAGE = 250


def find_place(database: Database, depth: int) -> tuple[str, str]:
    """The cursor of ours and the place of the bare application at a depth of the list."""
    with database.reading() as tx:
        statement = select(message.c.created_on, message.c.id, message.c.workspace_id)
        statement = statement.order_by(message.c.created_on.desc()).offset(depth)
        row = tx.execute(statement.limit(1)).one()
    cursor = encode_cursor(Position(row.created_on, row.id), CREATED_ORDER, row.workspace_id)
    return cursor, quote(f"{time_text(row.created_on)}|{row.id}")


def pair_generations(
    url: str, headers: dict[str, str], facts: dict[str, Any], database: Database, messages: int
) -> list[tuple[str, dict[str, Request]]]:
    """Requests for the same pages of both generations: the first, one half-way down, and the first of a filter."""
    depth = messages // 2 // PAGE * PAGE
    cursor, _place = find_place(database, depth - 1)
    queries = {
        "first": ("", ""),
        f"at depth {depth:,}": (f"?page={depth // PAGE + 1}", f"?cursor={cursor}"),
        "incoming, first": ("?direction=I", "?folder=inbox"),
        f"incoming, at depth {depth // 2:,}": (f"?direction=I&page={depth // 2 // PAGE + 1}", "?folder=inbox"),
        "of a contact": (f"?contact={facts['contact']}", f"?contact={facts['contact']}"),
    }
    return [
        (
            f"page of 250, {name}",
            {
                "v1": Request("GET", f"{url}/api/v1/messages.json{older}", headers),
                "v2": Request("GET", f"{url}/api/v2/messages.json{newer}", headers),
            },
        )
        for name, (older, newer) in queries.items()
    ]
