"""The statements that are measured on both layouts."""

import statistics
import time
from collections.abc import Iterator

from sqlalchemy import Connection, text

from bench.months.tables import MONTHS, ONE_TABLE

PAGE = (
    "SELECT id, created_on, text FROM message WHERE workspace_id = 1 AND {} ORDER BY created_on DESC, id DESC LIMIT 250"
)
NEW = """INSERT INTO message (id, workspace_id, uuid, contact_id, channel_id, direction, type, status, visibility, text,
attachments, quick_replies, error_count, created_on, modified_on)
SELECT :rows + 1000 * :round + m, 1, md5('new' || 1000 * :round + m)::uuid, 1 + m, 1, 'in', 'text', 'handled',
'visible', 'Hello', '[]', '[]', 0, TIMESTAMPTZ '2025-12-31 23:00+00', now() FROM generate_series(1, 1000) AS m"""
STATEMENTS = {
    "page of the inbox": PAGE.format("folder = 'inbox'"),
    "page of the inbox before a day in June": PAGE.format("folder = 'inbox' AND created_on < '2025-06-15 00:00+00'"),
    "page of a contact": PAGE.format("contact_id = :contact"),
    "a message by its id": "SELECT text FROM message WHERE workspace_id = 1 AND id = :id",
    "a message by its UUID": "SELECT text FROM message WHERE workspace_id = 1 AND uuid = md5('message' || :id)::uuid",
    "a status that changes": "UPDATE message SET status = 'read' WHERE workspace_id = 1 AND id = :id",
    "1,000 new messages": NEW,
}
DELETION = "DELETE FROM message WHERE workspace_id = 1 AND created_on < '2025-{} 00:00+00'"
REMOVALS = {
    ONE_TABLE: {"removing a day": DELETION.format("01-02"), "removing a month": DELETION.format("02-01")},
    MONTHS: {"removing a day": DELETION.format("01-02"), "removing a month": "DROP TABLE message_01"},
}
STEP = 7919
"""Rows are asked for all over the table: a prime number is their distance."""


def measure(connection: Connection, layout: str, rows: int, rounds: int) -> Iterator[tuple[str, float]]:
    """Milliseconds until each statement was answered, the median of the rounds; removals happen once."""
    for work, statement in STATEMENTS.items():
        spent = []
        for number in range(-2, rounds):  # the first two read from the disk
            one = 1 + (number + 3) * STEP * 31 % rows
            values = {"rows": rows, "round": number + 2, "id": one, "contact": 1 + one % (rows // 10)}
            used = {name: value for name, value in values.items() if f":{name}" in statement}
            began = time.monotonic()
            connection.execute(text(statement), used)
            if number >= 0:
                spent.append((time.monotonic() - began) * 1000)
        yield work, round(statistics.median(spent), 3)
    for work, statement in REMOVALS[layout].items():
        began = time.monotonic()
        connection.execute(text(statement))
        yield work, round((time.monotonic() - began) * 1000, 1)
