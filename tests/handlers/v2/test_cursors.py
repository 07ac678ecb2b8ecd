"""Cursors of the lists of generation 2, and URLs that look like those of lists."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.testclient import TestClient

from persistence.database import Database
from persistence.tables.contacts import group
from persistence.tables.messages import label
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact, make_messages, make_named

GROUPS, LABELS, MESSAGES = "/api/v2/groups.json", "/api/v2/labels.json", "/api/v2/messages.json"


@pytest.fixture
def paged(api: Api, make_client: Callable[..., Any], database: Database, workspace: Workspace) -> Any:
    """The same workspace with two records on a page."""
    make_named(database, workspace, group, ["A", "B", "C"])
    make_named(database, workspace, label, ["A", "B", "C"])
    make_messages(database, workspace, make_contact(database, workspace), 3)
    with make_client(page_size=2) as client:
        yield Api(client, database, workspace, api.token)


def cursor_of(api: Api, path: str, **query: Any) -> str:
    following: str = api.get(path, **query).json()["next"]
    return parse_qs(urlsplit(following).query)["cursor"][0]


def test_a_cursor_leads_through_the_list_that_gave_it_and_no_other(paged: Api) -> None:
    cursor = cursor_of(paged, GROUPS)

    assert paged.get(GROUPS, cursor=cursor).status_code == 200
    assert paged.get(LABELS, cursor=cursor).status_code == 404


def test_a_list_in_another_order_does_not_know_the_cursor(paged: Api) -> None:
    assert paged.get(MESSAGES, folder="sent", cursor=cursor_of(paged, MESSAGES)).status_code == 404


def test_a_cursor_of_any_length_is_not_found(api: Api) -> None:
    for length in (512, 513, 1000, 1001, 5000):
        response = api.get(GROUPS, cursor="a" * length)

        assert (response.status_code, response.json()) == (404, {"detail": "This cursor is not valid."})


@pytest.mark.together
@pytest.mark.parametrize(
    "path",
    [
        *("/api/v2/groups.json/", "/api/v1/groups.json/", "/api/v2/groups", "/api/v3", "/api/"),
        *("/relayers/relayer/register//", "/relayers/relayer/sync/1//", "/c/ex//"),
        *("/relayers/relayer", "/relayers/relayer/", "/relayers", "/api/v2/stream/"),
    ],
)
def test_a_path_without_its_final_json_or_with_a_slash_more_or_less_leads_nowhere(http: TestClient, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        response = http.request(method, path, follow_redirects=False)

        assert response.status_code == 404
        assert response.json() == {"detail": "There is nothing at this URL."}
