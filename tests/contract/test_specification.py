"""The contract contains everything that the interface specification names."""

import pytest

from openapi.bundle import GENERATIONS
from openapi.table import follow
from tests.contract.documents import Operation, all_operations, document, roots
from tests.contract.specification_list import ADDED_STATES, LIMITS, RECORDS, STATES, V1, V2

LISTINGS = {"v1": V1, "v2": V2}
CASES = [(generation, name) for generation in GENERATIONS for name in LISTINGS.get(generation, {})]
OPERATIONS = {
    f"{operation.generation} {operation.method.upper()} {operation.path}": operation for operation in all_operations()
}
V2_SCHEMAS = {
    name: (root, schema)
    for root in roots()
    if root.startswith("v2/")
    for name, schema in document(root)["components"]["schemas"].items()
}


def body_fields(operation: Operation) -> set[str]:
    schema = operation.request_schemas().get("application/json", {})
    return set(follow(schema, document(operation.root)).get("properties", {}))


@pytest.mark.parametrize(("generation", "name"), CASES)
def test_a_specified_operation_has_its_parameters_and_body_fields(generation: str, name: str) -> None:
    operation = OPERATIONS[f"{generation} {name}"]
    parameters, fields = LISTINGS[generation][name]
    assert set(parameters.split()) <= {part["name"] for part in operation.parameters()}
    assert set(fields.split()) <= body_fields(operation)


@pytest.mark.parametrize("name", STATES)
def test_a_closed_set_of_words_is_the_specified_one_with_the_known_additions(name: str) -> None:
    assert V2_SCHEMAS[name][1]["enum"] == [*STATES[name].split(), *ADDED_STATES.get(name, "").split()]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_always_has_the_specified_fields(name: str) -> None:
    assert set(RECORDS[name].split()) <= set(V2_SCHEMAS[name][1]["required"])


@pytest.mark.parametrize("name", LIMITS)
def test_a_list_in_a_request_takes_as_many_items_as_specified(name: str) -> None:
    root, schema = V2_SCHEMAS[name]
    taken = {field: follow(schema["properties"][field], document(root))["maxItems"] for field in LIMITS[name]}
    assert taken == LIMITS[name]


def test_every_v2_list_has_the_envelope() -> None:
    for operation in OPERATIONS.values():
        if operation.generation == "v2" and operation.body["operationId"].startswith("list_"):
            content = operation.body["responses"]["200"]["content"]["application/json"]
            page = follow(content["schema"], document(operation.root))
            assert page["required"] == ["next", "previous", "results"], operation
            assert "cursor" in {part["name"] for part in operation.parameters()}, operation
