"""Every filter and order of every list uses an index: no large table is scanned."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, text

from persistence.sql.columns import time_text
from tests.api import Api
from tests.contract.bodies import resource_of, type_of
from tests.contract.documents import Operation, token_operations
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.contract.references import PARAMETERS, find_forms
from tests.contract.services import Service, database_url_for_many_tests, serve

pytestmark = pytest.mark.plans
PAGE = 20
OURS, OTHERS = 800, 3_200
BIG = [
    "message",
    "message_label",
    "contact",
    "contact_urn",
    "group_membership",
    "channel_event",
    "flow_run",
    "campaign_fire",
]
LISTS = [
    operation
    for operation in token_operations()
    if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml") and operation.body["operationId"].startswith("list_")
]
FILTERS = [
    (operation, parameter["name"])
    for operation in LISTS
    for parameter in operation.parameters()
    if parameter["in"] == "query"
]
WORDS = {
    "folder": ["inbox", "flows", "archived", "outbox", "sent", "failed", "incoming"],
    "archived": ["true", "false"],
    "deleted": ["true"],
    "responded": ["true"],
    "reverse": ["true"],
    "scheduled": ["true", "false"],
    "sort": ["name", "modified_on"],
}
"""Parameters that are tried with more than the example of the contract."""

Statement = tuple[str, Any]


@dataclass
class Reader:
    """A workspace with many records beside one with more, and the queries of its last request."""

    api: Api
    filled: Filled
    seen: list[Statement] = field(default_factory=list)
    known: dict[str, list[str]] = field(default_factory=dict)
    """What was found out about a query and its values: many requests ask some of the same."""

    def queries(self, operation: Operation, **query: Any) -> list[Statement]:
        """What the first page and, when there is one, the page after it ask of the database."""
        path = f"/api/{operation.generation}{operation.path}"
        self.seen.clear()
        answer = self.api.get(path, **query)
        assert answer.status_code == 200, answer.text
        if following := answer.json().get("next"):
            self.api.follow(following)
        return [
            (statement, values) for statement, values in self.seen if statement.lstrip().startswith(("SELECT", "WITH"))
        ]

    def values(self, operation: Operation, name: str) -> list[Any]:
        """Values of a parameter that mean something here."""
        parameter = next(part for part in operation.parameters() if part["name"] == name)
        if name in ("before", "after", "modified_after"):
            return [time_text(self.filled.now - timedelta(seconds=OURS // 2))]
        if name in ("cursor", "page", "page_size", "fields"):
            return []  # none of them chooses an index
        kind = type_of(operation.root, parameter["schema"])
        forms = find_forms(PARAMETERS, operation.generation, resource_of(operation), name, kind)
        return [form.own(self.filled) for form in forms] or WORDS.get(name, [parameter.get("example")])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def reader(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("plans")
    with (
        database_url_for_many_tests(request.param, request, folder) as url,
        serve(url, folder, PAGE, check_responses=False) as service,
    ):
        ours, others = service.new_workspace(), service.new_workspace()
        filled = fill_workspace(service.database, ours, 3, larger=many(OURS))
        fill_workspace(service.database, others, 3, larger=many(OTHERS))
        with service.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("ANALYZE"))
        made = Reader(service.api(ours), filled)
        watch(service, made.seen)
        yield made


def many(count: int) -> dict[str, int]:
    """How many rows the tables get that grow with the work; a broadcast has eight messages."""
    return dict.fromkeys([*BIG, "flow_session"], count) | {"broadcast": count // 8}


def watch(service: Service, seen: list[Statement]) -> None:
    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_rest: Any) -> None:
        seen.append((statement, values))

    event.listen(service.database.engine, "before_cursor_execute", note)


def full_scans(reader: Reader, statement: Statement) -> list[str]:
    """The steps of a query's plan that read a big table from end to end."""
    if (asked := repr(statement)) not in reader.known:
        reader.known[asked] = explain(reader, statement)
    return reader.known[asked]


def explain(reader: Reader, statement: Statement) -> list[str]:
    database = reader.api.database
    with database.engine.connect() as connection:
        if database.engine.dialect.name == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement[0]}", statement[1]).all()
            steps = [str(row[-1]) for row in rows]
            return [step for step in steps if re.match(rf"SCAN ({'|'.join(BIG)})\b", step)]
        # Tables of tests are so small that reading all of them would be cheap on turning disks.
        connection.exec_driver_sql("SET random_page_cost = 1.1")
        plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement[0]}", statement[1]).scalar_one()
    nodes = list(plan_nodes((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"]))
    scans = [f"{node['Node Type']} on {node['Relation Name']}" for node in nodes if node["Node Type"] == "Seq Scan"]
    return [scan for scan in scans if scan.rsplit(" ", 1)[1] in BIG]


def plan_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for inner in node.get("Plans", ()):
        yield from plan_nodes(inner)


@pytest.mark.together
@pytest.mark.parametrize("operation", LISTS, ids=str)
def test_a_list_is_read_by_an_index(reader: Reader, operation: Operation) -> None:
    queries = reader.queries(operation)

    assert {query[0]: scans for query in queries if (scans := full_scans(reader, query))} == {}
    # PostgreSQL would join what stands in brackets for all rows of the workspace, if it is long.
    assert [text for text, _ in queries if re.search(r"picked JOIN \((?!SELECT)", text)] == []


@pytest.mark.together
@pytest.mark.parametrize(("operation", "name"), FILTERS, ids=str)
def test_a_filter_is_found_by_an_index(reader: Reader, operation: Operation, name: str) -> None:
    for value in reader.values(operation, name):
        beside = {other: reader.values(operation, other)[0] for other in operation.needs(name)}
        queries = reader.queries(operation, **{name: value}, **beside)

        assert {query[0]: scans for query in queries if (scans := full_scans(reader, query))} == {}, value


def test_a_full_scan_would_be_seen(reader: Reader) -> None:
    assert len(full_scans(reader, ("SELECT * FROM message WHERE text = 'x'", ()))) == 1
