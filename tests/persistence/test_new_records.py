"""What a create request answers is what the list shows, though nobody has read it again."""

from collections.abc import Callable
from typing import Any

import pytest

from persistence.audit.witness import BY_COMMAND, Actor, Witness
from persistence.database import Database, Transaction
from persistence.field_writes import new_field
from persistence.fields import FIELDS
from persistence.global_writes import new_global
from persistence.globals import GLOBALS
from persistence.groups.groups import new_group
from persistence.groups.v2 import GROUPS
from persistence.labels import LABELS, new_label
from persistence.lists import ListQuery, ListSpec
from persistence.new_records import NewRecord, insert_shown
from persistence.sql.together import Together
from persistence.topics import TOPICS, new_topic
from persistence.workspace_setup import create_workspace
from persistence.workspaces import Workspace
from testbed.tokens import make_token
from tests.api import Api

USES = 4
"""The first is sent as text, the later ones are prepared on PostgreSQL."""
KINDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "/api/v2/groups.json": lambda name: {"name": name},
    "/api/v2/labels.json": lambda name: {"name": name},
    "/api/v2/fields.json": lambda name: {"name": name, "type": "number", "agent_access": "edit"},
    "/api/v2/globals.json": lambda name: {"name": name, "value": f'"100 %" of\n{name}\\ %(x)s \N{WHITE SMILING FACE}'},
    "/api/v2/topics.json": lambda name: {"name": name},
    "/api/v1/labels.json": lambda name: {"name": name},
    "/api/v1/fields.json": lambda name: {"label": name, "value_type": "N"},
}
WRITES: dict[str, tuple[ListSpec, Callable[[Transaction, int, str], NewRecord]]] = {
    "groups": (GROUPS, new_group),
    "labels": (LABELS, new_label),
    "fields": (FIELDS, lambda tx, workspace_id, name: new_field(tx, workspace_id, name, "text")),
    "globals": (GLOBALS, lambda tx, workspace_id, name: new_global(tx, workspace_id, name, "112")),
    "topics": (TOPICS, new_topic),
}
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture(params=[False, True], ids=["open", "anonymous"])
def own_api(request: pytest.FixtureRequest, api: Api, database: Database) -> Api:
    if not request.param:
        return api
    with database.writing() as tx:
        workspace = create_workspace(tx, "Private", country="RW", is_anonymous=True)
    return Api(api.client, database, workspace, make_token(database, workspace, "editor"))


@pytest.mark.parametrize("path", KINDS)
def test_the_answer_is_what_the_list_shows(own_api: Api, path: str, clock: Any) -> None:
    made = []
    for number in range(USES):
        response = own_api.post(path, KINDS[path](f"Élan {number}"))
        assert response.status_code == 201, response.text
        made.append(response.json())
        clock.advance(hours=-1)

    shown = [each for each in own_api.results(path) if each in made]

    assert len(shown) == USES


@pytest.mark.own_session
@on_postgresql
@pytest.mark.parametrize("kind", WRITES)
def test_a_record_takes_three_messages_to_postgresql(
    database: Database, workspace: Workspace, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []

    def send(self: Together, cursor: Any, execute: Callable[..., None], statement: Any, parameters: Any) -> None:
        sent.append(str(statement))
        usual(self, cursor, execute, statement, parameters)

    usual = Together.send
    monkeypatch.setattr(Together, "send", send)
    spec, new = WRITES[kind]
    for number in range(USES):
        sent.clear()
        with database.writing() as tx:
            tx.witness = Witness(Actor(BY_COMMAND, command="tests"))
            insert_shown(ListQuery(tx, workspace), spec, new(tx, workspace.id, f"Name {number}"))

    assert len(sent) == 3, sent
    assert "INSERT INTO" in sent[1]
    assert sent[2] == "COMMIT"
