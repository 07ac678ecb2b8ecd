import pytest

from flows.expressions.evaluation import Budget, ExpressionTooComplexError


def test_a_text_costs_its_bytes_and_everything_else_one():
    budget = Budget(cost=10)
    budget.charge("é😀")
    assert budget.cost == 4
    budget.charge("")
    budget.charge(None)
    budget.charge(5)
    assert budget.cost == 1


def test_what_cannot_be_paid_for_ends_the_evaluation():
    with pytest.raises(ExpressionTooComplexError):
        Budget(cost=3).charge("four")
    with pytest.raises(ExpressionTooComplexError):
        Budget(work=3).spend(4)
    with pytest.raises(ExpressionTooComplexError):
        Budget(work=3).read("x" * 64)
