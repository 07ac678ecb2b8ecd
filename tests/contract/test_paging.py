"""Following `next` through a list finds every record once, also while records are created."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from persistence.database import Database
from tests.api import Api
from tests.contract.documents import PAIRS, Operation, token_operations
from tests.contract.filled_workspace import fill_workspace
from tests.contract.services import database_url_for_many_tests, serve

PAGE = 37
COUNT = 40
LARGER = {"message": 120, "channel_event": 120}
LISTS = [
    operation
    for operation in token_operations()
    if operation.root == "v2/openapi.yaml"
    and "cursor" in {parameter["name"] for parameter in operation.parameters()}
    and operation.path not in ("/boundaries.json", PAIRS)
    and not operation.reads_one
]
NUMBERED = [
    operation
    for operation in token_operations()
    if operation.root == "v1/openapi.yaml"
    and "page" in {parameter["name"] for parameter in operation.parameters()}
    and operation.path != "/boundaries.json"
]
REVERSIBLE = [one for one in LISTS if "reverse" in {parameter["name"] for parameter in one.parameters()}]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def crowd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """A workspace with many records, all of one moment."""
    folder = tmp_path_factory.mktemp("paging")
    with (
        database_url_for_many_tests(request.param, request, folder) as url,
        serve(url, folder, PAGE, check_responses=False) as service,
    ):
        workspace = service.new_workspace()
        fill_workspace(service.database, workspace, COUNT, LARGER, now=service.database.clock())
        yield service.api(workspace)


def walk(api: Api, operation: Operation, **query: Any) -> Iterator[list[str]]:
    """The identities of the records of page after page."""
    page = api.get(f"/api/v2{operation.path}", **query).json()
    while True:
        yield [identity(record) for record in page["results"]]
        if page["next"] is None:
            return
        page = api.follow(page["next"]).json()


def identity(record: dict[str, Any]) -> str:
    for name in ("receiver", "uuid", "id", "key", "start_date", "name"):
        if name in record:
            return str(record[name])
    if "user" in record:
        return f"{(record['contact'] or record['flow'])['uuid']} {record['user']['email']}"
    return str(record.get("resthook")) + str(record.get("created_on"))


@pytest.mark.together
@pytest.mark.parametrize("operation", [one for one in LISTS if one.path != "/resthook_events.json"], ids=str)
def test_every_record_of_one_moment_is_found_once(crowd: Api, operation: Operation) -> None:
    pages = list(walk(crowd, operation))

    found = [one for page in pages for one in page]
    assert len(found) == len(set(found)) >= COUNT
    assert [len(page) for page in pages[:-1]] == [PAGE] * (len(pages) - 1)
    first = crowd.get(f"/api/v2{operation.path}").json()
    assert first["previous"] is None
    assert crowd.follow(crowd.follow(first["next"]).json()["previous"]).json()["results"] == first["results"]


@pytest.mark.together
@pytest.mark.parametrize("operation", LISTS, ids=str)
def test_pages_have_the_size_that_is_asked_for_and_cursors_are_good_for_any(crowd: Api, operation: Operation) -> None:
    path = f"/api/v2{operation.path}"
    whole = crowd.all_results(path)

    few = crowd.get(path, page_size=3).json()
    cursor = dict(parse_qsl(urlsplit(few["next"]).query))["cursor"]
    rest = crowd.get(path, cursor=cursor, page_size=250).json()

    assert "page_size=3" in few["next"] and "count" not in few
    assert few["results"] + rest["results"] == whole[: 3 + 250]
    assert crowd.get(path, count="true", page_size=1).json()["count"] == {"value": len(whole), "is_exact": True}


# What is left out is left out after it was read.
@pytest.mark.together
@pytest.mark.parametrize("crowd", ["sqlite"], indirect=True)
@pytest.mark.parametrize("operation", LISTS, ids=str)
def test_of_each_record_a_client_gets_the_members_that_it_names(crowd: Api, operation: Operation) -> None:
    path = f"/api/v2{operation.path}"
    whole = crowd.results(path, page_size=9)
    names = list(whole[0])

    for some in (names[::2], names[1::2]):
        found = crowd.results(path, page_size=9, fields=",".join(some))
        assert found == [{name: record[name] for name in names if name in some} for record in whole]
    refused = crowd.get(path, fields=f"{names[0]},nonsense,other")
    assert (refused.status_code, "there is no nonsense, other;" in refused.json()["detail"]) == (400, True)


@pytest.mark.together
@pytest.mark.parametrize("operation", NUMBERED, ids=str)
def test_numbered_pages_hold_every_record_once_and_say_how_many_there_are(crowd: Api, operation: Operation) -> None:
    path = f"/api/v1{operation.path}"
    first = crowd.get(path).json()
    whole = crowd.all_results(path)
    last = -(-len(whole) // PAGE)

    assert len(whole) == len({json.dumps(each, sort_keys=True) for each in whole}) == first["count"] >= COUNT
    assert (first["results"], first["previous"]) == (whole[:PAGE], None)
    assert crowd.results(path, page=last) == whole[(last - 1) * PAGE :]
    assert crowd.follow(crowd.get(path, page=2).json()["previous"]).json() == first
    assert crowd.get(path, page=last + 1).status_code == 404


@pytest.mark.together
@pytest.mark.parametrize("operation", REVERSIBLE, ids=str)
def test_a_reversed_list_is_the_list_from_its_other_end(crowd: Api, operation: Operation) -> None:
    forward = [one for page in walk(crowd, operation) for one in page]

    backward = [one for page in walk(crowd, operation, reverse="true") for one in page]

    assert backward == forward[::-1]


def test_what_is_made_between_two_pages_neither_hides_nor_repeats_a_record(crowd: Api) -> None:
    before = [{one for page in walk(crowd, operation) for one in page} for operation in LISTS]
    walks = [walk(crowd, operation) for operation in LISTS]
    first_pages = [next(pages) for pages in walks]
    fill_again(crowd.database, crowd)

    for operation, known, first, pages in zip(LISTS, before, first_pages, walks, strict=True):
        found = [*first, *(one for page in pages for one in page)]
        assert known <= set(found), operation
        assert len(found) == len(set(found)) or operation.path == "/resthook_events.json", operation


def fill_again(database: Database, api: Api) -> None:
    """Two more records of each kind, newer than all others."""
    fill_workspace(database, api.workspace, 2, first=COUNT + 1, now=database.clock())
