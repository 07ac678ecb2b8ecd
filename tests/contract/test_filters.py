"""What every list does with its filters: bounds include their moment, references find what bears them, and what is no
value is refused. The lists and their filters come from the contract.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from openapi.table import follow
from persistence.tables.complete import metadata
from tests.api import Api
from tests.contract.bodies import resource_of, type_of
from tests.contract.documents import PAIRS, Operation, document, token_operations
from tests.contract.filled_workspace import Filled, fill_workspace
from tests.contract.references import PARAMETERS, UNKNOWN_UUID, Form, find_forms
from tests.contract.services import database_url_for_many_tests, serve

COUNT = 9
READING = [
    each for each in token_operations() if each.method == "get" and each.root in ("v1/openapi.yaml", "v2/openapi.yaml")
]
LISTS = [each for each in READING if each.body["operationId"].startswith("list_") and each.path != PAIRS]
BOUNDED = [each for each in LISTS if "before" in {part["name"] for part in each.parameters()}]
TIMES = {
    **dict.fromkeys(("v1 relayers",), "last_seen"),
    **dict.fromkeys(("v1 contacts", "v1 runs", "v2 contacts", "v2 globals", "v2 tickets"), "modified_on"),
    **dict.fromkeys(("v2 flow_starts", "v2 flows", "v2 runs"), "modified_on"),
    "v2 archives": "start_date",
    "v2 deletions": "deleted_on",
}
"""The times that lists go by, where it is not that of creation."""
UNSHOWN = {
    *("v1 messages group_uuids uuid", "v1 runs group_uuids uuid", "v2 messages broadcast uuid"),
    *("v2 channel_calls channel uuid", "v2 contacts group name", "v2 webhook_receivers receiver number"),
    *("v2 deliveries receiver number", "v2 tickets team uuid"),
}
"""References that a record does not show, or not only there; they have tests of their own."""
REFERENCES = [
    (operation, part["name"], form)
    for operation in LISTS
    for part in operation.parameters()
    if part["in"] == "query" and not operation.reads_one
    for form in find_forms(
        PARAMETERS,
        operation.generation,
        resource_of(operation),
        part["name"],
        type_of(operation.root, part["schema"]),
    )
    if f"{operation.generation} {resource_of(operation)} {part['name']} {form.word}" not in UNSHOWN
]


def bears(record: dict[str, Any], name: str, form: Form, reference: str | int) -> bool:
    if form.word in ("id", "number"):
        return str(record[name if name in record else "id"]) == str(reference)
    return bool(re.search(rf"(?<!\w){re.escape(str(reference))}(?!\w)", json.dumps(record)))


def is_strict(operation: Operation, parameter: dict[str, Any]) -> bool:
    """Whether some texts are no value of a parameter: it is a time, a number, a UUID or one of a few words."""
    schema = follow(parameter["schema"], document(operation.root))
    schema = follow(schema.get("items", schema), document(operation.root))
    is_time = parameter["name"] in ("before", "after", "modified_after")
    return is_time or schema.get("type") in ("integer", "boolean") or "enum" in schema or schema.get("format") == "uuid"


STRICT = [
    (operation, part["name"])
    for operation in READING
    for part in operation.parameters()
    if part["in"] == "query" and is_strict(operation, part)
]


@dataclass
class Shelf:
    """A workspace with a few records of each kind. Who was made last was changed first."""

    api: Api
    filled: Filled
    kept: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def whole(self, operation: Operation) -> list[dict[str, Any]]:
        """All records of a list, read once: nothing here changes any."""
        if str(operation) not in self.kept:
            self.kept[str(operation)] = self.results(operation)
        return self.kept[str(operation)]

    def results(self, operation: Operation, **query: Any) -> list[dict[str, Any]]:
        return self.api.results(f"/api/{operation.generation}{operation.path}", **query)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shelf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shelf]:
    folder = tmp_path_factory.mktemp("filters")
    with database_url_for_many_tests(request.param, request, folder) as url, serve(url, folder) as service:
        workspace = service.new_workspace()
        filled = fill_workspace(service.database, workspace, COUNT)
        with service.database.writing() as tx:
            for name, rows in filled.rows.items():
                table = metadata.tables[name]
                for number, row in enumerate(rows if "modified_on" in table.c else ()):
                    moment = filled.now + timedelta(seconds=number)
                    tx.execute(update(table).where(table.c.id == row.id).values(modified_on=moment))
        yield Shelf(service.api(workspace), filled)


@pytest.mark.together
@pytest.mark.parametrize("operation", BOUNDED, ids=str)
def test_a_list_is_in_the_order_of_its_time_whose_bounds_include_their_moment(
    shelf: Shelf, operation: Operation
) -> None:
    name = TIMES.get(f"{operation.generation} {resource_of(operation)}", "created_on")
    whole = shelf.whole(operation)
    times = [record[name] for record in whole]
    middle = times[COUNT // 2]

    assert times == sorted(times, reverse=True) and len(set(times)) >= COUNT
    assert shelf.results(operation, before=middle) == [each for each in whole if each[name] <= middle]
    assert shelf.results(operation, after=middle) == [each for each in whole if each[name] >= middle]
    assert shelf.results(operation, before=middle, after=middle) == [each for each in whole if each[name] == middle]


@pytest.mark.together
@pytest.mark.parametrize(
    ("operation", "name", "form"), REFERENCES, ids=lambda part: part.word if isinstance(part, Form) else str(part)
)
def test_a_reference_finds_the_records_that_bear_it_and_no_others(
    shelf: Shelf, operation: Operation, name: str, form: Form
) -> None:
    reference = form.own(shelf.filled)

    whole, found = shelf.whole(operation), shelf.results(operation, **{name: reference})

    assert found == [record for record in whole if bears(record, name, form, reference)] != []
    assert shelf.results(operation, **{name: form.unknown}) == []


@pytest.mark.together
@pytest.mark.parametrize("shelf", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("operation", "name"), STRICT, ids=str)
def test_what_is_no_value_of_a_parameter_is_refused(shelf: Shelf, operation: Operation, name: str) -> None:
    response = shelf.api.get(f"/api/{operation.generation}{operation.path}", **{name: "nonsense"})

    assert (response.status_code, name in response.json()["detail"]) == (400, True)


@pytest.mark.together
@pytest.mark.parametrize("shelf", ["sqlite"], indirect=True)
@pytest.mark.parametrize("operation", [one for one in token_operations() if one.method == "delete"], ids=str)
def test_a_deletion_names_what_it_deletes(shelf: Shelf, operation: Operation) -> None:
    path = f"/api/{operation.generation}{operation.path}"
    unknown = {part["name"]: UNKNOWN_UUID for part in operation.parameters() if part["name"] == "uuid"}

    assert shelf.api.delete(path).status_code == 400
    assert not unknown or shelf.api.delete(path, **unknown).status_code == 404
