"""The table of messages in both layouts, filled with a year of messages."""

import re

from sqlalchemy import Connection, text

ONE_TABLE, MONTHS = "one table", "twelve months"
LAYOUTS = (ONE_TABLE, MONTHS)
BEGAN = "TIMESTAMPTZ '2025-01-01 00:00:00+00'"
YEAR_SECONDS = 31_536_000
FILL = f"""INSERT INTO message (id, workspace_id, uuid, contact_id, urn, channel_id, flow_id, direction, type, status,
visibility, text, attachments, quick_replies, error_count, created_on, sent_on, modified_on)
SELECT m, 1, md5('message' || m)::uuid, 1 + (hashint8extended(m, 1) & 2147483647) % (:rows / 10), 'tel:+250788000111',
1,
CASE WHEN m % 10 = 0 THEN 1 + m / 10 % 50 END, CASE WHEN m % 5 = 0 THEN 'out' ELSE 'in' END, 'text',
CASE WHEN m % 5 > 0 THEN 'handled' ELSE 'delivered' END, 'visible',
rpad(md5(m::text), (40 + m % 100)::int, ' lorem ipsum dolor'), '[]', '[]', 0, t,
CASE WHEN m % 5 = 0 THEN t + interval '3 seconds' END, t + interval '2 seconds'
FROM (SELECT m, {BEGAN} + m * interval '1 second' * ({YEAR_SECONDS}.0 / :rows) AS t
FROM generate_series(1, :rows) AS m) AS numbered"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = 'message' ORDER BY indexname"
NAMED = re.compile(r" INDEX \w+ ON (?:ONLY )?public\.message")


def fill(connection: Connection, layout: str, rows: int) -> None:
    """Replaces the table of messages by one of this layout, with all indexes. Nothing refers to it afterwards."""
    definitions = list(connection.execute(text(INDEXES)).scalars())
    connection.execute(text("SET session_replication_role = replica"))
    connection.execute(text("SET statement_timeout = 0"))  # what the service allows is too short for millions of rows
    connection.execute(text("CREATE TABLE plain (LIKE message INCLUDING DEFAULTS INCLUDING GENERATED)"))
    connection.execute(text("DROP TABLE message CASCADE"))
    if layout == MONTHS:
        like = "LIKE plain INCLUDING DEFAULTS INCLUDING GENERATED"
        connection.execute(text(f"CREATE TABLE message ({like}) PARTITION BY RANGE (created_on)"))
        for month in range(1, 13):
            begin, end = f"2025-{month:02}-01", f"{2025 + month // 12}-{month % 12 + 1:02}-01"
            bounds = f"FOR VALUES FROM ('{begin} 00:00+00') TO ('{end} 00:00+00')"
            connection.execute(text(f"CREATE TABLE message_{month:02} PARTITION OF message {bounds}"))
        connection.execute(text("CREATE TABLE message_later PARTITION OF message DEFAULT"))
        connection.execute(text("DROP TABLE plain"))
    else:
        connection.execute(text("ALTER TABLE plain RENAME TO message"))
    connection.execute(text(FILL), {"rows": rows})
    for definition in definitions:
        connection.execute(text(make_index(definition, layout)))
    connection.commit()
    connection.execution_options(isolation_level="AUTOCOMMIT")
    connection.execute(text("VACUUM (ANALYZE) message"))


def make_index(definition: str, layout: str) -> str:
    """The statement that makes an index of the service's table in a layout: in partitions a unique index needs the time
    by which they are made."""
    statement = NAMED.sub(" INDEX ON public.message", definition)
    if layout == MONTHS and statement.startswith("CREATE UNIQUE") and "created_on" not in statement:
        statement = statement.replace(")", ", created_on)", 1)
    return statement
