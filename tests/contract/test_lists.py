"""The declaration of a list and the contract have the same parameters."""

from typing import Any

import pytest

from handlers.answers import ListAnswer, NumberedListAnswer
from handlers.contract.operations import OperationRules, load_contract
from handlers.request import PAGE_OPTIONS
from openapi.bundle import bundle
from persistence.deletions import SHOWN_KINDS

PLACES = {"v1": {"page"}, "v2": set(PAGE_OPTIONS)}
READ_OTHERWISE = {"boundary", "api_token", "contact_urn", "receiver", "sign_in"}
"""What is read whole, because there is little of it or because contacts are compared."""
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


@pytest.mark.parametrize("rules", LISTS, ids=lambda rules: rules.id)
def test_a_list_is_read_in_its_order_by_an_index(rules: OperationRules) -> None:
    assert isinstance(rules.function, ListAnswer)
    order: Any = rules.function.spec.order_of({})
    table = order.id.table
    keys = [[getattr(each, "name", None) for each in index.expressions] for index in getattr(table, "indexes", ())]

    begins = [[name for name in key if name != "is_deleted"][:2] for key in keys]
    in_order = ["workspace_id", getattr(order.column, "name", None)] in begins
    assert in_order != (table.name in READ_OTHERWISE), f"{table.name}: which index reads its pages?"


def test_the_contract_says_what_each_list_takes() -> None:
    said = bundle("v2")["info"]["description"]

    assert [name for name in PAGE_OPTIONS if f"`{name}`" not in said] == ["cursor"]
