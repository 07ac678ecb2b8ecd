import pytest

from flows.environment import Environment
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
        ('has_text("  yes ")', "yes"),
        ('has_value(" ")', None),
        ("has_text(null)", None),
        ('has_only_text("Yes", "Yes")', "Yes"),
        ('has_only_text("Yes ", "Yes")', None),
        ('has_beginning(" JOIN now", "join")', "JOIN"),
        ('has_beginning("jo", "join")', None),
        ('has_beginning("join", "")', None),
        ('has_beginning("élan", "É")', "é"),
        ('has_any_word("Yes, no & maybe", "maybe YES")', "Yes maybe"),
        ('has_any_word("yesterday", "yes")', None),
        ('has_any_word("İSTANBUL", "istanbul")', "İSTANBUL"),
        ('has_only_phrase("ΛΟΓΟΣ", "λόγος λογος")', None),
        ('has_only_phrase("ΛΟΓΟΣ", "λογος")', "ΛΟΓΟΣ"),
        ('has_any_word("👍🏿", "👍")', "👍"),
        ('has_all_words("Blue or red or blue", "red blue")', "Blue red blue"),
        ('has_all_words("blue", "red blue")', None),
        ('has_phrase("I like green tea", "green tea")', "green tea"),
        ('has_phrase("green green tea", "green tea")', None),
        ('has_phrase("green, TEA!", "green tea")', "green TEA"),
        ('has_phrase("anything", "")', ""),
        ('has_only_phrase("Green tea!", "green tea")', "Green tea"),
        ('has_only_phrase("green tea please", "green tea")', None),
        ('has_pattern("order 55", "\\w+ (\\d+)")', "order 55"),
        ('has_pattern(" x", " ^x ")', None),
        ('has_email("write to Ann.B+1@mail.example.org.")', "Ann.B+1@mail.example.org"),
        ('has_email("ann@mail")', None),
        ('has_phone("call 206 555 0100 now", "US")', "+12065550100"),
        ('has_phone("call me")', None),
        ("has_error(1 / 0)", "division by zero"),
        ("has_error(1)", None),
    ],
)
def test_tests_on_texts_match_as_documented(expression, match):
    assert match_of(expression) == match


def test_the_default_country_reads_phone_numbers():
    assert match_of('has_phone("0788 383 383")', Environment(default_country="RW")) == "+250788383383"


def test_groups_of_a_pattern_are_its_extra():
    assert text_of('json(has_pattern("a1", "(x)?(a)(\\d)").extra)') == '{"0":"a1","1":"","2":"a","3":"1"}'


def test_an_outcome_is_true_or_false_as_a_value():
    assert value_of('has_text("x") = true') is True
    assert text_of('has_text("")') == "false"
    assert text_of('json(has_text(""))') == '{"match":""}'


@pytest.mark.parametrize("expression", ["has_text(1 / 0)", 'has_pattern("x", "(")', "has_text()", 'has_phrase("a")'])
def test_errors_and_wrong_arguments_are_errors(expression):
    assert error_of(expression)


CATEGORIZED = {"category": "Yes", "extra": {
    "intents": [{"name": "book", "confidence": 0.8}, {"name": "ask", "confidence": 0.4}],
    "entities": {"city": [{"value": "Quito", "confidence": 1}, {"value": "Lima", "confidence": 0.2}], "day": []},
}}  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ('has_category(result, "No", "Yes")', "Yes"),
        ('has_category(result, "yes")', None),
        ('has_intent(result, "ask", 0.4)', "ask"),
        ('has_intent(result, "ask", 0.5)', None),
        ('has_top_intent(result, "ask", 0.1)', None),
        ('has_top_intent(result, "book", 0.1)', "book"),
        ('has_top_intent(object("extra", null), "book", 0.1)', None),
        ('has_group(array(object("uuid", "g1"), object("uuid", "g2")), "g2")', "{uuid: g2}"),
        ('has_group(null, "g2")', None),
    ],
)
def test_tests_on_objects_match_as_documented(expression, match):
    assert match_of(expression, result=CATEGORIZED) == match


def test_entities_of_an_intent_are_its_extra():
    assert text_of('has_intent(result, "book", 0.1).extra', result=CATEGORIZED) == "{city: Quito}"


def test_objects_without_what_a_test_looks_at_are_errors():
    assert error_of('has_category(object(), "Yes")').endswith("object has no property 'category'")
    assert error_of('has_group(array(1), "g")').endswith("unable to convert 1 to an object")


@pytest.mark.parametrize(
    ("expression", "match"),
    [
        ('has_number("about 12 or 20")', "12"),
        ('has_number("none")', None),
        ('has_number_lt("12 or 5 or 3", 10)', "5"),
        ('has_number_lte("12 or 10", 10)', "10"),
        ('has_number_eq("it is 10.0", 10)', "10"),
        ('has_number_gte("9 or 10", "10")', "10"),
        ('has_number_gt("9 or 10", 10)', None),
        ('has_number_between("1, 5 and 7", 5, 7)', "5"),
        ('has_number_between("8", 5, 7)', None),
    ],
)
def test_tests_on_numbers_match_as_documented(expression, match):
    assert match_of(expression) == match


def test_a_bound_that_is_no_number_is_an_error():
    assert error_of('has_number_lt("1", "x")').endswith('unable to convert "x" to a number')


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
