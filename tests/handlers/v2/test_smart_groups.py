"""Smart groups made and changed through `/api/v2/groups.json`."""

from typing import Any

import pytest

from persistence.database import Database
from persistence.groups.smart_groups import evaluate_some, lease_group
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.factories import make_contact

PATH = "/api/v2/groups.json"


def find_members(database: Database, workspace: Workspace) -> None:
    """What the worker's job does."""
    with database.writing() as tx:
        leased = lease_group(tx, workspace.id)
    while leased is not None:
        leased = evaluate_some(database, leased)


@pytest.fixture
def people(database: Database, workspace: Workspace) -> None:
    for name in ("Amina", "Bosco", "Bosco"):
        make_contact(database, workspace, name=name)


def shown(record: dict[str, Any]) -> tuple[Any, ...]:
    return record["name"], record["query"], record["status"], record["count"]


def test_a_query_makes_a_smart_group_and_another_one_finds_others(
    api: Api, database: Database, workspace: Workspace, people: None
) -> None:
    made = api.post(PATH, {"name": "Ours", "query": "name ~ amina"})
    find_members(database, workspace)
    first = api.results(PATH, uuid=made.json()["uuid"])[0]
    changed = api.post(PATH, {"name": "Theirs", "query": "name ~ bosco"}, uuid=first["uuid"])
    find_members(database, workspace)
    second = api.results(PATH, uuid=first["uuid"])[0]

    assert (made.status_code, changed.status_code) == (201, 200)
    assert shown(made.json()) == ("Ours", 'name ~ "amina"', "initializing", 0)
    assert shown(first) == ("Ours", 'name ~ "amina"', "ready", 1)
    assert shown(changed.json()) == ("Theirs", 'name ~ "bosco"', "initializing", 1)
    assert shown(second) == ("Theirs", 'name ~ "bosco"', "ready", 2)


def test_a_name_alone_and_the_same_query_find_nobody_anew(
    api: Api, database: Database, workspace: Workspace, people: None
) -> None:
    uuid = api.post(PATH, {"name": "Ours", "query": "name ~ amina"}).json()["uuid"]
    find_members(database, workspace)

    renamed = api.post(PATH, {"name": "Hers"}, uuid=uuid).json()
    same = api.post(PATH, {"name": "Hers", "query": "name~amina"}, uuid=uuid).json()

    assert shown(renamed) == shown(same) == ("Hers", 'name ~ "amina"', "ready", 1)


OURS = {"name": "Ours", "query": "name ~ amina"}


@pytest.mark.together
@pytest.mark.parametrize("query", ["age >", "unknown = 1", 'group = "Ours"', "status = active", "", 7])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_bad_query_changes_nothing(api: Api, query: object, is_new: bool) -> None:
    ours = {} if is_new else (api.results(PATH, name="Ours") or [api.post(PATH, OURS).json()])[0]
    known = {} if is_new else {"uuid": ours["uuid"]}
    before = api.results(PATH)

    refused = api.post(PATH, {"name": "Others", "query": query}, **known)

    assert (refused.status_code, list(refused.json())) == (400, ["query"])
    assert api.results(PATH) == before


@pytest.mark.parametrize(("first", "then"), [(None, "name ~ amina"), ("name ~ amina", None)])
def test_a_group_keeps_its_kind(api: Api, first: str | None, then: str | None) -> None:
    made = api.post(PATH, {"name": "Ours", "query": first}).json()

    refused = api.post(PATH, {"name": "Ours", "query": then}, uuid=made["uuid"])

    assert (refused.status_code, list(refused.json())) == (400, ["query"])
    assert api.results(PATH, uuid=made["uuid"]) == [made]


def test_the_group_of_the_system_keeps_its_query(api: Api) -> None:
    (tickets,) = api.results(PATH)

    assert api.post(PATH, {"name": "Mine", "query": "tickets > 5"}, uuid=tickets["uuid"]).status_code == 403
    assert api.results(PATH) == [tickets]
