"""`python -m bench.plans`: what every list of the API costs at one size of the data set or at several, with each filter
and each two of them. Prints the requests whose PostgreSQL time is over the limit, and those that grow too much from
one size to the next, as JSON. The time is CPU time; each request is sent several times, and the cheapest counts.
With `--often` requests are sent until PostgreSQL has prepared their statements, and those that are dearer then are
printed, too.
"""

import argparse
import itertools
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import requests
from sqlalchemy import create_engine, select, text
from sqlalchemy.engine import make_url

from bench.machine import Meter, ask
from bench.plans.data import NAME, Size, build
from handlers.contract.operations import OperationRules, handler_name, load_contract
from handlers.contract.schemas import Parameter
from openapi.bundle import bundle, operations
from persistence.database import Database, Transaction
from persistence.migrations import upgrade
from persistence.statements import PREPARED_AFTER
from persistence.tables.accounts import workspace
from persistence.tables.channels import channel
from persistence.tables.contacts import contact, contact_note, contact_urn, group, ticket, topic
from persistence.tables.deliveries import delivery
from persistence.tables.flows import flow, flow_run, flow_start
from persistence.tables.messages import broadcast, label, message
from persistence.workspaces.records import WORKSPACE_COLUMNS, workspace_from_row
from testbed.running import RunningService, running_service
from testbed.servers import postgres_server
from testbed.tokens import KEYS, make_token

LIMIT_MS = 30.0
GROWTH = 1.3
OK = 200
OFTEN = 4 * PREPARED_AFTER + 5
"""Requests after which each connection of the API process has prepared the statement."""
DEARER = 2.0
LEAST_MS = 2.0
"""Smaller times are mostly noise: a request that grows to less is not reported."""

LARGE = {
    "archives",
    "audit_events",
    "broadcasts",
    "calls",
    "channel_calls",
    "channel_events",
    "contact_notes",
    "contacts",
    "conversations",
    "deliveries",
    "flow_starts",
    "messages",
    "resthook_events",
    "runs",
    "tickets",
}
"""Resources whose lists grow with the data set; the filters of others are measured alone."""
PLACES = {"cursor", "page"}
DEEP_PAGE = 201

Values = Mapping[str, Sequence[str]]

WORDS = {"archive_type": "message", "type": "message", "period": "daily", "status": "sent", "call_type": "mt_call"}
"""Values of parameters that accept only some words."""

TIMES: Values = {
    "before": ["2025-02-01T00:00:00Z", "2025-11-01T00:00:00Z"],
    "after": ["2025-02-01T00:00:00Z", "2025-12-30T00:00:00Z"],
}
SEARCHES = ['name = "Person 7 12"', "12", "0010012", 'field_1 = "value 7"', "nobody"]
"""For a name, a part of many names, a part of few numbers, the value of a hundredth, and what nobody has."""
RECENT: Values = {"modified_after": ["2025-02-01T00:00:00Z", "2025-12-30T00:00:00Z"]}
ARCHIVED: Values = {"archive_type": ["message"], "type": ["run"], "period": ["daily", "monthly"]}
CALLS: Values = {"call": ["100"], "call_type": ["mt_call", "mo_miss", "mt_miss"], "relayer": ["1", "9"]}
OF_AUDIT: Values = {
    "resource": ["contacts", "campaigns", "labels"],
    "action": ["changed", "deleted", "none"],
    "user": ["agent7@example.org", "other@example.org"],
}
OF_CONVERSATIONS: Values = {
    "folder": ["inbox", "sent", "failed"],
    "search": SEARCHES,
    "unread": ["true"],
}
OF_DELIVERIES: Values = {"event": ["mo_sms", "mo_call", "other"], "status": ["delivered", "failed", "pending"]}
OF_TICKETS: Values = {
    "status": ["open", "closed"],
    "assignee": ["agent7@example.org", "nobody"],
    "reverse": ["true"],
}
OF_RUNS: Values = {"responded": ["true"], "paths": ["false"], "reverse": ["true"]}
OF_MESSAGES: Values = {
    "broadcast": ["1"],
    "folder": ["inbox", "flows", "archived", "outbox", "sent", "failed", "incoming"],
    "status": ["E", "F", "H", "D", "S", "Q"],
    "direction": ["I", "O"],
    "archived": ["1", "0"],
    "type": ["I", "F", "V"],
    "text": ["number"],
    "relayer": ["1", "9"],
    "channel": ["2"],
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plans", description=__doc__)
    parser.add_argument("--messages", type=int, nargs="+", default=[1_000_000], help="sizes, smallest first")
    parser.add_argument("--times", type=int, default=3, help="how often each request is sent")
    parser.add_argument("--only", default="", help="measure only requests whose text contains this")
    parser.add_argument("--alone", action="store_true", help="measure lists without their filters only")
    parser.add_argument("--often", action="store_true", help="also measure each request once its statement is prepared")
    parser.add_argument("--server", help="URL of a PostgreSQL server that keeps the data sets for the next time")
    parser.add_argument("--output", type=Path, help="file for all figures, as JSON")
    options = parser.parse_args(arguments)
    measured: dict[int, dict[str, dict[str, float]]] = {}
    with open_server(options.server) as server:
        for messages in options.messages:
            measured[messages] = measure(prepare_data(server, messages), options)
    if options.output:
        options.output.write_text(json.dumps(measured, indent=1))
    print(json.dumps(findings(measured), indent=1))
    return 0


@contextmanager
def open_server(url: str | None) -> Iterator[str]:
    if url is not None:
        yield url
        return
    with postgres_server(is_durable=True) as started:
        yield started


def prepare_data(server: str, messages: int) -> str:
    """The URL of the database with so many messages; it is made if there is none."""
    name = f"plans_{messages}"
    url = make_url(server).set(database=name).render_as_string(hide_password=False)
    with create_engine(server, isolation_level="AUTOCOMMIT").connect() as connection:
        if connection.execute(text("SELECT 1 FROM pg_database WHERE datname = :name"), {"name": name}).first():
            return url
        connection.execute(text(f"CREATE DATABASE {name}"))
    database = Database(url, keys=KEYS)
    upgrade(database.engine)
    build(database, Size(messages))
    database.close()
    return url


def measure(url: str, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Milliseconds of CPU time by request: of the API process and of PostgreSQL."""
    database = Database(url, keys=KEYS)
    with TemporaryDirectory() as folder, running_service(url, Path(folder), ("api",)) as running:
        running.wait_until_ready()
        with database.reading() as tx:
            asked = [each for each in list_requests(tx) if options.only in str(each)]
            asked = [each for each in asked if not (options.alone and each.query)]
            owner = tx.execute(select(*WORKSPACE_COLUMNS).where(workspace.c.name == NAME)).one()
        session = requests.Session()
        token = make_token(database, workspace_from_row(owner), "administrator")
        session.headers["Authorization"] = f"Token {token}"
        meter = Meter(running.processes["api"].pid, url)
        found = {}
        for number, each in enumerate(asked):
            cost = found[str(each)] = _cost(running, meter, session, each.path, options)
            if cost["postgresql"] > LIMIT_MS:
                print(f"{each}: {cost}", file=sys.stderr, flush=True)
            if number % 100 == 0:
                print(f"{number} of {len(asked)}", file=sys.stderr)
    database.close()
    return found


def findings(measured: dict[int, dict[str, dict[str, float]]]) -> dict[str, Any]:
    """The requests over the limit at each size, and those that grow, with their times in milliseconds."""
    over = {
        f"{messages:,} messages": {
            name: cost["postgresql"]
            for name, cost in sorted(costs.items(), key=lambda item: -item[1]["postgresql"])
            if cost["postgresql"] > LIMIT_MS
        }
        for messages, costs in measured.items()
    }
    sizes = sorted(measured)
    growing = {
        name: [measured[small][name]["postgresql"], cost["postgresql"]]
        for small, large in itertools.pairwise(sizes)
        for name, cost in measured[large].items()
        if name in measured[small]
        and cost["postgresql"] > LEAST_MS
        and cost["postgresql"] > GROWTH * measured[small][name]["postgresql"]
    }
    dearer = {
        f"{messages:,} messages": {
            name: [cost["postgresql"], cost["often"]]
            for name, cost in costs.items()
            # A connection that ended meanwhile takes its time along.
            if cost["postgresql"] > 0 and cost.get("often", 0) > max(LEAST_MS, DEARER * cost["postgresql"])
        }
        for messages, costs in measured.items()
    }
    refused = sorted({name for costs in measured.values() for name, cost in costs.items() if cost["status"] != 200})
    return {
        "requests": {size: len(costs) for size, costs in measured.items()},
        "over": over,
        "growing": growing,
        "dearer when prepared": dearer,
        "not answered with 200": refused,
    }


@dataclass(frozen=True, slots=True)
class ListRequest:
    generation: str
    resource: str
    query: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        shown = "&".join(f"{name}={value[:12]}" for name, value in self.query)
        return f"{self.generation} {self.resource}{'?' + shown if shown else ''}"

    @property
    def path(self) -> str:
        return f"/api/{self.generation}/{self.resource}.json?{urlencode(self.query)}"


def list_requests(tx: Transaction) -> Iterator[ListRequest]:
    """All requests; their values are read from the data set."""
    chosen = choose_values(tx)
    for generation in ("v2", "v1"):
        personal = _personal(generation)
        for rules in load_contract(generation).values():
            if rules.id.rpartition(".")[2].startswith("list_") and rules.id not in personal:
                yield from _requests_of(generation, rules, chosen)


def choose_values(tx: Transaction) -> dict[str, Values]:
    """Values by resource and parameter: records with very many, with some and with few others, and times at the
    beginning, in the middle and at the end.
    """
    contacts = [
        _uuid(tx, contact, 1),
        _uuid(
            tx, contact, tx.execute(select(contact.c.id).order_by(contact.c.id.desc()).limit(1)).scalar_one() * 3 // 4
        ),
    ]
    groups = [_named(tx, group, f"group {number}") for number in (1, 5, 13, 18)]
    flows = [_named(tx, flow, f"flow {number}") for number in (1, 2)]
    flow_ids = [str(_id(tx, flow, f"flow {number}")) for number in (1, 2)]
    urns = ["tel:" + tx.execute(select(contact_urn.c.path).where(contact_urn.c.contact_id == 1)).scalar_one()]
    runs = {"id": ["1000"], "run": ["1000"], "uuid": [_uuid(tx, flow_run, 1000)], "contact": contacts}
    of_flows = {"flow": flow_ids, "uuid": flows, "type": ["message"], "archived": ["1"], "label": ["none"]}
    channels = [_uuid(tx, channel, 1)]
    broadcasts = [_uuid(tx, broadcast, 1)]
    starts = [_uuid(tx, flow_start, 1)]
    notes = [_uuid(tx, contact_note, 1)]
    delivered = {"uuid": [_uuid(tx, delivery, 9)], "receiver": [*channels, "1"], "contact": contacts}
    tickets = {
        "uuid": [_uuid(tx, ticket, 9)],
        "contact": contacts,
        "topic": [_named(tx, topic, f"topic {number}") for number in (1, 4)],
    }
    labels = [_named(tx, label, f"label {number}") for number in (1, 3, 10)]
    of_contacts = {"uuid": contacts[1:], "urn": urns, "group": groups, "deleted": ["true"], "reverse": ["true"]}
    of_contacts["query"] = SEARCHES
    return {
        "contacts": {**of_contacts, "urns": urns, "group_uuids": groups, **TIMES},
        "messages": {**_choose_of_messages(tx, contacts, groups, urns), "flow": flow_ids, **RECENT, **TIMES},
        "runs": {**runs, "flow": flows, "flow_uuid": flows, "group_uuids": groups, **OF_RUNS, **TIMES},
        "flows": {**of_flows, **TIMES},
        "archives": {**ARCHIVED, **TIMES},
        "audit_events": {"record": contacts, **OF_AUDIT, **TIMES},
        "broadcasts": {"id": ["1"], "uuid": broadcasts, "status": ["S", "Q"], **RECENT, **TIMES},
        "calls": {**CALLS, "phone": [urns[0].removeprefix("tel:")], **TIMES},
        "channel_calls": {"channel": channels, "outcome": ["accepted", "refused", "unanswered"]},
        "channel_events": {"id": ["100"], "contact": contacts, **TIMES},
        "contact_notes": {"uuid": notes, "contact": contacts},
        "conversations": {"contact": contacts, "label": labels, **OF_CONVERSATIONS},
        "deliveries": {**delivered, **OF_DELIVERIES, **TIMES},
        "flow_starts": {"id": ["1"], "uuid": starts, "reverse": ["true"], **TIMES},
        "resthook_events": {"resthook": ["hook-1", "hook-2", "hook-3"]},
        "tickets": {**tickets, **OF_TICKETS},
    }


def _cost(
    running: RunningService, meter: Meter, session: requests.Session, path: str, options: argparse.Namespace
) -> dict[str, float]:
    def ask_once() -> tuple[float, float, int]:
        before = meter.read()
        status = ask(session, running.url + path)
        after = meter.read()
        return after[1] - before[1], after[0] - before[0], status

    costs = [ask_once() for _ in range(options.times)]
    postgres, api, status = min(costs)
    cost = {"status": status, "api": round(api, 2), "postgresql": round(postgres, 2), "first": round(costs[0][0], 2)}
    if options.often and status == OK and postgres < LIMIT_MS:
        for _ in range(OFTEN):
            ask(session, running.url + path)
        cost["often"] = round(min(ask_once()[0] for _ in range(options.times)), 2)
    return cost


def _personal(generation: str) -> set[str]:
    """Operations for which a token is not enough."""
    found = operations(bundle(generation))
    return {handler_name(generation, operation) for _, _, operation in found if operation.get("x-personal")}


def _requests_of(generation: str, rules: OperationRules, chosen: Mapping[str, Values]) -> Iterator[ListRequest]:
    resource = rules.path.rpartition("/")[2].removesuffix(".json")
    known = chosen.get(resource, {})
    yield ListRequest(generation, resource, ())
    if generation == "v1" and resource in LARGE:
        yield ListRequest(generation, resource, (("page", str(DEEP_PAGE)),))
    options = {
        name: known.get(name) or _example(parameter)
        for name, parameter in rules.parameters.items()
        if name not in PLACES
    }
    for name, values in options.items():
        for value in values:
            yield ListRequest(generation, resource, ((name, value),))
    if resource not in LARGE:
        return
    for (one, values), (other, others) in combinations(options.items(), 2):
        for value in values:
            for second in others:
                yield ListRequest(generation, resource, ((one, value), (other, second)))


def _example(parameter: Parameter) -> list[str]:
    """A value for a filter of a list that stays short: nothing need match it."""
    kinds = {
        "uuid": "6bbbf6b1-4b1c-4b0e-9bcd-6f0c59ad9d3f",
        "integer": "1",
        "boolean": "true",
        "time": "2025-07-01T00:00:00Z",
    }
    return [kinds.get(parameter.kind, "other")] if parameter.name not in WORDS else [WORDS[parameter.name]]


def _choose_of_messages(tx: Transaction, contacts: Sequence[str], groups: Sequence[str], urns: Sequence[str]) -> Values:
    middle = tx.execute(select(message.c.id).order_by(message.c.id.desc()).limit(1)).scalar_one() // 2
    labels = [_named(tx, label, f"label {number}") for number in (1, 3, 10)]
    chosen = {"id": [str(middle)], "uuid": [_uuid(tx, message, middle)], "contact": contacts}
    return {**OF_MESSAGES, **chosen, "label": [*labels, "Label 3"], "group_uuids": groups, "urn": urns, "urns": urns}


def _uuid(tx: Transaction, table: Any, record_id: int) -> str:
    found: str = tx.execute(select(table.c.uuid).where(table.c.id == record_id)).scalar_one()
    return found


def _named(tx: Transaction, table: Any, key: str) -> str:
    found: str = tx.execute(select(table.c.uuid).where(table.c.name_key == key)).scalar_one()
    return found


def _id(tx: Transaction, table: Any, key: str) -> int:
    found: int = tx.execute(select(table.c.id).where(table.c.name_key == key)).scalar_one()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
