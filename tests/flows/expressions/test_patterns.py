import pytest

from flows.expressions.evaluation import Evaluation, ExpressionError
from flows.expressions.patterns import find_groups, is_valid_pattern


def test_patterns_ignore_case_and_know_lines():
    assert find_groups(Evaluation(), "^(b).$", "a\nBx\nc") == ["Bx", "B"]
    assert find_groups(Evaluation(), "(?-i)b", "B") is None


def test_what_takes_other_engines_forever_takes_no_time():
    assert find_groups(Evaluation(), "(a+)+$", "a" * 5000 + "b") is None


@pytest.mark.parametrize("pattern", ["(", "[a", "(?<=a)b", r"(a)\1", "a" * 10_001, "(((a{100}){100}){100}){100}"])
def test_invalid_patterns_are_errors(pattern):
    assert not is_valid_pattern(pattern)
    with pytest.raises(ExpressionError):
        find_groups(Evaluation(), pattern, "a")


def test_halves_of_characters_do_no_harm():
    assert find_groups(Evaluation(), "b", "a\ud800b") == ["b"]
    assert find_groups(Evaluation(), "\ud800", "ab") is None


def test_a_pattern_is_valid_after_trimming():
    assert is_valid_pattern(r" \A\d{5}\z ")
