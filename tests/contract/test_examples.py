"""The examples of the contract are requests that the service understands."""

from collections.abc import Iterator

import pytest

from openapi.table import follow
from tests.api import Api
from tests.contract.documents import Operation, document, token_operations
from tests.contract.services import Service, database_url_for_many_tests, serve

SERVED = [operation for operation in token_operations() if operation.root in ("v1/openapi.yaml", "v2/openapi.yaml")]
WITH_BODY = [operation for operation in SERVED if "application/json" in operation.request_schemas()]
MISSING = ("Nothing found", "Unknown claim code")
READING = [operation for operation in SERVED if operation.method == "get" and not operation.reads_one]


def url_of(operation: Operation) -> str:
    base: str = document(operation.root)["servers"][0]["url"]
    return base + operation.path


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("examples")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder) as service:
        yield service


@pytest.fixture(scope="module")
def empty(service: Service) -> Api:
    """A new workspace for all that only read."""
    return service.api(service.new_workspace())


@pytest.mark.together
@pytest.mark.parametrize("operation", WITH_BODY, ids=str)
def test_a_request_example_is_carried_out_or_names_a_record_that_is_missing(
    service: Service, operation: Operation
) -> None:
    api = service.api(service.new_workspace())
    for name_of_field in ("Age", "District"):
        api.post("/api/v2/fields.json", {"name": name_of_field, "type": "text"})
    content = operation.body["requestBody"]["content"]["application/json"]
    named = {part["name"]: part["example"] for part in operation.parameters() if part.get("required")}
    for name, example in content["examples"].items():
        response = api.post(url_of(operation), example["value"], **named)
        if response.status_code == 400:
            told = response.json()
            assert set(told) <= set(example["value"]), f"{name}: {told}"
            assert any(words in response.text for words in MISSING), f"{name}: {told}"
        else:
            done = (200, 201, 204, 404) if named else (200, 201, 204)
            assert response.status_code in done, f"{name}: {response.text}"


# test_plans.py asks both databases by each parameter.
@pytest.mark.together
@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
@pytest.mark.parametrize("operation", READING, ids=str)
def test_a_list_accepts_the_example_of_each_parameter(empty: Api, operation: Operation) -> None:
    for part in operation.parameters():
        if part["name"] in ("page", "fields"):
            continue  # values that not every list has; they have tests of their own
        asked = {part["name"], *operation.needs(part["name"])}
        examples = {each["name"]: each["example"] for each in operation.parameters() if each["name"] in asked}
        response = empty.get(url_of(operation), **examples)
        expected = (200, 404) if part.get("x-lookup") else (200,)
        if part["name"] == "cursor":  # it is that of another list
            expected = (404,)
            assert follow(operation.body["responses"]["404"], document(operation.root))["description"]
        assert response.status_code in expected, f"{part['name']}: {response.text}"


ALONE = {
    "v1": ("write_contact", "write_field", "write_label", "create_broadcast"),
    "v2": (
        *("write_contact", "write_group", "write_field", "write_label", "write_global", "write_topic", "create_optin"),
        *("write_saved_reply", "create_broadcast", "preview_broadcast", "create_export", "create_invitation"),
        "change_workspace_settings",
    ),
}
"""Operations whose first example, which the explorer shows, names no record and so works in every workspace."""


@pytest.mark.together
@pytest.mark.parametrize(
    "operation", [each for each in WITH_BODY if each.body["operationId"] in ALONE[each.generation]], ids=str
)
def test_the_first_example_works_in_a_new_workspace(service: Service, operation: Operation) -> None:
    api = service.api(service.new_workspace())
    content = operation.body["requestBody"]["content"]["application/json"]
    first = next(iter(content["examples"].values()))["value"]

    response = api.post(url_of(operation), first)

    assert response.status_code in (200, 201, 204), response.text
