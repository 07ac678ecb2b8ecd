"""`python -m bench.requests`: the CPU time of one request of each kind, of the API process and of PostgreSQL, on the
data set of `bench.plans`. With `--beside FOLDER`, the program in another folder (an older working copy) serves the same
database, and the rounds of both alternate. Prints a line of JSON for each kind; times are milliseconds, the medians of
the rounds. With `--write`, a section of docs/performance.md and all figures as docs/requests.json.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bench.machine import describe_run, describe_server
from bench.plans.__main__ import open_server, prepare_data
from bench.plans.data import NAME
from bench.requests.api import Api
from bench.requests.cases import list_cases, remove_names
from bench.requests.measuring import measure
from bench.requests.page import TITLE, describe
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.tables.accounts import workspace
from persistence.workspaces import WORKSPACE_COLUMNS, workspace_from_row
from testbed.quality_page import replace_section
from testbed.tokens import KEYS, make_token

PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.requests", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="size of the data set")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--beside", type=Path, help="folder of another version of the program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="measure only cases whose name contains this")
    parser.add_argument("--output", type=Path, help="file for all figures with a description of the machine, as JSON")
    parser.add_argument("--write", action="store_true", help="write docs/requests.json and docs/performance.md")
    options = parser.parse_args(arguments)
    with describe_run("bench.requests", arguments, options.rounds) as results:
        results |= run(options, say)
    written = json.dumps(results, indent=1) + "\n"
    if options.output:
        options.output.write_text(written, encoding="utf-8")
    if options.write:
        page.with_name("requests.json").write_text(written, encoding="utf-8")
        replace_section(TITLE, describe(results), page)
    return 0


def run(options: argparse.Namespace, say: Callable[[str], object]) -> dict[str, Any]:
    """The costs of all kinds of requests, and the server they were measured on."""
    requests = []
    with ExitStack() as stack:
        server = stack.enter_context(open_server(options.server))
        url = prepare_data(server, options.messages)
        database = Database(url, keys=KEYS)
        upgrade(database.engine)
        folders = {"now": Path.cwd()} | ({"before": options.beside} if options.beside else {})
        servers = {name: stack.enter_context(Api.running(url, folder)) for name, folder in folders.items()}
        with database.reading() as tx:
            owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
        token = make_token(database, workspace_from_row(owner), "administrator")
        for case in list_cases(database):
            if options.only in case.name:
                costs = measure(case, servers, token, options.rounds, partial(remove_names, database))
                requests.append({"request": case.name, **costs})
                say(json.dumps(requests[-1]))
        database.close()
        return {"postgresql": describe_server(server), "requests": requests}
    raise AssertionError("unreachable")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
