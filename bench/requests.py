"""`python -m bench.requests`: the CPU time of one request of each kind, of the API process and of PostgreSQL, on the
data set of `bench.plans`. With `--beside FOLDER`, the program in another folder (an older working copy) serves a copy
of the database in its own schema, and the rounds of both alternate. Prints a line of JSON for each kind, and at the end
what all take now, divided by before. Times are milliseconds, the least of the rounds, which are short, because other
work of the machine only adds to them. With `--write`, a section of docs/performance.md and docs/requests.json.
"""

import argparse
import http.client
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import create_engine, delete, select, text
from sqlalchemy.engine import make_url

from bench.machine import Meter, describe_run, describe_server, tell_machine
from bench.plans.__main__ import open_server, prepare_data
from bench.plans.data import NAME
from bench.servers import wait_for
from persistence.database import Database
from persistence.migrations import move_to, upgrade
from persistence.tables.accounts import workspace
from persistence.tables.contacts import contact, field, group
from persistence.tables.flows import flow
from persistence.tables.messages import label, message
from persistence.tables.service import global_value
from persistence.workspaces.records import WORKSPACE_COLUMNS, workspace_from_row
from relayboard.processes import listen
from testbed.quality_page import replace_section
from testbed.tokens import KEYS, SECRET_KEY, make_token

Body = Callable[[], dict[str, Any]]

V2 = "/api/v2/"
PREFIX = "Bench"
MOST_MESSAGES = 50_000
"""Messages of the inbox that are archived or labelled, each once: more than any run needs."""

WARM_UP, WRITES_BEFORE = 40, 15
"""Reads and writes before those that count, so that statements are prepared."""
ROUNDS_BETWEEN = 20
"""Rounds after which names are removed that requests have created."""

DEARER = 1.15
TITLE = "Requests"
RAPIDPRO = {
    "messages, inbox": (70.3, 2.8),
    "messages, sent": (67.8, 2.8),
    "messages of a contact with many": (57.7, 2.8),
    "messages of a contact with few": (9.4, 0.9),
    "messages by label": (124.2, 3.2),
    "contacts": (70.8, 3.0),
    "contacts of a group of a tenth": (81.0, 3.5),
    "contacts of a group of 500": (79.2, 3.5),
    "contacts by URN": (10.7, 1.0),
    "runs": (90.8, 3.6),
    "runs of a flow": (89.4, 3.6),
    "flows (50)": (37.2, 1.2),
    "groups (20)": (7.2, 0.7),
    "labels (10)": (6.2, 0.7),
    "fields (10)": (6.7, 0.7),
    "POST labels": (6.8, 1.1),
    "POST groups": (9.2, 1.1),
    "POST fields": (7.2, 1.1),
    "POST globals": (7.0, 1.1),
    "POST broadcasts": (9.5, 1.6),
    "POST flow_starts": (11.4, 1.9),
    "POST message_actions, archive": (5.5, 0.9),
    "POST message_actions, label 100": (270.0, 8.0),
}
"""Milliseconds that RapidPro 9.0.0 takes with one worker on PostgreSQL 15, and our goal."""
OUR_GOALS = {"POST messages": 1.8, "POST contacts, create": 3.0, "POST contacts, update": 2.5}
"""Goals for what RapidPro does not offer, or was not measured."""
THERE = {
    "messages, inbox": 4.85,
    "messages, sent": 5.22,
    "messages of a contact with many": 5.26,
    "messages of a contact with few": 2.53,
    "messages by label": 6.74,
    "contacts": 7.37,
    "contacts of a group of a tenth": 13.51,
    "contacts of a group of 500": 249.4,
    "contacts by URN": 2.78,
    "runs": 5.52,
    "runs of a flow": 5.8,
    "flows (50)": 1.91,
    "groups (20)": 1.49,
    "labels (10)": 1.42,
    "fields (10)": 1.44,
    "POST labels": 2.14,
    "POST groups": 2.42,
    "POST fields": 2.51,
    "POST globals": 2.35,
    "POST broadcasts": 3.02,
    "POST flow_starts": 3.48,
    "POST message_actions, archive": 2.84,
    "POST message_actions, label 100": 12.0,
    "POST messages": 3.85,
    "POST contacts, create": 9.38,
    "POST contacts, update": 7.66,
}
"""Milliseconds that version 0.2.0 took on the machine on which RapidPro was measured."""
TEXT = """
<!-- not run: tests/quality/test_requests.py does it in small -->

    python -m bench.requests --write

measures the CPU time of a request with one connection, on the data set of `bench.plans`: {requests} kinds of
requests, the {kept} of {rounds} rounds each; pages have 250 records. It writes this section and `docs/requests.json`.
With `--beside FOLDER` an older version serves a copy of the database in its own schema, in turns.

The figures are of {day}, by `{command}`:
{machine} RapidPro 9.0.0 was measured on another machine of
two processors with a data set of the same shape: its ratio is rough.{compared}

{table}
"""
COMPARED = """ "Before" is version 0.2.0 in the
same run; "there" is what it took on RapidPro's machine, times the ratio: compare that with the goal."""

PAGE = Path(__file__).parents[1] / "docs" / "performance.md"


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    path: str
    body: Body | None = None
    count: int = 5


@dataclass(frozen=True, slots=True)
class Api:
    """An API process of one version of the program."""

    port: int
    meter: Meter

    @classmethod
    @contextmanager
    def running(cls, database_url: str, folder: Path | None = None, name: str | None = None) -> Iterator["Api"]:
        """The program in `folder`, this one by default. `name` tells its connections from those of other processes."""
        folder = folder or Path.cwd()
        name = (name or f"bench_{folder.resolve().name}")[:60]
        with TemporaryDirectory() as data, listen("127.0.0.1", 0) as listener:
            environment = {
                **os.environ,
                "PYTHONPATH": str(folder),
                "PGAPPNAME": name,
                "RELAYBOARD_DATABASE_URL": database_url,
                "RELAYBOARD_QUEUE_URL": f"sqlite:///{data}/queue.db",
                "RELAYBOARD_SECRET_KEY": SECRET_KEY,
                "RELAYBOARD_RATE_LIMIT": "1000000000/hour",
                "RELAYBOARD_MEDIA_URL": f"file://{data}/media",
            }
            log = Path(data) / "api.log"
            descriptor = listener.fileno()
            process = subprocess.Popen(
                [sys.executable, "-m", "relayboard.api_process", str(descriptor)],
                env=environment,
                cwd=folder,
                pass_fds=(descriptor,),
                stdout=log.open("wb"),
                stderr=subprocess.STDOUT,
            )
            try:
                port = listener.getsockname()[1]
                wait_for(f"http://127.0.0.1:{port}/health/ready", log)
                yield cls(port, Meter(process.pid, database_url, name))
            finally:
                process.terminate()
                process.wait(30)


def ask(connection: http.client.HTTPConnection, case: Case, token: str) -> None:
    """Sends a request and reads its response. Raises RuntimeError for one that was refused."""
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    body = None if case.body is None else json.dumps(case.body())
    connection.request("GET" if body is None else "POST", case.path, body, headers)
    response = connection.getresponse()
    content = response.read()
    if response.status >= 300:
        raise RuntimeError(f"{case.name}: {response.status} {content[:300]!r}")


def remove_names(databases: Iterable[Database]) -> None:
    """Removes the names that requests have created, because a workspace has at most 250 of each kind."""
    for database in databases:
        with database.writing() as tx:
            for table in (label, group, field, global_value):
                tx.execute(delete(table).where(table.c.name.startswith(PREFIX)))


def tidy(database: Database) -> None:
    """What earlier runs have left takes the time of none."""
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE"))


@contextmanager
def older_copy(server: str, url: str, folder: Path) -> Iterator[Database]:
    """A copy of a database for the time of the block, in the schema of the version in another folder. Nobody may be
    connected to the database.
    """
    versions = (folder / "persistence" / "migrations" / "versions").glob("[0-9]*_*.py")
    revision = max(path.name.partition("_")[0] for path in versions)
    name = f"{make_url(url).database}_of_{revision}"
    with create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {make_url(url).database}"))
        database = Database(make_url(url).set(database=name).render_as_string(hide_password=False), keys=KEYS)
        move_to(database.engine, revision)
        tidy(database)
        yield database
        database.close()
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def list_cases(database: Database) -> list[Case]:
    """The requests of the table in the documentation."""
    with database.reading() as tx:

        def uuid(table: Any, key: str) -> str:
            found: str = tx.execute(select(table.c.uuid).where(table.c.name_key == key)).scalar_one()
            return found

        def person(number: int) -> str:
            found: str = tx.execute(select(contact.c.uuid).where(contact.c.id == number)).scalar_one()
            return found

        last = tx.execute(select(contact.c.id).order_by(contact.c.id.desc()).limit(1)).scalar_one()
        inbox = itertools.cycle(
            tx.execute(select(message.c.id).where(message.c.folder == "inbox").limit(MOST_MESSAGES)).scalars().all()
        )
        groups = {number: uuid(group, f"group {number}") for number in (5, 18)}
        one, flow_one, label_three = person(last // 2), uuid(flow, "flow 1"), uuid(label, "label 3")
        heavy, light = person(1), person(last * 3 // 4)
    numbers = itertools.count(int(time.time()) * 100)

    def named() -> dict[str, Any]:
        return {"name": f"{PREFIX} {next(numbers)}"}

    reads = _list_reads(groups, label_three, flow_one, heavy, light)
    return [*reads, *_list_new_names(named), *_list_work(numbers, inbox, one, flow_one, label_three)]


def measure(
    case: Case, servers: Mapping[str, Api], token: str, rounds: int, clean: Callable[[], None]
) -> dict[str, dict[str, float]]:
    """Milliseconds of a request of each version: the least of rounds that alternate. `clean` removes what was made."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    with ExitStack() as stack:
        asked = {name: stack.enter_context(_asking(case, api, token)) for name, api in servers.items()}
        for number in range(rounds):
            for name, spend in asked.items():
                found[name].append(spend(case.count))
            if case.body is not None and number % ROUNDS_BETWEEN == 0:
                clean()
    clean()
    return {
        name: {"api_ms": round(min(costs)[0], 3), "postgresql_ms": round(min(each for _, each in costs), 3)}
        for name, costs in found.items()
    }


def tell_ratio(requests: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What all kinds take now, divided by before, and those that take over 1.15 times."""
    ratios = {each["request"]: _total(each["now"]) / _total(each["before"]) for each in requests}
    total = sum(_total(each["now"]) for each in requests) / sum(_total(each["before"]) for each in requests)
    dearer = {name: round(ratio, 2) for name, ratio in ratios.items() if ratio > DEARER}
    return {"now ÷ before": round(total, 3), f"over {DEARER}": dearer}


def describe(results: Mapping[str, Any]) -> str:
    return TEXT.format(
        requests=len(results["requests"]),
        kept="least" if results.get("is_least") else "median",
        rounds=results["rounds"],
        day=results["measured_on"],
        command=results["command"],
        machine=tell_machine(results),
        compared=COMPARED if _is_compared(results) else "",
        table=_write_table(results),
    )


def main(arguments: Sequence[str], page: Path = PAGE, say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.requests", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="size of the data set")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--beside", type=Path, help="folder of another version of the program")
    parser.add_argument("--rounds", type=int, default=30, help="of a few requests each")
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
        stack.callback(database.close)
        upgrade(database.engine)
        tidy(database)
        with database.reading() as tx:
            owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
        token = make_token(database, workspace_from_row(owner), "administrator")
        databases = {"now": database}
        servers = {"now": Path.cwd()}
        if options.beside:
            database.engine.dispose()
            databases["before"] = stack.enter_context(older_copy(server, url, options.beside))
            servers["before"] = options.beside
        apis = {
            name: stack.enter_context(
                Api.running(databases[name].engine.url.render_as_string(hide_password=False), folder, f"bench_{name}")
            )
            for name, folder in servers.items()
        }
        for case in list_cases(database):
            if options.only in case.name:
                costs = measure(case, apis, token, options.rounds, partial(remove_names, databases.values()))
                requests.append({"request": case.name, **costs})
                say(json.dumps(requests[-1]))
        if options.beside:
            say(json.dumps(tell_ratio(requests), ensure_ascii=False))
        return {"is_least": True, "postgresql": describe_server(server), "requests": requests}
    raise AssertionError("unreachable")


def _list_reads(groups: dict[int, str], label_three: str, flow_one: str, heavy: str, light: str) -> list[Case]:
    return [
        Case("messages, inbox", f"{V2}messages.json?folder=inbox"),
        Case("messages, sent", f"{V2}messages.json?folder=sent"),
        Case("messages of a contact with many", f"{V2}messages.json?contact={heavy}"),
        Case("messages of a contact with few", f"{V2}messages.json?contact={light}"),
        Case("messages by label", f"{V2}messages.json?label={label_three}"),
        Case("contacts", f"{V2}contacts.json"),
        Case("contacts of a group of a tenth", f"{V2}contacts.json?group={groups[5]}"),
        Case("contacts of a group of 500", f"{V2}contacts.json?group={groups[18]}"),
        Case("contacts by URN", f"{V2}contacts.json?urn=tel:%2B250710012345"),
        Case("runs", f"{V2}runs.json"),
        Case("runs of a flow", f"{V2}runs.json?flow={flow_one}"),
        Case("flows (50)", f"{V2}flows.json"),
        Case("groups (20)", f"{V2}groups.json"),
        Case("labels (10)", f"{V2}labels.json"),
        Case("fields (10)", f"{V2}fields.json"),
        Case("messages, v1", "/api/v1/messages.json"),
    ]


def _list_new_names(named: Callable[[], dict[str, Any]]) -> list[Case]:
    return [
        Case("POST labels", f"{V2}labels.json", named),
        Case("POST groups", f"{V2}groups.json", named),
        Case("POST fields", f"{V2}fields.json", lambda: {**named(), "type": "text"}),
        Case("POST globals", f"{V2}globals.json", lambda: {**named(), "value": "x"}),
    ]


def _list_work(numbers: Iterator[int], inbox: Iterator[int], one: str, flow_one: str, label_three: str) -> list[Case]:
    return [
        Case("POST broadcasts", f"{V2}broadcasts.json", lambda: {"contacts": [one], "text": "Hello"}),
        Case("POST flow_starts", f"{V2}flow_starts.json", lambda: {"contacts": [one], "flow": flow_one}),
        Case(
            "POST message_actions, archive",
            f"{V2}message_actions.json",
            lambda: {"messages": [next(inbox)], "action": "archive"},
        ),
        Case(
            "POST message_actions, label 100",
            f"{V2}message_actions.json",
            lambda: {"messages": list(itertools.islice(inbox, 100)), "action": "label", "label": label_three},
            1,
        ),
        Case("POST messages", f"{V2}messages.json", lambda: {"contact": one, "text": "Hello"}),
        Case(
            "POST contacts, create",
            f"{V2}contacts.json",
            lambda: {"name": "Bench", "urns": [f"tel:+25191{next(numbers) % 10**7:07}"]},
        ),
        Case(
            "POST contacts, update",
            f"{V2}contacts.json?uuid={one}",
            lambda: {"fields": {"field_1": f"value {next(numbers)}"}},
        ),
    ]


@contextmanager
def _asking(case: Case, api: Api, token: str) -> Iterator[Callable[[int], tuple[float, float]]]:
    """A function that sends so many requests and returns the milliseconds of each: of the API process, and of
    PostgreSQL. It has sent enough before, so that all is prepared.
    """
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
    for _ in range(WARM_UP if case.body is None else WRITES_BEFORE):
        ask(connection, case, token)
    backends = api.meter.find_backends()

    def spend(count: int) -> tuple[float, float]:
        before = api.meter.read(backends)
        for _ in range(count):
            ask(connection, case, token)
        after = api.meter.read(backends)
        return (after[0] - before[0]) / count, (after[1] - before[1]) / count

    yield spend
    connection.close()


def _is_compared(results: Mapping[str, Any]) -> bool:
    return any("before" in each for each in results["requests"])


def _write_table(results: Mapping[str, Any]) -> str:
    is_compared = _is_compared(results)
    heads = ["Request", "API process + PostgreSQL (ms)", "Goal (ms)", "RapidPro (ms)", "RapidPro ÷ ours"]
    heads += ["Before (ms)", "Now ÷ before", "There (ms)"] if is_compared else []
    lines = [_write_line(heads), _write_line(["---"] * len(heads))]
    for each in results["requests"]:
        now = _total(each["now"])
        theirs, goal = RAPIDPRO.get(each["request"], (None, OUR_GOALS.get(each["request"])))
        cells = [each["request"], _write_costs(each["now"]), f"{goal:g}" if goal else ""]
        cells += [f"{theirs:g}", f"{theirs / now:.1f}"] if theirs else ["", ""]
        if is_compared:
            before = each.get("before")
            ratio = now / _total(before) if before else None
            there = THERE.get(each["request"])
            cells += [_write_costs(before), f"{ratio:.2f}"] if before else ["", ""]
            cells.append(f"{there * ratio:.2f}" if there and ratio else "")
        lines.append(_write_line(cells))
    return "\n".join(lines)


def _write_line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _write_costs(costs: Mapping[str, float]) -> str:
    return f"{costs['api_ms']:.2f} + {costs['postgresql_ms']:.2f}"


def _total(costs: Mapping[str, float]) -> float:
    return costs["api_ms"] + costs["postgresql_ms"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
