import pytest
from sqlalchemy import func, select

from flows.places import find_named, read_places
from persistence.boundaries import add_alias, read_features, read_place_tree, store_boundaries
from persistence.errors import InvalidInput
from persistence.tables.service import boundary
from tests.boundary_files import KENYA, RWANDA, collection, feature


def store(database, document, country=None):
    with database.writing() as tx:
        return store_boundaries(tx, read_features(document, country))


def read_levels(database):
    with database.reading() as tx:
        columns = select(boundary.c.osm_id, boundary.c.level, boundary.c.country)
        return {row.osm_id: (row.level, row.country) for row in tx.execute(columns)}


def test_levels_and_country_follow_from_the_parents_whatever_the_order(database):
    assert store(database, RWANDA) == 5

    assert read_levels(database) == {
        "R171496": (0, "RW"),
        "R2": (1, "RW"),
        "R10": (1, "RW"),
        "R3": (2, "RW"),
        "R4": (3, "RW"),
    }


def test_a_second_import_replaces_and_doubles_nothing(database):
    store(database, RWANDA)

    store(database, collection(feature("R171496", "Republic of Rwanda", country="RW")))
    store(database, RWANDA)

    with database.reading() as tx:
        assert tx.execute(select(func.count()).select_from(boundary)).scalar_one() == 5
        assert tx.execute(select(boundary.c.name).where(boundary.c.osm_id == "R171496")).scalar_one() == "Rwanda"


def test_parents_may_have_been_imported_before(database):
    store(database, RWANDA)

    store(database, collection(feature("R5", "Western", "R171496")))

    assert read_levels(database)["R5"] == (1, "RW")


@pytest.mark.parametrize("key", ["parent_id", "is_in_country", "is_in_state"])
def test_parents_have_other_names_too(database, key):
    store(database, KENYA)

    store(database, collection(feature("R6", "Nakuru", **{key: "R192798"})))

    assert read_levels(database)["R6"] == (1, "KE")


def test_a_country_without_code_takes_the_given_one(database):
    store(database, collection(feature("R1", "Rwanda")), "rw")

    assert read_levels(database) == {"R1": (0, "RW")}


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        collection(),
        collection({"type": "Feature"}),
        collection(feature("", "Rwanda", country="RW")),
        collection(feature("R" * 33, "Rwanda", country="RW")),
        collection(feature("R1", "", country="RW")),
        collection(feature("R1", "x" * 129, country="RW")),
        collection(feature("R1", "Rwanda")),
        collection(feature("R1", "Rwanda", country="Rwanda")),
        collection(feature("R1", "Rwanda", country="RW"), feature("R1", "Kenya", country="KE")),
        collection({**feature("R1", "Rwanda", country="RW"), "geometry": {"type": "Point", "coordinates": [1, 2]}}),
        collection(
            {**feature("R1", "Rwanda", country="RW"), "geometry": {"type": "Polygon", "coordinates": [[[1, 2]]]}}
        ),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(document):
    with pytest.raises(InvalidInput):
        read_features(document)


@pytest.mark.parametrize(
    ("properties", "problem"),
    [
        ({"OSM_ID": "R1", "NAME": "Rwanda"}, "An osm_id of 1 to 32 characters is expected."),
        ({"osm_id": "R1", "NAME_1": "Rwanda"}, "A name of 1 to 128 characters is expected."),
        ({"osm_id": "R1", "name": "Rwanda", "parent": "R0"}, "A country needs its two-letter code."),
    ],
)
def test_a_refused_feature_says_which_properties_it_has_and_which_are_wanted(properties, problem):
    with pytest.raises(InvalidInput) as refused:
        read_features(collection({"type": "Feature", "properties": properties, "geometry": None}))

    said = str(refused.value)
    assert said.startswith(
        f"features.0: {problem} The properties here are {', '.join(sorted(properties))}; wanted are "
    )
    for wanted in ("osm_id", "name_en", "parent_osm_id", "is_in_state", "iso_a2", "--country"):
        assert wanted in said


@pytest.mark.together
@pytest.mark.parametrize(
    "document",
    [
        collection(feature("R7", "Nowhere", "R999")),
        collection(feature("R8", "Left", "R9"), feature("R9", "Right", "R8")),
        collection(*RWANDA["features"], feature("R11", "A village", "R4")),
    ],
)
def test_unknown_parents_circles_and_villages_store_nothing(database, document):
    with pytest.raises(InvalidInput):
        store(database, document)

    assert read_levels(database) == {}


def test_flows_find_places_by_the_names_of_the_workspace(database, workspace, other_workspace):
    store(database, RWANDA)
    store(database, KENYA)
    with database.writing() as tx:
        add_alias(tx, workspace, "R2", "The City")
        tree = read_place_tree(tx, workspace)
        elsewhere = read_place_tree(tx, other_workspace)

    root = read_places(tree)
    assert [place.path for place in find_named(root, "the city", 1)] == ["Rwanda > Kigali"]
    assert [place.path for place in find_named(root, "Kimironko", 3)] == ["Rwanda > Kigali > Gasabo > Kimironko"]
    assert elsewhere == {"name": "Kenya", "aliases": [], "children": []}


def test_a_workspace_without_imported_country_has_no_places(database, workspace):
    with database.reading() as tx:
        assert read_place_tree(tx, workspace) is None
