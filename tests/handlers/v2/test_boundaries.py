"""`/api/v2/boundaries.json` over HTTP."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from starlette.testclient import TestClient

from persistence.boundaries import add_alias, read_features, store_boundaries
from persistence.database import Database
from persistence.workspaces.records import Workspace
from persistence.workspaces.writes import create_workspace
from testbed.tokens import make_token
from tests.api import Api
from tests.boundary_files import KENYA, RWANDA, SQUARE

PATH = "/api/v2/boundaries.json"


@pytest.fixture(autouse=True)
def _boundaries(database: Database) -> None:
    with database.writing() as tx:
        for document in (RWANDA, KENYA):
            store_boundaries(tx, read_features(document))


class TestListBoundaries:
    def test_the_places_of_the_country_come_in_the_order_of_their_ids_as_text(self, api: Api, other_api: Api) -> None:
        assert [place["osm_id"] for place in api.results(PATH)] == ["R10", "R171496", "R2", "R3", "R4"]
        assert [place["name"] for place in other_api.results(PATH)] == ["Kenya"]

    def test_a_boundary_shows_its_parent_aliases_and_outline(
        self, api: Api, database: Database, workspace: Workspace, other_workspace: Workspace
    ) -> None:
        with database.writing() as tx:
            for name in ("Umujyi", "KGL", "kgl"):
                add_alias(tx, workspace, "R2", name)
            add_alias(tx, other_workspace, "R192798", "Home")

        kigali = next(place for place in api.results(PATH) if place["osm_id"] == "R2")

        assert kigali == {
            "osm_id": "R2",
            "name": "Kigali",
            "parent": {"osm_id": "R171496", "name": "Rwanda"},
            "level": 1,
            "aliases": ["Umujyi", "kgl"],
            "geometry": {"type": "MultiPolygon", "coordinates": [SQUARE]},
        }

    def test_the_country_has_no_parent(self, other_api: Api) -> None:
        (kenya,) = other_api.results(PATH)

        assert (kenya["parent"], kenya["level"], kenya["aliases"]) == (None, 0, [])

    @pytest.mark.parametrize(("word", "is_shown"), [("0", False), ("false", False), ("true", True), ("", True)])
    def test_outlines_can_be_left_out(self, other_api: Api, word: str, is_shown: bool) -> None:
        (kenya,) = other_api.results(PATH, geometry=word)

        assert (kenya["geometry"] is not None) == is_shown

    def test_a_workspace_without_country_has_no_boundaries(self, api: Api, database: Database) -> None:
        with database.writing() as tx:
            nowhere = create_workspace(tx, "Nowhere")
        there = Api(api.client, database, nowhere, make_token(database, nowhere, "administrator"))

        assert there.results(PATH) == []

    def test_pages_hold_every_boundary_once(
        self, api: Api, make_client: Callable[..., AbstractContextManager[TestClient]]
    ) -> None:
        with make_client(page_size=2) as client:
            places = Api(client, api.database, api.workspace, api.token).all_results(PATH)

        assert [place["osm_id"] for place in places] == ["R10", "R171496", "R2", "R3", "R4"]
