import pytest

from flows.expressions.evaluation import Resources
from flows.expressions.values import XObject
from flows.places import read_places
from tests.flows.expressions.evaluating import error_of, text_of, value_of


def match_of(expression, environment=None, **context):
    """The text of what a test matched, None if it did not."""
    outcome = value_of(expression, environment, **context)
    assert isinstance(outcome, XObject), outcome
    return text_of("outcome.match", outcome=outcome) if outcome.default else None


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ('has_any_word("İSTANBUL", "istanbul")', "İSTANBUL"),
        ('has_only_phrase("ΛΟΓΟΣ", "λόγος λογος")', None),
        ('has_only_phrase("ΛΟΓΟΣ", "λογος")', "ΛΟΓΟΣ"),
        ('has_any_word("👍🏿", "👍")', "👍"),
    ],
)
def test_words_are_folded_letter_by_letter(expression, match):
    assert match_of(expression) == match


CATEGORIZED = {"category": "Yes", "extra": {
    "intents": [{"name": "book", "confidence": 0.8}, {"name": "ask", "confidence": 0.4}],
    "entities": {"city": [{"value": "Quito", "confidence": 1}, {"value": "Lima", "confidence": 0.2}], "day": []},
}}  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ('has_intent(result, "ask", 0.4)', "ask"),
        ('has_intent(result, "ask", 0.5)', None),
        ('has_top_intent(result, "ask", 0.1)', None),
        ('has_top_intent(result, "book", 0.1)', "book"),
        ('has_top_intent(object("extra", null), "book", 0.1)', None),
    ],
)
def test_intents_match_from_their_confidence_on(expression, match):
    assert match_of(expression, result=CATEGORIZED) == match


def test_entities_of_an_intent_are_its_extra():
    assert text_of('has_intent(result, "book", 0.1).extra', result=CATEGORIZED) == "{city: Quito}"


def test_objects_without_what_a_test_looks_at_are_errors():
    assert error_of('has_category(object(), "Yes")').endswith("object has no property 'category'")
    assert error_of('has_group(array(1), "g")').endswith("unable to convert 1 to an object")


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
