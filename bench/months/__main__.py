"""`python -m bench.months`: what it would bring and cost to keep messages in partitions by month, at twenty million
rows.

A year of messages of one workspace is written twice, with all indexes: as the service keeps them, and in a table of
twelve monthly partitions whose unique indexes have the time of creation, as PostgreSQL asks. The same statements are
then measured on both. Prints JSON (results.schema.json); `--write` writes a section of docs/scaling.md.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bench.machine import describe_run, describe_server
from bench.months.page import TITLE, describe
from bench.months.tables import LAYOUTS, fill
from bench.months.work import measure
from persistence.migrations import upgrade
from testbed.databases import open_database
from testbed.quality_page import replace_section
from testbed.servers import postgres_database, postgres_server

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
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
