"""What lists of contacts show while another request changes fields, between the statements that read a page."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from handlers import threads
from persistence import statements
from persistence.contacts.writes import ContactChange, change_contact
from persistence.database import Database, Transaction
from persistence.fields import change_field, create_field, delete_field
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import id_of, make_contact, make_field

CONTACTS = "/api/v2/contacts.json"
READS = {
    "v2": lambda api, _uuid: api.results(CONTACTS)[0],
    "v2, one contact": lambda api, uuid: api.results(CONTACTS, uuid=uuid)[0],
    "v1": lambda api, _uuid: api.results("/api/v1/contacts.json")[0],
}


def _create(tx: Transaction, workspace: Workspace, contact_id: int) -> None:
    create_field(tx, workspace.id, "Extra", "text")
    change_contact(tx, workspace, contact_id, ContactChange(fields={"extra": "x"}))


CHANGES: dict[str, Callable[[Transaction, Workspace, int], object]] = {
    "delete": lambda tx, workspace, _id: delete_field(tx, workspace, "village"),
    "type": lambda tx, workspace, _id: change_field(tx, workspace.id, "village", "Village", "number"),
    "create": _create,
}


@contextmanager
def once_contacts_are_read(database: Database, change: Callable[[], object]) -> Iterator[list[str]]:
    """Does something after the first statement that reads fields of contacts; that statement."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if "contact.fields" in statement and not seen:
            seen.append(statement)
            change()

    event.listen(database.engine, "after_cursor_execute", note)
    yield seen
    event.remove(database.engine, "after_cursor_execute", note)


@pytest.mark.parametrize("slow_seconds", [60, 0], ids=["quick", "slow"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("read", READS)
def test_a_page_shows_the_fields_of_the_moment_of_its_contacts(
    api: Api,
    database: Database,
    workspace: Workspace,
    monkeypatch: pytest.MonkeyPatch,
    read: str,
    change: str,
    slow_seconds: float,
) -> None:
    monkeypatch.setattr(threads, "SLOW_SECONDS", slow_seconds)  # in which lane the second read is
    monkeypatch.setattr(statements, "PREPARED_AFTER", 1000)  # so that its text is seen
    make_field(database, workspace, "Village")
    uuid = make_contact(database, workspace)
    assert api.post(CONTACTS, {"fields": {"village": "Kabuga"}}, uuid=uuid).status_code == 200
    before = READS[read](api, uuid)

    contact_id = id_of(database, uuid)

    def meet() -> None:
        database.write(lambda tx: CHANGES[change](tx, workspace, contact_id))

    with once_contacts_are_read(database, meet) as seen:
        between = READS[read](api, uuid)

    assert len(seen) == 1
    assert between == before
    after = READS[read](api, uuid)
    assert after["fields"] != before["fields"] and after["modified_on"] > before["modified_on"]
