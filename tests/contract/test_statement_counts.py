"""A list takes as many SQL statements for 60 records as for one, in both generations."""

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import event, func, insert, select

from handlers.token_notes import THREAD as TOKEN_NOTES
from persistence.changes import change_messages
from persistence.messages.outgoing import Draft, create_outgoing
from persistence.tables.channels import webchat_visitor
from persistence.tables.messages import WIRED
from persistence.tables.service import boundary
from tests.api import Api
from tests.contract.documents import PAIRS, Operation, token_operations
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import database_url_for_many_tests, serve

RECORDS = 60
PAGE_SIZE = RECORDS + 10
CHAT: dict[str, Any] = {
    "type": "webchat",
    "name": "Help desk",
    "address": "help",
    "scheme": "webchat",
    "settings": {"origins": "https://www.example.org"},
}
FRAME = ("BEGIN", "COMMIT", "PRAGMA", "PREPARE", "DEALLOCATE", "SET ")
"""A page that is not full: generation 1 counts the records of a full page by one more statement, however many."""
LISTS = [
    operation
    for operation in token_operations()
    if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml") and operation.body["operationId"].startswith("list_")
]


@dataclass
class Lists:
    """A workspace with one record of each kind, one with a whole page, and the statements that ran."""

    small: Api
    large: Api
    statements: list[str]

    def read(self, api: Api, operation: Operation) -> tuple[int, int]:
        """Number of records and of statements of the first page, read for the second time."""
        path = f"/api/{operation.generation}{operation.path}"
        api.results(path)
        self.statements.clear()
        return len(api.results(path)), len(self.statements)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lists(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lists]:
    folder = tmp_path_factory.mktemp("counts")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder, PAGE_SIZE) as service:
        small, large = service.new_workspace(), service.new_workspace()
        fill_workspace(service.database, small, 1)
        fill_workspace(service.database, large, RECORDS)
        made = Lists(service.api(small), service.api(large), [])

        def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            # Once in a while tokens are looked up and allowances taken, in transactions of their own.
            is_beside = threading.current_thread().name == TOKEN_NOTES
            is_own = not statement.startswith(FRAME) and not re.search("api_token|rate_window", statement)
            if is_own and not is_beside:
                made.statements.append(statement)

        event.listen(service.database.engine, "before_cursor_execute", note)
        yield made


@pytest.mark.together
@pytest.mark.parametrize("operation", [one for one in LISTS if one.path not in ("/boundaries.json", PAIRS)], ids=str)
def test_a_whole_page_takes_as_many_statements_as_one_record(lists: Lists, operation: Operation) -> None:
    few, statements_for_few = lists.read(lists.small, operation)

    many, statements = lists.read(lists.large, operation)

    assert 1 <= few < 5
    assert RECORDS <= many <= PAGE_SIZE
    assert statements == statements_for_few, "\n".join(lists.statements)


@pytest.mark.together
@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_a_whole_page_of_boundaries_takes_as_many_statements_as_one(lists: Lists, generation: str) -> None:
    operation = next(one for one in LISTS if (one.generation, one.path) == (generation, "/boundaries.json"))
    with lists.large.database.writing() as tx:
        tx.execute(boundary.delete())
        add_boundaries(tx, 1)
    few, statements_for_few = lists.read(lists.large, operation)
    with lists.large.database.writing() as tx:
        add_boundaries(tx, RECORDS - 1)

    many, statements = lists.read(lists.large, operation)

    assert (few, many) == (1, RECORDS)
    assert statements == statements_for_few, "\n".join(lists.statements)


def test_a_visitor_of_a_site_takes_as_many_statements_for_many_messages_as_for_one(lists: Lists) -> None:
    chat = lists.small.post("/api/v2/channel_settings.json", CHAT).json()["uuid"]

    count_visit(lists, chat, 1)  # The first one of a workspace meets what no other one does.

    few, many = count_visit(lists, chat, 1), count_visit(lists, chat, 40)

    assert {name: len(sent) for name, sent in few.items()} == {name: len(sent) for name, sent in many.items()}, many


def count_visit(lists: Lists, chat: str, size: int) -> dict[str, list[str]]:
    """The statements of each request of a visitor to whom so many messages were sent."""
    api, headers = lists.small, {"Origin": CHAT["settings"]["origins"]}
    found: dict[str, list[str]] = {}

    def call(method: str, path: str, body: Any = None) -> Any:
        lists.statements.clear()
        answer = api.client.request(method, f"/chat/{chat}/{path}", headers=headers, json=body)
        assert answer.status_code < 300, answer.text
        found[f"{method} {path.partition('=')[0]}"] = list(lists.statements)
        return answer.json() if answer.content else None

    headers["Authorization"] = f"Bearer {call('POST', 'visits', {'name': 'Amina'})['token']}"
    position = call("GET", "messages")["position"]
    with api.database.writing() as tx:
        contact_id = tx.execute(select(func.max(webchat_visitor.c.contact_id))).scalar_one()
        drafts = [Draft(contact_id, f"Answer {number}") for number in range(size)]
        change_messages(tx, api.workspace.id, create_outgoing(tx, api.workspace.id, drafts), {"status": WIRED})
    call("GET", "settings")
    shown = [each["id"] for each in call("GET", "messages")["results"]]
    assert len(call("GET", f"messages?position={position}")["results"]) == len(shown) == size
    call("POST", "messages", {"key": "k1", "text": "Hello"})
    call("POST", "acknowledgements", {"delivered": shown, "read": shown})
    return found


def add_boundaries(tx: Any, count: int) -> None:
    rows = [
        {"osm_id": f"R{count}{number}", "name": f"State {number}", "level": 1, "country": "RW"}
        for number in range(count)
    ]
    tx.execute(insert(boundary), rows)
