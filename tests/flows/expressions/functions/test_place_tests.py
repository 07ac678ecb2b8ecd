import pytest

from flows.expressions.evaluation import Resources
from flows.expressions.values import XObject
from flows.places import read_places
from tests.flows.expressions.evaluating import error_of, value_of

KENYA = Resources(
    read_places(
        {
            "name": "Kenya",
            "children": [
                {
                    "name": "Nairobi",
                    "aliases": ["NBO"],
                    "children": [{"name": "West", "children": [{"name": "Park"}]}, {"name": "Town"}],
                },
                {
                    "name": "Kisumu",
                    "children": [{"name": "Lake", "children": [{"name": "Park"}, {"name": "Pier"}]}, {"name": "Town"}],
                },
            ],
        }
    )
)


@pytest.mark.parametrize(
    ("expression", "path"),
    [
        ('has_state("I come from nbo!")', "Kenya > Nairobi"),
        ('has_state("Mombasa")', None),
        ('has_district("lake")', "Kenya > Kisumu > Lake"),
        ('has_district("town")', None),
        ('has_district("town", "")', None),
        ('has_district("town", "kisumu")', "Kenya > Kisumu > Town"),
        ('has_district("lake", "nairobi")', None),
        ('has_district("lake", "nowhere")', None),
        ('has_ward("pier")', "Kenya > Kisumu > Lake > Pier"),
        ('has_ward("park")', None),
        ('has_ward("park", "nairobi", "west")', "Kenya > Nairobi > West > Park"),
        ('has_ward("park", "nairobi", "lake")', None),
        ('has_ward("park", "nairobi", "")', None),
        ('has_ward("pier", "nairobi", "")', "Kenya > Kisumu > Lake > Pier"),
        ('has_ward("pier", "", "lake")', None),
    ],
)
def test_places_are_found_below_the_places_given(expression, path):
    outcome = value_of(expression, resources=KENYA)
    assert isinstance(outcome, XObject)
    assert (outcome.get("match") if outcome.default else None) == path


def test_a_ward_needs_both_or_none_of_state_and_district():
    value = value_of('has_ward("park", "nairobi")', resources=KENYA)
    assert "need 1 or 3 argument(s), got 2" in str(value)


def test_without_places_the_tests_are_errors():
    assert error_of('has_state("x")') == "error calling has_state(...): no places are known"
