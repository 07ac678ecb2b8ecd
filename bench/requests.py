"""`python -m bench.requests`: the CPU time of one request of each kind, of the API process and of PostgreSQL, on the
data set of `bench.plans`. With `--beside FOLDER`, the program in another folder (an older working copy) serves the same
database, and the rounds of both alternate. Prints JSON; times are milliseconds, the medians of the rounds.
"""

import argparse
import http.client
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import delete, select

from bench.cpu import Meter
from bench.plans.__main__ import open_server, prepare_data
from bench.plans.data import NAME
from bench.servers import wait_for
from persistence.database import Database
from persistence.migrations import upgrade
from persistence.tables.accounts import workspace
from persistence.tables.contacts import contact, field, group
from persistence.tables.flows import flow
from persistence.tables.messages import label, message
from persistence.tables.service import global_value
from persistence.workspaces import WORKSPACE_COLUMNS, workspace_from_row
from relayboard.processes import listen
from testbed.tokens import KEYS, SECRET_KEY, make_token

WARM_UP = 15
V2 = "/api/v2/"
PREFIX = "Bench"
Body = Callable[[], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    path: str
    body: Body | None = None
    count: int = 60


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.requests", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000, help="size of the data set")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--beside", type=Path, help="folder of another version of the program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="measure only cases whose name contains this")
    options = parser.parse_args()
    with ExitStack() as stack:
        url = prepare_data(stack.enter_context(open_server(options.server)), options.messages)
        database = Database(url, keys=KEYS)
        upgrade(database.engine)
        folders = {"now": Path.cwd()} | ({"before": options.beside} if options.beside else {})
        servers = {name: stack.enter_context(Api.running(url, folder)) for name, folder in folders.items()}
        with database.reading() as tx:
            owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
        token = make_token(database, workspace_from_row(owner), "administrator")
        for case in list_cases(database):
            if options.only in case.name:
                print(json.dumps({"request": case.name, **_measure(case, servers, token, options.rounds)}), flush=True)
                _clean(database)
        database.close()
    return 0


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


def _measure(case: Case, servers: dict[str, Api], token: str, rounds: int) -> dict[str, Any]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in servers}
    for name, api in itertools.chain.from_iterable([servers.items()] * rounds):
        found[name].append(_spend(case, api, token))
    return {
        name: {
            "api": round(statistics.median(api for api, _ in costs), 2),
            "postgresql": round(statistics.median(postgres for _, postgres in costs), 2),
            "both": round(statistics.median(sum(cost) for cost in costs), 2),
        }
        for name, costs in found.items()
    }


def ask(connection: http.client.HTTPConnection, case: Case, token: str) -> None:
    """Sends a request and reads its response. Raises RuntimeError for one that was refused."""
    headers = {"Authorization": f"Token {token}", "Content-Type": "application/json"}
    body = None if case.body is None else json.dumps(case.body())
    connection.request("GET" if body is None else "POST", case.path, body, headers)
    response = connection.getresponse()
    content = response.read()
    if response.status >= 300:
        raise RuntimeError(f"{case.name}: {response.status} {content[:300]!r}")


def _spend(case: Case, api: Api, token: str) -> tuple[float, float]:
    """Milliseconds of a request: of the API process, and of PostgreSQL."""
    connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=60)
    before = (0.0, 0.0)
    for number in range(-WARM_UP if case.body is None else -3, case.count):
        if number == 0:
            before = api.meter.read()
        ask(connection, case, token)
    after = api.meter.read()
    connection.close()
    return (after[0] - before[0]) / case.count, (after[1] - before[1]) / case.count


def _clean(database: Database) -> None:
    """Removes the names that requests have created, because a workspace has at most 250 of each kind."""
    with database.writing() as tx:
        for table in (label, group, field, global_value):
            tx.execute(delete(table).where(table.c.name.startswith(PREFIX)))


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
        inbox = iter(tx.execute(select(message.c.id).where(message.c.folder == "inbox").limit(5000)).scalars().all())
        groups = {number: uuid(group, f"group {number}") for number in (5, 18)}
        one, flow_one, label_three = person(last // 2), uuid(flow, "flow 1"), uuid(label, "label 3")
        heavy, light = person(1), person(last * 3 // 4)
    numbers = itertools.count(int(time.time()) * 100)

    def named() -> dict[str, Any]:
        return {"name": f"{PREFIX} {next(numbers)}"}

    reads = _list_reads(groups, label_three, flow_one, heavy, light)
    return [*reads, *_list_new_names(named), *_list_work(numbers, inbox, one, flow_one, label_three)]


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
        Case("groups (20)", f"{V2}groups.json", count=100),
        Case("labels (10)", f"{V2}labels.json", count=100),
        Case("fields (10)", f"{V2}fields.json", count=100),
        Case("messages, v1", "/api/v1/messages.json"),
    ]


def _list_new_names(named: Callable[[], dict[str, Any]]) -> list[Case]:
    return [
        Case("POST labels", f"{V2}labels.json", named, 25),
        Case("POST groups", f"{V2}groups.json", named, 25),
        Case("POST fields", f"{V2}fields.json", lambda: {**named(), "type": "text"}, 25),
        Case("POST globals", f"{V2}globals.json", lambda: {**named(), "value": "x"}, 25),
    ]


def _list_work(numbers: Iterator[int], inbox: Iterator[int], one: str, flow_one: str, label_three: str) -> list[Case]:
    return [
        Case("POST broadcasts", f"{V2}broadcasts.json", lambda: {"contacts": [one], "text": "Hello"}, 25),
        Case("POST flow_starts", f"{V2}flow_starts.json", lambda: {"contacts": [one], "flow": flow_one}, 25),
        Case(
            "POST message_actions, archive",
            f"{V2}message_actions.json",
            lambda: {"messages": [next(inbox)], "action": "archive"},
            40,
        ),
        Case(
            "POST message_actions, label 100",
            f"{V2}message_actions.json",
            lambda: {"messages": list(itertools.islice(inbox, 100)), "action": "label", "label": label_three},
            5,
        ),
        Case("POST messages", f"{V2}messages.json", lambda: {"contact": one, "text": "Hello"}, 40),
        Case(
            "POST contacts, create",
            f"{V2}contacts.json",
            lambda: {"name": "Bench", "urns": [f"tel:+25191{next(numbers) % 10**7:07}"]},
            40,
        ),
        Case(
            "POST contacts, update",
            f"{V2}contacts.json?uuid={one}",
            lambda: {"fields": {"field_1": f"value {next(numbers)}"}},
            40,
        ),
    ]


if __name__ == "__main__":
    sys.exit(main())
