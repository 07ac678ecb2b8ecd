"""A record of another workspace is answered for like one that does not exist, whatever names it, and stays as it is.

The cases come from the contract: each operation, each parameter and body field that names a record, each form.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import ForeignKey, Row, Table, select
from starlette.testclient import TestClient

from handlers.app import create_app
from persistence.database import Database
from persistence.users import membership
from persistence.workspaces import create_workspace
from relayboard.settings import load_settings
from tests.api import SECRET_KEY, Api, make_token
from tests.contract.bodies import Case, Request, all_cases
from tests.contract.documents import Operation, all_operations
from tests.contract.filled_workspace import SHARED, TEMPORARY, Filled, fill_workspace, present_tables
from tests.contract.references import PARAMETERS, find_forms
from tests.servers import postgres_database

SERVED = [operation for operation in all_operations() if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml")]
CASES = list(all_cases(SERVED))
PAGED = [operation for operation in SERVED if "cursor" in {parameter["name"] for parameter in operation.parameters()}]

SAME_FOR_ALL = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "<time>"),
    (re.compile(r"w\d+r\d+"), "<name>"),
    (re.compile(r"\+?2507\d{8}"), "<number>"),
    (re.compile(r"[a-z<>]+@[a-z0-9<>.]+"), "<email>"),
    (re.compile(r"(?<![\w.])\d+(?![\w.])"), "<int>"),
]
"""What may differ between two answers that say the same."""

Answer = tuple[int, str]


class Side:
    """A filled workspace, and requests of its administrator."""

    def __init__(self, client: TestClient, database: Database, name: str, *, only_reads: bool) -> None:
        with database.writing() as tx:
            workspace = create_workspace(tx, name, country="RW", timezone="Africa/Kigali", languages=("eng",))
        self.api = Api(client, database, workspace, make_token(database, workspace, "administrator"))
        self.filled: Filled = fill_workspace(database, workspace)
        self.tables = [] if only_reads else present_tables(database)

    def ask(self, case: Case, reference: str | int) -> Answer:
        return said(send(self.api, case.operation, case.request(self.filled, reference)))

    def rows(self) -> dict[str, list[Row[Any]]]:
        """All rows of this workspace that requests may change."""
        with self.api.database.reading() as tx:
            return {
                table.name: list(tx.execute(select(table).where(owned(table, self.filled.workspace.id))).all())
                for table in self.tables
                if table.name not in SHARED | TEMPORARY
            }


def owned(table: Table, workspace_id: int) -> Any:
    """The condition on rows of one workspace, also for tables that only refer to rows of it."""
    if "workspace_id" in table.c:
        return table.c.workspace_id == workspace_id
    if table.name == "app_user":
        return table.c.id.in_(select(membership.c.user_id).where(membership.c.workspace_id == workspace_id))
    key: ForeignKey = next(key for column in table.c for key in column.foreign_keys)
    parent = key.column.table
    assert isinstance(parent, Table)
    return key.parent.in_(select(key.column).where(owned(parent, workspace_id)))


def send(api: Api, operation: Operation, request: Request) -> httpx.Response:
    path = f"/api/{operation.generation}{operation.path}"
    if operation.method == "get":
        return api.get(path, **request.query)
    if operation.method == "delete":
        return api.delete(path, **request.query)
    return api.post(path, request.body, **request.query)


def said(response: httpx.Response) -> Answer:
    """Status and body, without what differs from record to record."""
    assert response.status_code < 500, response.text
    text = json.dumps(response.json(), sort_keys=True) if response.content else ""
    for pattern, word in SAME_FOR_ALL:
        text = pattern.sub(word, text)
    return response.status_code, text


def changed(before: dict[str, list[Row[Any]]], after: dict[str, list[Row[Any]]]) -> dict[str, int]:
    """The tables whose rows are not the same any more, with the number of rows won or lost."""
    return {name: len(after[name]) - len(rows) for name, rows in before.items() if sorted(after[name]) != sorted(rows)}


@dataclass
class Service:
    """One service for all cases; what only reads shares two workspaces, what writes brings its own."""

    client: TestClient
    database: Database
    readers: tuple[Side, Side] | None = None

    def sides(self, method: str) -> tuple[Side, Side]:
        """Two workspaces that know nothing of each other."""
        if method != "get":
            return self.new_side("Riverside Health"), self.new_side("Hilltop Schools")
        if self.readers is None:
            self.readers = self.new_side("Readers", only_reads=True), self.new_side("Writers", only_reads=True)
        return self.readers

    def new_side(self, name: str, *, only_reads: bool = False) -> Side:
        return Side(self.client, self.database, name, only_reads=only_reads)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("walls")
    if request.param == "sqlite":
        path = folder / "relayboard.db"
        path.write_bytes(request.getfixturevalue("sqlite_template").read_bytes())
        yield from serve(f"sqlite:///{path}", folder)
        return
    template = request.getfixturevalue("postgres_template")
    with postgres_database(request.getfixturevalue("postgres_url"), template) as url:
        yield from serve(url, folder)


def serve(url: str, folder: Path) -> Iterator[Service]:
    environment = {
        "RELAYBOARD_DATABASE_URL": url,
        "RELAYBOARD_QUEUE_URL": f"sqlite:///{folder / 'queue.db'}",
        "RELAYBOARD_SECRET_KEY": SECRET_KEY,
        "RELAYBOARD_MEDIA_URL": f"file://{folder / 'media'}",
        "RELAYBOARD_RATE_LIMIT": "1000000/hour",
    }
    database = Database(url)
    app: Any = create_app(replace(load_settings(environment), page_size=1), database=database, check_responses=True)
    with TestClient(app, base_url="http://testserver") as client:
        yield Service(client, database)
    database.close()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_foreign_record_does_not_exist(service: Service, case: Case) -> None:
    ours, theirs = service.sides(case.operation.method)
    reference = case.form.own(theirs.filled)
    untouched = theirs.rows()
    unknown = ours.ask(case, case.form.unknown)
    before = ours.rows()

    foreign = ours.ask(case, reference)

    effect = foreign, changed(before, ours.rows())
    assert foreign == unknown
    assert changed(untouched, theirs.rows()) == {}
    # Their own request with the same reference does more, so the case is one where a hole would be seen.
    if preparation := case.preparation():
        theirs.ask(preparation, reference)
        untouched = theirs.rows()
    assert (theirs.ask(case, reference), changed(untouched, theirs.rows())) != effect


@pytest.mark.parametrize("operation", PAGED, ids=str)
def test_a_foreign_cursor_leads_to_no_foreign_record(service: Service, operation: Operation) -> None:
    ours, theirs = service.sides("get")
    path = f"/api/{operation.generation}{operation.path}"
    following = theirs.api.get(path).json()["next"]
    shared = operation.path == "/boundaries.json"
    assert shared or following, f"{operation}: a filled workspace has two records"
    cursor = parse_qs(urlsplit(following or "").query).get("cursor", [""])[0]

    found = ours.api.get(path, cursor=cursor)

    mine = {json.dumps(record, sort_keys=True) for record in ours.api.all_results(path)}
    assert {json.dumps(record, sort_keys=True) for record in found.json()["results"]} <= mine


def test_a_foreign_idempotency_key_is_a_new_one(service: Service) -> None:
    ours, theirs = service.sides("post")
    path, headers = "/api/v2/labels.json", {"Idempotency-Key": "one-and-the-same"}
    first = theirs.api.post(path, {"name": "Complaint"}, headers=headers)

    second = ours.api.post(path, {"name": "Complaint"}, headers=headers)

    assert (first.status_code, second.status_code) == (201, 201)
    assert "Idempotency-Replayed" not in second.headers
    assert second.json()["uuid"] != first.json()["uuid"]


def test_a_parameter_without_a_rule_is_named() -> None:
    with pytest.raises(AssertionError, match="does 'planet' name a record"):
        find_forms(PARAMETERS, "v2", "contacts", "planet", "string")
