import pytest

from tests.flows.expressions.evaluating import error_of
from tests.flows.expressions.functions.test_text_tests import match_of


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
