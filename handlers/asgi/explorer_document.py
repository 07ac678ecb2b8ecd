"""The contract as the explorer shows it: the same operations, with empty forms."""

import copy
from typing import Any

import orjson

from openapi.bundle import Document, parameters


def explorer_document(document: Document) -> Document:
    """The published document with the examples of parameters moved into their descriptions. The explorer would fill
    every field with its example, and users would send it without noticing: filters that find nothing, two that exclude
    each other, the same Idempotency-Key each time, a record to delete.
    """
    shown = copy.deepcopy(document)
    for parameter in parameters(shown):
        _tell_example(parameter, shown["components"]["schemas"])
        parameter.pop("allowEmptyValue", None)  # a checkbox under every field
    return shown


def _tell_example(parameter: dict[str, Any], schemas: dict[str, Any]) -> None:
    schema = _without_example(parameter["schema"], schemas)
    example = parameter.pop("example", None)
    parameter["schema"] = schema
    if example is not None:
        parameter["description"] = f"{parameter['description']} Example: `{_as_typed(example)}`."


def _without_example(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """A copy of the schema, because bodies share named schemas and keep their examples. Of several forms the copy has
    the first: the explorer offers a choice for Booleans and enums, but not for alternatives.
    """
    while "$ref" in schema or "anyOf" in schema:
        schema = schema["anyOf"][0] if "anyOf" in schema else schemas[schema["$ref"].rpartition("/")[2]]
    own = {key: value for key, value in schema.items() if key not in ("example", "default")}
    if "items" in own:
        own["items"] = _without_example(own["items"], schemas)
    return own


def _as_typed(example: object) -> str:
    """An example as a person would type it."""
    if isinstance(example, list):
        return ", ".join(_as_typed(item) for item in example)
    return example if isinstance(example, str) else orjson.dumps(example).decode()
