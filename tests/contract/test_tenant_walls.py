"""For a record of another workspace the response is the same as for one that does not exist, and the record is not
changed. The cases come from the contract: each operation, each parameter and body field that refers to a record, each
form.
"""

import functools
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from sqlalchemy import BindParameter, ForeignKey, Table, bindparam, select, update
from sqlalchemy.engine import Dialect
from sqlalchemy.sql.compiler import SQLCompiler

from persistence.relayers.relayers import random_code
from persistence.sql.columns import new_uuid
from persistence.tables.accounts import membership, token
from persistence.tables.channels import channel
from tests.api import Api
from tests.contract.bodies import Case, Request, all_cases
from tests.contract.documents import PAIRS, Operation, token_operations
from tests.contract.filled_workspace import SHARED, TEMPORARY, Filled, fill_workspace, present_tables
from tests.contract.references import PARAMETERS, find_forms
from tests.contract.services import Service, database_url_for_many_tests, serve
from tests.thinned import EVERY_CASE

SERVED = [operation for operation in token_operations() if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml")]
CASES = list(all_cases(SERVED))
PAGED = [
    operation
    for operation in SERVED
    if "cursor" in {parameter["name"] for parameter in operation.parameters()}
    and not operation.reads_one
    and operation.path != PAIRS
]

LISTS = [
    operation
    for operation in SERVED
    if operation.body["operationId"].startswith("list_")
    and operation.path not in (PAIRS, "/boundaries.json", "/archives.json")
    and not operation.reads_one
]

SAME_FOR_ALL = [
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "<time>"),
    (re.compile(r"w\d+r\d+"), "<name>"),
    (re.compile(r"\+?2507\d{8}"), "<number>"),
    (re.compile(r"[a-z<>]+@[a-z0-9<>.]+"), "<email>"),
    (re.compile(r"(?<![\w.])\d+(?![\w.])"), "<int>"),
]
"""What may differ between two answers that say the same."""

SINGLE = {
    *("/org.json", "/workspace.json", "/definitions.json", "/contact_query_words.json", "/workspace_figures.json"),
    *("/account.json", "/calendar.json", "/stream", "/delivery_ledger.json", "/channel_types.json"),
    *("/trigger_matches.json", "/webhook_event_types.json", "/figures.json"),
    "/usages.json",
}
"""Paths that answer with one record, or with what is the same for all."""

Answer = tuple[int, str]
Rows = dict[str, list[tuple[Any, ...]]]
"""By table."""


class Side:
    """A filled workspace, and requests of its administrator."""

    def __init__(self, service: Service, *, only_reads: bool = False) -> None:
        workspace = service.new_workspace()
        self.api = service.api(workspace)
        # Otherwise the use of a token would be noted beside the requests, at any moment.
        mine, to_come = token.c.workspace_id == workspace.id, timedelta(days=1)
        self.api.database.write(lambda tx: tx.execute(update(token).where(mine).values(last_used_on=tx.now + to_come)))
        self.filled: Filled = fill_workspace(service.database, workspace)
        tables = [] if only_reads else present_tables(service.database)
        self._read, self._rows, self._first = -1, Rows(), Rows()
        self._readings = {
            table.name: reading(table, service.database.engine.dialect, workspace.id)
            for table in tables
            if table.name not in SHARED | TEMPORARY
        }

    def ask(self, case: Case, reference: str | int) -> Answer:
        return said(send(self.api, case.operation, case.request(self.filled, reference)))

    @functools.cached_property
    def _reader(self) -> sqlite3.Connection:
        """Over which nobody writes, so that it sees whether others have written."""
        return sqlite3.connect(str(self.api.database.engine.url.database))

    def rows(self) -> Rows:
        """All rows of this workspace that requests may change, in a file of SQLite; not read again before a write."""
        if self._read != (version := self._version()):
            readings = self._readings.items()
            self._rows = {name: self._reader.execute(*asked).fetchall() for name, asked in readings}
            self._read = version
        return self._rows

    def begin_again(self) -> None:
        """The file is as it was at the beginning."""
        self._first = self._first or self.rows()
        self._rows, self._read = self._first, self._version()

    def _version(self) -> int:
        (version,) = self._reader.execute("PRAGMA data_version").fetchone()
        return int(version)


def reading(table: Table, dialect: Dialect, workspace_id: int) -> tuple[str, Any]:
    """The statement that reads the rows of a workspace, and its parameters."""
    compiled = compiled_reading(table, dialect)
    named = {"mine": workspace_id}
    return str(compiled), named if compiled.positiontup is None else tuple(named[each] for each in compiled.positiontup)


@functools.cache
def compiled_reading(table: Table, dialect: Dialect) -> SQLCompiler:
    compiled = select(table).where(owned(table, bindparam("mine"))).compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    return compiled


def owned(table: Table, workspace_id: BindParameter[Any]) -> Any:
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


def changed(before: Rows, after: Rows) -> dict[str, int]:
    """The tables whose rows are not the same any more, with the number of rows won or lost."""
    return {
        name: len(after[name]) - len(rows)
        for name, rows in before.items()
        if after[name] != rows and sorted(after[name]) != sorted(rows)
    }


class Sides:
    """Pairs of workspaces that know nothing of each other. What only reads shares one pair; so do writes on SQLite,
    whose whole file is put back before each: filling a pair takes longer than the requests of most cases.
    """

    def __init__(self, service: Service) -> None:
        self.service = service
        self.readers = Side(service, only_reads=True), Side(service, only_reads=True)
        self.writers: tuple[Side, Side] | None = None
        self.kept = sqlite3.connect(":memory:", check_same_thread=False)

    def of(self, method: str) -> tuple[Side, Side]:
        if method == "get":
            return self.readers
        if not self.service.database.sqlite:
            return Side(self.service), Side(self.service)
        with closing(sqlite3.connect(str(self.service.database.engine.url.database))) as file:
            if self.writers is None:
                self.writers = Side(self.service), Side(self.service)
                file.backup(self.kept)
            else:
                self.kept.backup(file)
        for side in self.writers:
            side.begin_again()
        return self.writers


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sides]:
    folder = tmp_path_factory.mktemp("walls")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder, 1) as service:
        yield Sides(service)


# The conditions are the same on both databases; lists and phones that move are tried on both.
@pytest.mark.together
@pytest.mark.parametrize("sides", ["sqlite"], indirect=True)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_foreign_record_does_not_exist(sides: Sides, case: Case) -> None:
    ours, theirs = sides.of(case.operation.method)
    reference = case.form.own(theirs.filled)
    untouched = theirs.rows()
    unknown = ours.ask(case, case.form.unknown)
    before = ours.rows()

    foreign = ours.ask(case, reference)

    effect = foreign, changed(before, ours.rows())
    assert foreign == unknown
    status, text = unknown
    makes_it = (case.operation.body["operationId"], case.name) == ("write_contact", "urn")
    assert status == 404 or case.place == "field" or case.operation.method == "get" or makes_it
    assert status != 400 or case.place == "parameter" or case.name in text
    assert changed(untouched, theirs.rows()) == {}
    # Their own request with the same reference does more, so the case is one where a hole would be seen.
    if preparation := case.preparation():
        theirs.ask(preparation, reference)
        untouched = theirs.rows()
    assert (theirs.ask(case, reference), changed(untouched, theirs.rows())) != effect


@pytest.mark.together
@pytest.mark.parametrize("operation", LISTS, ids=str)
def test_a_list_holds_nothing_of_another_workspace(sides: Sides, operation: Operation) -> None:
    ours, theirs = (
        [
            json.dumps(each, sort_keys=True)
            for each in side.api.all_results(f"/api/{operation.generation}{operation.path}")
        ]
        for side in sides.of("get")
    )
    mark = re.compile(rf"(?<!\w)w{sides.of('get')[1].api.workspace.id}r\d")

    assert ours and theirs and not set(ours) & set(theirs)
    assert not any(mark.search(each) for each in ours)


@pytest.mark.together
@pytest.mark.parametrize("sides", ["sqlite"], indirect=True)
@pytest.mark.parametrize("operation", PAGED, ids=str)
def test_a_cursor_of_another_workspace_is_none_of_ours(sides: Sides, operation: Operation) -> None:
    ours, theirs = sides.of("get")
    path = f"/api/{operation.generation}{operation.path}"
    following = theirs.api.get(path).json()["next"]
    shared = operation.path == "/boundaries.json"
    assert shared or following, f"{operation}: a filled workspace has two records"
    cursor = parse_qs(urlsplit(following or "").query).get("cursor", [""])[0]

    assert shared or theirs.api.get(path, cursor=cursor).status_code == 200
    assert shared or ours.api.get(path, cursor=cursor).status_code == 404


@pytest.mark.parametrize("returns", [False, True] if EVERY_CASE else [True])
def test_a_phone_that_moved_tells_neither_workspace_of_the_other(sides: Sides, returns: bool) -> None:
    old, new = sides.of("post")
    before = read_everything(old)
    phone = old.filled.first("channel")
    claim_elsewhere(old, phone.id, new)
    if returns:
        claim_elsewhere(new, phone.id, old, phone=phone.address, name=phone.name)
        claim_elsewhere(old, phone.id, new)

    after, theirs = read_everything(old), read_everything(new)

    assert "Taken over" in theirs["v1/relayers.json"] and "Taken over" in theirs["v2/channels.json"]
    for path, text in after.items():
        assert "Taken over" not in text and "+250780099999" not in text, path
    for path, text in theirs.items():
        assert phone.name not in text and phone.address not in text, path
    present = {"v1/relayers.json", "v2/channels.json", "v2/channel_settings.json", "v2/audit_events.json"}
    present |= {"v2/webhook_receivers.json", "v2/channel_alarms.json", "v2/deletions.json", "v2/triggers.json"}
    assert {path for path, text in after.items() if text != before[path]} == present


def claim_elsewhere(
    side: Side, channel_id: int, to: Side, phone: str = "+250780099999", name: str = "Taken over"
) -> None:
    """Let a phone of one side be claimed by the other, which gives it a name and a number of its own."""
    code = random_code(9)
    with side.api.database.writing() as tx:
        named = {"device_uuid": new_uuid(), "claim_code": code}
        tx.execute(update(channel).where(channel.c.id == channel_id).values(**named))
    body = {"claim_code": code, "phone": phone, "name": name}
    assert to.api.post("/api/v1/relayers.json", body).status_code == 201


def read_everything(side: Side) -> dict[str, str]:
    """What all lists of both generations hold, by path."""
    return {
        f"{each.generation}{each.path}": json.dumps(side.api.all_results(f"/api/{each.generation}{each.path}"))
        for each in SERVED
        if each.method == "get"
        and each.path not in SINGLE
        and not any(part.get("required") for part in each.parameters())
    }


def test_a_foreign_idempotency_key_is_a_new_one(sides: Sides) -> None:
    ours, theirs = sides.of("post")
    path, headers = "/api/v2/labels.json", {"Idempotency-Key": "one-and-the-same"}
    first = theirs.api.post(path, {"name": "Complaint"}, headers=headers)

    second = ours.api.post(path, {"name": "Complaint"}, headers=headers)

    assert (first.status_code, second.status_code) == (201, 201)
    assert "Idempotency-Replayed" not in second.headers
    assert second.json()["uuid"] != first.json()["uuid"]


def test_a_parameter_without_a_rule_is_named() -> None:
    with pytest.raises(AssertionError, match="does 'planet' name a record"):
        find_forms(PARAMETERS, "v2", "contacts", "planet", "string")
