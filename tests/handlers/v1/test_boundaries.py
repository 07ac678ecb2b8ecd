"""`/api/v1/boundaries.json` over HTTP."""

import pytest
from sqlalchemy import update

from persistence.boundaries import read_features, store_boundaries
from persistence.database import Database
from persistence.tables.accounts import workspace as workspace_table
from tests.api import Api
from tests.boundary_files import KENYA, RWANDA, SQUARE

PATH = "/api/v1/boundaries.json"


@pytest.fixture(autouse=True)
def _boundaries(database: Database) -> None:
    with database.writing() as tx:
        for document in (RWANDA, KENYA):
            store_boundaries(tx, read_features(document))


def test_places_come_by_level_and_then_by_name(api: Api, other_api: Api) -> None:
    places = [(place["level"], place["name"]) for place in api.results(PATH)]

    assert places == sorted(places)
    assert places[0] == (0, "Rwanda")
    assert [place["name"] for place in other_api.results(PATH)] == ["Kenya"]


def test_a_place_names_its_parent_and_has_an_outline(api: Api) -> None:
    found = {place["name"]: place for place in api.results(PATH)}

    assert found["Rwanda"]["parent"] is None
    assert found["Kigali"] == {
        "boundary": "R2",
        "name": "Kigali",
        "level": 1,
        "parent": "R171496",
        "geometry": {"type": "MultiPolygon", "coordinates": [SQUARE]},
    }


def test_a_workspace_without_a_country_has_none(api: Api) -> None:
    with api.database.writing() as tx:
        tx.execute(update(workspace_table).values(country=""))

    assert api.as_role("surveyor").results(PATH) == []
