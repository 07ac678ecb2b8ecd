import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.places import (
    COUNTRY,
    DISTRICT,
    STATE,
    WARD,
    PlaceError,
    find_first,
    find_named,
    find_path,
    find_places,
    is_possible_path,
    name_of,
    normalize_path,
    read_places,
)

ROOT = read_places(
    {
        "name": "Rwanda",
        "aliases": ["Ruanda"],
        "children": [
            {
                "name": "Kigali City",
                "aliases": ["Kigali", "Kigari"],
                "children": [{"name": "Gasabo", "children": [{"name": "Ndera"}]}, {"name": "Centre"}],
            },
            {"name": "Île-de-France", "children": [{"name": "Centre"}]},
            {"name": "Eastern Province"},
        ],
    }
)
KIGALI = find_path(ROOT, "Rwanda > Kigali City")


def paths(places):
    return [place.path for place in places]


def test_a_place_knows_its_path_and_level():
    assert [(place.path, place.level) for place in ROOT.walk()][:4] == [
        ("Rwanda", COUNTRY),
        ("Rwanda > Kigali City", STATE),
        ("Rwanda > Kigali City > Gasabo", DISTRICT),
        ("Rwanda > Kigali City > Gasabo > Ndera", WARD),
    ]


def test_places_are_four_levels_deep_at_most():
    tree = {"name": "5"}
    for level in range(4):
        tree = {"name": str(level), "children": [tree]}

    with pytest.raises(PlaceError):
        read_places(tree)


@pytest.mark.parametrize("text", ["kigari", "  KIGALI   city ", "rwanda > kigali city", "Rwanda>Kigali City."])
def test_places_are_looked_up_by_name_alias_or_path_whatever_their_case_and_spaces(text):
    assert paths(find_named(ROOT, text, STATE)) == ["Rwanda > Kigali City"]


@pytest.mark.parametrize(("text", "level"), [("gasabo", STATE), ("boston", STATE), ("kigali", 8)])
def test_places_of_other_levels_are_not_found(text, level):
    assert find_named(ROOT, text, level) == []


def test_a_parent_narrows_the_search():
    assert len(find_named(ROOT, "centre", DISTRICT)) == 2
    assert paths(find_named(ROOT, "centre", DISTRICT, KIGALI)) == ["Rwanda > Kigali City > Centre"]


@pytest.mark.parametrize("text", ["¡Kigali!", "I live in kigali now", "in Kigali City, I think", "ki-ga-li"])
def test_people_may_write_more_than_the_name(text):
    assert paths(find_places(ROOT, text, STATE)) == ["Rwanda > Kigali City"]


def test_hyphenated_words_stay_whole():
    assert find_first(ROOT, STATE, "dans Île-de-France").name == "Île-de-France"
    assert find_first(ROOT, STATE, "not-kigali-but") is None


def test_an_elided_article_does_not_hide_a_name():
    assert find_first(ROOT, STATE, "province de l'Île-de-France").name == "Île-de-France"


def test_pairs_of_words_are_tried_last():
    assert find_first(ROOT, STATE, "the eastern province there").name == "Eastern Province"


def test_nothing_is_found_in_other_text():
    assert find_places(ROOT, "nowhere at all", STATE) == []
    assert find_first(ROOT, STATE, "") is None


def test_paths_have_one_normal_form():
    assert normalize_path("ireLAND>antrim   town.") == "Ireland > Antrim Town"


def test_a_path_ends_in_the_name_of_its_place():
    assert name_of("Rwanda > Kigali City") == "Kigali City"
    assert name_of("Kigali") == "Kigali"
    assert is_possible_path("a>b") and not is_possible_path("a")


@given(st.text(), st.integers(0, 3))
def test_any_text_can_be_searched(text, level):
    assert all(place.level == level for place in find_places(ROOT, text, level))


@pytest.mark.parametrize("text", ["izmir", "İZMİR", "İzmir"])
def test_the_turkish_capital_i_is_an_i(text):
    turkey = read_places({"name": "Türkiye", "children": [{"name": "İzmir"}]})
    assert find_first(turkey, STATE, text).name == "İzmir"
    assert find_first(turkey, STATE, f"türkiye > {text}").name == "İzmir"
