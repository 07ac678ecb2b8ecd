"""`python -m bench.capacity`: what machines carry, from what each kind of work costs.

The costs are those of docs/performance.md, each with the command that measures it. Bytes per row are measured here, on
the data set of `bench.plans`. `--write` writes docs/capacity.md.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import text

from bench.plans.__main__ import prepare_data
from persistence.database import Database
from testbed.servers import postgres_server
from testbed.tokens import KEYS

PAGE = Path(__file__).parents[1] / "docs" / "capacity.md"
MEASURED = PAGE.with_name("requests.json")
BUSY_SHARE = 0.6
"""Of a machine's processors, so that waits stay short."""
CORES = 2
NODES = 10
DATABASE_CORES = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds of processor time for one unit of work, of our processes and of PostgreSQL."""

    work: str
    own_ms: float
    database_ms: float
    command: str

    def of_one_machine(self) -> int:
        """Units per second on a machine that has the database, too."""
        return round(CORES * BUSY_SHARE * 1000 / (self.own_ms + self.database_ms))

    def of_many(self) -> tuple[int, str]:
        """Units per second of ten machines beside one of the database, and which of the two is busy first."""
        nodes = NODES * CORES * BUSY_SHARE * 1000 / self.own_ms
        database = DATABASE_CORES * BUSY_SHARE * 1000 / self.database_ms
        return round(min(nodes, database)), "nodes" if nodes <= database else "database"


REQUESTS = {
    "page of 250 messages": "messages, inbox",
    "page of 250 contacts": "contacts",
    "small list (labels)": "labels (10)",
    "message sent by the API": "POST messages",
    "broadcast to one contact": "POST broadcasts",
    "contact created": "POST contacts, create",
}
"""Work that is one request, by its name in docs/requests.json."""
OTHERS = (
    Cost("contact started in a flow of two messages", 0.25, 0.26, "python -m bench.flow_starts"),
    Cost("event delivered to a receiver", 0.19, 0.17, "python -m bench.deliveries --count 15000"),
)
TABLES = {
    "message": ("message", "message_label", "conversation"),
    "contact": ("contact", "contact_urn", "group_membership"),
    "run": ("flow_run", "flow_session"),
}
"""What the rows of a kind take with the tables that go with them, and all indexes."""

TEXT = """# Capacity

What machines carry, derived from what each kind of work costs. Written by

<!-- not run: it makes a large data set -->

    python -m bench.capacity --write

from the figures of [performance](performance.md), which were measured on two cores that did other work too; a quiet
machine carries more. Measure your own with the commands in the last column, then multiply: units per second are the
processors times {share:.0%} (so that waits stay short) times 1,000, divided by the milliseconds.

One machine has {cores} cores and its database; "ten" are {nodes} such machines beside a database of {database} cores.

| Work | Our processes (ms) | PostgreSQL (ms) | One machine (per s) | Ten (per s) | Busy first of ten | Measured by |
|---|---|---|---|---|---|---|
{rows}

Each row is all that the machines do; of two kinds of work at once each has its share. A row for ten machines is an
extrapolation: no more than two cores were at hand, and locks, the network and the disk have their own limits, which
`python -m bench.nodes` looks for with many processes on one machine ([scaling](scaling.md)).

## Disk

Bytes in PostgreSQL, with indexes and what goes with each row, in a workspace of {messages:,} messages made by
`bench.plans` (texts of {text_length} characters on average):

| Row | Bytes | A million of them |
|---|---|---|
{sizes}

Messages and ended runs go to archives after 90 days ([data](data.md)), so the tables hold a quarter of a year: a
machine that takes 100,000 messages a day holds nine million, about {quarter:.0f} GB.

## Memory

| Process | MB | Measured by |
|---|---|---|
| API process | 172 to 194 | `make soak` ([quality](quality.md)) |
| worker | 140 to 159 | `make soak` |
| worker with a sender: parent, jobs, sender | 44 + 60 + 45 | see [fairness](performance.md#fairness) |

One API process and one worker take about 350 MB; leave what is left to PostgreSQL and its cache.

## What to add first

1. **PostgreSQL instead of SQLite**, before anything else: SQLite has one writer.
2. **API processes** up to the number of cores, when requests wait and the cores are idle: one process uses one core.
3. **A machine of its own for the database**, when both want the processors: it takes half of each page's cost away.
4. **A standby for lists**, when the database is busy first (pages): it takes the PostgreSQL part of every list that a
   token reads, less a small statement.
5. **More workers**, when `relayboard_waiting_oldest_seconds` grows while the database is not busy.
6. **A pooler**, when connections come near `max_connections`: an API process keeps up to 17, a worker up to 28.
7. **More database machines**, when writes alone fill the largest one.
"""


def list_costs() -> list[Cost]:
    """What each kind of work costs; requests as they were measured last."""
    measured = {each["request"]: each["now"] for each in json.loads(MEASURED.read_text(encoding="utf-8"))["requests"]}
    costs = [(work, measured[request]) for work, request in REQUESTS.items()]
    return [
        *(Cost(work, each["api_ms"], each["postgresql_ms"], "python -m bench.requests") for work, each in costs),
        *OTHERS,
    ]


def main(arguments: Sequence[str], page: Path = PAGE) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--write", action="store_true", help="write docs/capacity.md")
    options = parser.parse_args(arguments)
    with postgres_server(is_durable=True) as server:
        sizes, length = measure_rows(prepare_data(server, options.messages))
    sheet = render(sizes, options.messages, length)
    print(sheet)
    if options.write:
        page.write_text(sheet, encoding="utf-8")
    return 0


def measure_rows(url: str) -> tuple[dict[str, int], int]:
    """Bytes of a row of each kind, and the mean length of a message's text."""
    database = Database(url, keys=KEYS)
    sizes = {}
    with database.reading() as tx:
        for kind, tables in TABLES.items():
            size = text("SELECT sum(pg_total_relation_size(to_regclass(name))) FROM unnest(:names) name")
            total = tx.execute(size, {"names": list(tables)}).scalar_one()
            count = tx.execute(text(f"SELECT count(*) FROM {tables[0]}")).scalar_one()
            sizes[kind] = round(int(total) / int(count))
        length = tx.execute(text("SELECT avg(length(text)) FROM message")).scalar_one()
    database.close()
    return sizes, round(length)


def render(sizes: Mapping[str, int], messages: int, text_length: int) -> str:
    rows = []
    for each in list_costs():
        many, busy = each.of_many()
        rows.append(
            f"| {each.work} | {each.own_ms:.2f} | {each.database_ms:.2f} | {each.of_one_machine():,} | {many:,} "
            f"| {busy} | `{each.command}` |"
        )
    return TEXT.format(
        share=BUSY_SHARE,
        cores=CORES,
        nodes=NODES,
        database=DATABASE_CORES,
        rows="\n".join(rows),
        messages=messages,
        text_length=text_length,
        sizes="\n".join(f"| {kind} | {size:,} | {size / 1000:.1f} GB |" for kind, size in sizes.items()),
        quarter=sizes["message"] * 9e6 / 1e9,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
