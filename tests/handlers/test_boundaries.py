"""`boundaries.json` of both generations over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from sqlalchemy import update
from starlette.testclient import TestClient

from persistence.boundaries import add_alias, read_features, store_boundaries
from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.boundary_files import KENYA, RWANDA, SQUARE

V1, V2 = "/api/v1/boundaries.json", "/api/v2/boundaries.json"
OUTLINE = {"type": "MultiPolygon", "coordinates": [SQUARE]}
KIGALI = {
    V1: {"boundary": "R2", "name": "Kigali", "level": 1, "parent": "R171496", "geometry": OUTLINE},
    V2: {
        "osm_id": "R2",
        "name": "Kigali",
        "parent": {"osm_id": "R171496", "name": "Rwanda"},
        "level": 1,
        "aliases": ["Umujyi", "kgl"],
        "geometry": OUTLINE,
    },
}


@pytest.fixture(autouse=True)
def _boundaries(database: Database) -> None:
    with database.writing() as tx:
        for document in (RWANDA, KENYA):
            store_boundaries(tx, read_features(document))


@pytest.mark.together
@pytest.mark.parametrize(("path", "record"), KIGALI.items())
def test_a_place_shows_its_parent_and_outline_and_the_country_has_no_parent(
    api: Api, other_workspace: Workspace, path: str, record: dict[str, Any]
) -> None:
    with api.database.writing() as tx:
        for name in ("Umujyi", "KGL", "kgl"):
            add_alias(tx, api.workspace, "R2", name)
        add_alias(tx, other_workspace, "R192798", "Home")

    found = {place["name"]: place for place in api.results(path)}

    assert found["Kigali"] == record
    assert (found["Rwanda"]["parent"], found["Rwanda"]["level"], found["Rwanda"].get("aliases", [])) == (None, 0, [])


@pytest.mark.together
@pytest.mark.parametrize("path", KIGALI)
def test_a_workspace_has_the_places_of_its_country_and_without_one_none(api: Api, other_api: Api, path: str) -> None:
    assert [place["name"] for place in other_api.results(path)] == ["Kenya"]
    with api.database.writing() as tx:
        tx.execute(update(workspace_table).values(country=""))

    assert api.as_role("administrator").results(path) == []


def test_generation_1_orders_places_by_level_and_then_by_name(api: Api) -> None:
    places = [(place["level"], place["name"]) for place in api.results(V1)]

    assert places == sorted(places)
    assert (places[0], len(places)) == ((0, "Rwanda"), 5)


@pytest.mark.together
@pytest.mark.parametrize(("word", "is_shown"), [("0", False), ("false", False), ("true", True), ("", True)])
def test_outlines_can_be_left_out(other_api: Api, word: str, is_shown: bool) -> None:
    (kenya,) = other_api.results(V2, geometry=word)

    assert (kenya["geometry"] is not None) == is_shown


def test_pages_hold_every_boundary_once_in_the_order_of_their_ids_as_text(
    api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]
) -> None:
    with make_client(page_size=2) as client:
        places = Api(client, api.database, api.workspace, api.token).all_results(V2)

    assert [place["osm_id"] for place in places] == ["R10", "R171496", "R2", "R3", "R4"]
