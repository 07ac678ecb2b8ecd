"""The declaration of a list and the contract have the same parameters."""

import pytest

from handlers.answers import ListAnswer, NumberedListAnswer
from handlers.contract.operations import OperationRules, load_contract
from handlers.request import PAGE_OPTIONS
from persistence.deletions import SHOWN_KINDS

PLACES = {"v1": {"page"}, "v2": set(PAGE_OPTIONS)}
KINDS = {"v1": NumberedListAnswer, "v2": ListAnswer}
LISTS = [
    rules
    for generation in ("v1", "v2")
    for rules in load_contract(generation).values()
    if rules.id.rpartition(".")[2].startswith("list_")
]


@pytest.mark.parametrize("rules", LISTS, ids=lambda rules: rules.id)
def test_a_list_understands_the_parameters_of_its_operation(rules: OperationRules) -> None:
    assert isinstance(rules.function, KINDS[rules.generation])
    spec = rules.function.spec

    assert {*spec.filters, *spec.options, *PLACES[rules.generation]} - {SHOWN_KINDS} == set(rules.parameters)
    assert not spec.filters.keys() & spec.options


@pytest.mark.parametrize("rules", LISTS, ids=lambda rules: rules.id)
def test_what_changes_what_fits_later_is_a_parameter_of_the_list(rules: OperationRules) -> None:
    assert isinstance(rules.function, ListAnswer)
    spec = rules.function.spec

    assert (spec.changing or frozenset()) <= {*spec.filters, *spec.options}
