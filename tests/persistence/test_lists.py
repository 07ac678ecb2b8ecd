"""What a create request answers is what the list shows, though nobody has read it again."""

from collections.abc import Callable
from typing import Any

import pytest

from persistence.database import Database
from persistence.workspaces.writes import create_workspace
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


@pytest.fixture(params=[False, True], ids=["open", "anonymous"])
def own_api(request: pytest.FixtureRequest, api: Api, database: Database) -> Api:
    if not request.param:
        return api
    with database.writing() as tx:
        workspace = create_workspace(tx, "Private", country="RW", is_anonymous=True)
    return Api(api.client, database, workspace, make_token(database, workspace, "editor"))


@pytest.mark.together
@pytest.mark.parametrize("path", KINDS)
def test_the_answer_is_what_the_list_shows(own_api: Api, path: str, clock: Any) -> None:
    made = []
    for number in range(USES):
        response = own_api.post(path, KINDS[path](f"Élan {[*KINDS].index(path)} {number}"))
        assert response.status_code == 201, response.text
        made.append(response.json())
        clock.advance(hours=-1)

    shown = [each for each in own_api.results(path) if each in made]

    assert len(shown) == USES
