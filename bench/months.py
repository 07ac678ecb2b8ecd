"""`python -m bench.months`: what it would bring and cost to keep messages in partitions by month, at twenty million
rows.

A year of messages of one workspace is written twice, with all indexes: as the service keeps them, and in a table of
twelve monthly partitions whose unique indexes have the time of creation, as PostgreSQL asks. The same statements are
then measured on both. Prints JSON (results.schema.json); `--write` writes a section of docs/scaling.md.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from bench.machine import describe_run, describe_server, tell_machine
from persistence.migrations import upgrade
from testbed.databases import open_database
from testbed.quality_page import replace_section
from testbed.servers import postgres_database, postgres_server

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

TITLE = "Messages in one table"
TEXT = """
Messages are not kept in partitions by time. What that would bring and cost, with {rows:,} messages of a year:

<!-- not run: tests/quality/test_months.py does it in small -->

    python -m bench.months --write

Milliseconds until PostgreSQL had answered, the median of {rounds}, of {day}, by `{command}`:
{machine}

| Work | One table | Twelve months | Months ÷ one table |
|---|---|---|---|
{lines}

* Each statement is planned for all months, and what is asked for without a time (the messages of a contact, a message
  by its id or UUID, a status that is reported) has to be looked for in each. These are most of what phones, gateways
  and clients ask for. A page of one table is as quick at any size: an index in its order is read from its end.
* A unique key needs the time in it, so PostgreSQL would no longer refuse a second message with the same id, UUID or
  key of its sender at another time, and rows of other tables could not refer to a message without its time.
* What comes last goes into small indexes, which is cheaper while those of one table do not stay in memory, and
  removing a month is quick. But messages go to archives day by day after 90 days ([data](data.md)), a portion at a
  time that nobody waits for, so the table holds a quarter of a year, and new messages take the places that become free.

Where one machine no longer holds a quarter of a year, tables are spread by workspace
([operating](operating.md#more-than-one-database-machine)), which each statement names.
"""

SCALING = Path(__file__).parents[1] / "docs" / "scaling.md"


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


def describe(results: Mapping[str, Any]) -> str:
    lines = []
    for each in results["months"]:
        one, months = each["milliseconds"][ONE_TABLE], each["milliseconds"][MONTHS]
        lines.append(f"| {each['work']} | {one:,.2f} | {months:,.2f} | {months / one:.2f} |")
    return TEXT.format(
        rows=results["rows"],
        rounds=results["rounds"],
        day=results["measured_on"],
        command=results["command"],
        machine=tell_machine(results),
        lines="\n".join(lines),
    )


def main(arguments: Sequence[str], page: Path = SCALING, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.months", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument(
        "--rounds", type=int, default=20, help="executions of each statement, of which the median counts"
    )
    parser.add_argument("--server", help="URL of a PostgreSQL server (default: one that is started)")
    parser.add_argument("--write", action="store_true", help="write docs/scaling.md")
    options = parser.parse_args(arguments)
    with describe_run("bench.months", arguments, options.rounds) as results:
        results |= run(options, say)
    say(json.dumps(results, indent=1))
    if options.write:
        replace_section(TITLE, describe(results), page)
    return 0


def run(options: argparse.Namespace, say: Callable[[str], object]) -> dict[str, Any]:
    """Milliseconds of each kind of work, by layout of the table."""
    if options.server:
        return _run(options.server, options, say)
    with postgres_server(is_durable=True) as server:
        return _run(server, options, say)


def _run(server: str, options: argparse.Namespace, say: Callable[[str], object]) -> dict[str, Any]:
    found: dict[str, dict[str, float]] = {}
    with ExitStack() as stack:
        measured = []
        for layout in LAYOUTS:
            database = open_database(stack.enter_context(postgres_database(server)))
            stack.callback(database.close)
            upgrade(database.engine)
            connection = stack.enter_context(database.engine.connect())
            began = time.monotonic()
            fill(connection, layout, options.rows)
            say(f"{layout}: {options.rows:,} rows in {time.monotonic() - began:.0f} s")
            measured.append(measure(connection, layout, options.rows, options.rounds))
        # In turns, so that other work on the machine meets both.
        for layouts in zip(*measured, strict=True):
            for layout, (work, milliseconds) in zip(LAYOUTS, layouts, strict=True):
                found.setdefault(work, {})[layout] = milliseconds
                say(f"{layout}, {work}: {milliseconds:,.3f} ms")
    rows = [{"work": work, "milliseconds": layouts} for work, layouts in found.items()]
    return {"postgresql": describe_server(server), "months": rows, "rows": options.rows}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
