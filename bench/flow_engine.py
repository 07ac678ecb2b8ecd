"""`python -m bench.flow_engine`: how fast flows run on one core, without a database.

A flow of twenty nodes, each with a message made from a template and a switch, three of them waiting for an answer.
Between the waits sessions are written as JSON and read back, by the functions that our database uses. Times are CPU
seconds, so that other work on the machine matters little; the median of several rounds is shown.

`--check` measures `relayboard flow check` of a file of 4 MB instead; with `--former FOLDER` also by the version that is
checked out there, in turns.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from flows import Assets, Environment, Session, SystemClock, load, resume, start

NODES = 20
WAITING_NODES = (4, 9, 14)
FLOW_UUID = "90000000-0000-4000-8000-000000000000"
GROUP_UUID = "91000000-0000-4000-8000-000000000000"
ANSWERS = ("yes please", "I am 27", "no")
CLOCK = SystemClock()
ENVIRONMENT = Environment(allowed_languages=("eng", "fra"), default_country="RW", timezone="Africa/Kigali")
PROFILED_LINES = 25
FILE_BYTES = 4_000_000
HERE = Path(__file__).parents[1]


def make_flow() -> dict[str, Any]:
    """Twenty nodes in a row; every category of a node leads to the next."""
    nodes = [_make_node(number) for number in range(NODES)]
    return {
        "uuid": FLOW_UUID,
        "name": "Measured",
        "spec_version": "14.4.2",
        "language": "eng",
        "type": "messaging",
        "revision": 1,
        "expire_after_minutes": 1440,
        "localization": {
            "fra": {_uuid(1, number): {"text": ["Bonjour @contact.first_name"]} for number in range(NODES)}
        },
        "nodes": nodes,
    }


def _make_node(number: int) -> dict[str, Any]:
    categories = [("Yes", 4), ("Number", 5), ("Other", 6)]
    router: dict[str, Any] = {
        "type": "switch",
        "operand": "@input.text" if number in WAITING_NODES else "@(contact.fields.age + 1)",
        "result_name": f"Answer {number}",
        "categories": [
            {"uuid": _uuid(kind, number), "name": name, "exit_uuid": _uuid(kind + 3, number)}
            for name, kind in categories
        ],
        "cases": [
            _make_case(2, number, "has_any_word", ["yes ok"], 4),
            _make_case(3, number, "has_number_gt", ["18"], 5),
        ],
        "default_category_uuid": _uuid(6, number),
    }
    if number in WAITING_NODES:
        router["wait"] = {"type": "msg"}
    text = f"Hi @contact.first_name, question {number} of @(upper(run.flow.name)) for @fields.age in @contact.language"
    destination = _uuid(0, number + 1) if number + 1 < NODES else None
    return {
        "uuid": _uuid(0, number),
        "actions": [{"uuid": _uuid(1, number), "type": "send_msg", "text": text}],
        "router": router,
        "exits": [{"uuid": _uuid(kind, number), "destination_uuid": destination} for kind in (7, 8, 9)],
    }


def _make_case(kind: int, number: int, test: str, arguments: list[str], category: int) -> dict[str, Any]:
    return {
        "uuid": _uuid(kind, number),
        "type": test,
        "arguments": arguments,
        "category_uuid": _uuid(category, number),
    }


def _uuid(kind: int, number: int) -> str:
    return f"{kind:08d}-0000-4000-8000-{number:012d}"


def make_assets() -> Assets:
    """The flow with what a small workspace has: a channel, two fields and a group that a query fills."""
    return Assets.from_json(
        {
            "flows": [make_flow()],
            "channels": [
                {
                    "uuid": _uuid(20, 0),
                    "name": "Phone",
                    "address": "+250788000000",
                    "schemes": ["tel"],
                    "roles": ["send", "receive"],
                    "country": "RW",
                }
            ],
            "fields": [
                {"uuid": _uuid(21, 0), "key": "age", "name": "Age", "type": "number"},
                {"uuid": _uuid(21, 1), "key": "town", "name": "Town", "type": "text"},
            ],
            "groups": [{"uuid": GROUP_UUID, "name": "Adults", "query": "age >= 18"}],
        }
    )


def make_contact(number: int) -> dict[str, Any]:
    """One of many contacts."""
    return {
        "uuid": _uuid(30, number),
        "id": number + 1,
        "name": f"Ann Number{number}",
        "language": "eng",
        "status": "active",
        "created_on": "2024-01-01T00:00:00Z",
        "urns": [f"tel:+2507880{number % 100_000:05d}"],
        "groups": [{"uuid": GROUP_UUID, "name": "Adults"}],
        "fields": {"age": {"text": "27", "number": 27}, "town": {"text": "Kigali"}},
    }


def begin_session(assets: Assets, number: int) -> Session:
    """A contact's session up to the first wait."""
    trigger = {
        "type": "manual",
        "flow": {"uuid": FLOW_UUID, "name": "Measured"},
        "triggered_on": "2024-01-01T00:00:00Z",
    }
    session, _ = start(assets, make_contact(number), trigger, ENVIRONMENT, clock=CLOCK)
    assert session.is_waiting
    return session


def play_session(assets: Assets, number: int) -> int:
    """A whole session with its answers; returns how many nodes it visited."""
    session = begin_session(assets, number)
    for answer in ANSWERS:
        stored = orjson.dumps(session.to_json()).decode()
        message = {"text": answer, "urn": session.contact.urns[0].identity}
        event = {"uuid": CLOCK.uuid(), "created_on": "2024-01-01T00:01:00Z", "msg": message}
        answered = {"type": "msg", "event": event, "resumed_on": "2024-01-01T00:01:00Z"}
        session, _ = resume(Session.from_own_json(json.loads(stored)), answered, assets=assets, clock=CLOCK)
    assert session.status == "completed"
    return sum(len(run.path) for run in session.runs)


def measure(work: Callable[[int], int], count: int, rounds: int) -> float:
    """How many of what `work` counts are done per second, the median of the rounds."""
    rates = []
    for number in range(rounds):
        began = time.process_time()
        done = sum(work(number * count + index) for index in range(count))
        rates.append(done / (time.process_time() - began))
    return statistics.median(rates)


def _report(options: argparse.Namespace) -> Iterator[str]:
    assets = make_assets()
    count, rounds = options.sessions, options.rounds
    play_session(assets, 0)
    visits = measure(lambda number: play_session(assets, number), count, rounds)
    yield f"node visits          {visits:10,.0f} per second"
    yield f"whole sessions       {visits / NODES:10,.0f} per second ({NODES} nodes, {len(ANSWERS)} answers)"
    starts = measure(lambda number: len(begin_session(assets, number).runs), count * 2, rounds)
    yield f"starts               {starts * 60:10,.0f} per minute (to the first wait)"
    definition = make_flow()
    loads = measure(lambda _: len(load(definition).nodes) // NODES, max(1, count // 10), rounds)
    yield f"reading the flow     {1000 / loads:10.2f} ms"


def make_file() -> bytes:
    """An export file of many flows, whose texts all differ."""
    flows: list[dict[str, Any]] = []
    size = 0
    while size < FILE_BYTES:
        number = len(flows)
        # The variant and the next digits of a UUID tell the flows apart.
        text = json.dumps(make_flow()).replace("-4000-8000-", f"-4000-{0x8000 + number:04x}-")
        flow = json.loads(text) | {"name": f"Flow {number}"}
        for node in flow["nodes"]:
            for action in node["actions"]:
                action["text"] += f' @(if(fields.age > {number}, "a", "b")) {action["uuid"]}'
        flows.append(flow)
        size += len(json.dumps(flow))
    return orjson.dumps({"version": "13", "site": "https://example.org", "flows": flows})


def _report_check(rounds: int, former: Path | None) -> Iterator[str]:
    trees = [HERE] if former is None else [former.resolve(), HERE]
    spent: dict[Path, list[float]] = {tree: [] for tree in trees}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "flows.json"
        file.write_bytes(make_file())
        for number in range(rounds + 1):
            for tree in trees:
                seconds = _spend(tree, file, Path(folder) / "compiled")
                spent[tree] += [seconds] if number else []  # the first time compiles the modules
        for tree, each in spent.items():
            yield f"{statistics.median(each):8.2f} s of CPU  {'this version' if tree == HERE else tree}"
    if former is not None:
        ratio = statistics.median(spent[HERE]) / statistics.median(spent[trees[0]])
        yield f"{ratio:8.2f} of the former version's"


def _spend(tree: Path, file: Path, compiled: Path) -> float:
    """The CPU seconds of one check of a file, with the start of the program."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(tree), "PYTHONPYCACHEPREFIX": str(compiled)}
    before = os.times()
    command = [sys.executable, "-m", "relayboard", "flow", "check", str(file)]
    subprocess.run(command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> int:
    """Prints the figures, or with `--profile` where the time goes."""
    parser = argparse.ArgumentParser(prog="python -m bench.flow_engine", description=__doc__)
    parser.add_argument("--sessions", type=int, default=200, help="sessions per round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true", help="show the functions that take the most time instead")
    parser.add_argument("--check", action="store_true", help="measure `flow check` of a large file instead")
    parser.add_argument(
        "--former", type=Path, metavar="FOLDER", help="with --check: also by the version in this folder"
    )
    options = parser.parse_args()
    if options.profile:
        _profile(options.sessions)
        return 0
    for line in _report_check(options.rounds, options.former) if options.check else _report(options):
        print(line, flush=True)
    return 0


def _profile(count: int) -> None:
    assets = make_assets()
    play_session(assets, 0)
    profile = cProfile.Profile()
    profile.enable()
    for number in range(count):
        play_session(assets, number)
    profile.disable()
    pstats.Stats(profile).sort_stats("tottime").print_stats(PROFILED_LINES)


if __name__ == "__main__":
    raise SystemExit(main())
