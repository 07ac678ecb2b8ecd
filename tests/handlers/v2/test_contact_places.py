"""Places in contact fields over HTTP (contract reference, contact field values)."""

import pytest

from persistence.boundaries import read_features, store_boundaries
from persistence.database import Database
from persistence.workspaces.records import Workspace
from tests.api import Api
from tests.boundary_files import RWANDA
from tests.factories import make_field

PATH = "/api/v2/contacts.json"


@pytest.fixture
def places(database: Database, workspace: Workspace) -> None:
    with database.writing() as tx:
        store_boundaries(tx, read_features(RWANDA))
    for name, kind in (("Home", "state"), ("Near", "district"), ("Quarter", "ward")):
        make_field(database, workspace, name, kind)


def test_places_are_found_by_name_below_the_one_that_is_known(api: Api, places: None) -> None:
    fields = {"quarter": "kimironko", "near": "Gasabo", "home": "kigali"}

    record = api.post(PATH, {"name": "Amina", "fields": fields}).json()

    assert record["fields"] == {
        "home": "Rwanda > Kigali",
        "near": "Rwanda > Kigali > Gasabo",
        "quarter": "Rwanda > Kigali > Gasabo > Kimironko",
    }


def test_a_district_without_its_state_is_no_place_yet(api: Api, places: None) -> None:
    created = api.post(PATH, {"name": "Amina", "fields": {"near": "Gasabo"}}).json()
    uuid = created["uuid"]
    api.post(PATH, {"fields": {"home": "Kigali"}}, uuid=uuid)

    record = api.post(PATH, {"fields": {"near": "Gasabo"}}, uuid=uuid).json()

    assert created["fields"]["near"] is None
    assert record["fields"]["near"] == "Rwanda > Kigali > Gasabo"


def test_a_whole_path_needs_nothing_else_and_an_unknown_name_is_no_place(api: Api, places: None) -> None:
    fields = {"near": "Rwanda > Kigali > Gasabo", "home": "Atlantis"}

    record = api.post(PATH, {"name": "Amina", "fields": fields}).json()

    assert record["fields"] == {"home": None, "near": "Rwanda > Kigali > Gasabo", "quarter": None}
