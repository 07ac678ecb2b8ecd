"""A test of many cases names each that breaks its rule."""

import pytest

from tests.each_case import holds_for_each


def test_every_case_that_breaks_a_rule_is_named_with_what_is_wrong() -> None:
    @holds_for_each([2, 3, 4, 5, 0])
    def numbers_are_even(number: int) -> None:
        assert 12 / number
        assert number % 2 == 0, "odd"

    with pytest.raises(AssertionError) as raised:
        numbers_are_even()

    said = str(raised.value)
    assert said.startswith("3 of 5 cases:")
    assert "\n\n3: AssertionError in line 12: odd" in said and "\n\n5: AssertionError in line 12: odd" in said
    assert "\n\n0: ZeroDivisionError in line 11: division by zero" in said
    assert "\n\n2: " not in said and "\n\n4: " not in said


def test_a_rule_that_holds_passes_and_one_without_cases_fails() -> None:
    seen: list[int] = []

    holds_for_each([1, 2])(seen.append)()

    assert seen == [1, 2]
    with pytest.raises(AssertionError, match="there is no case"):
        holds_for_each([])(seen.append)()
