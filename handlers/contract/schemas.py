"""Compiled JSON schemas: OpenAPI 3.0 schema objects as draft 4 validators, and their errors in the form of the API."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import jsonschema_rs

from persistence.sql.columns import is_uuid

Errors = dict[str, Any]

DROPPED = {
    "example",
    "discriminator",
    "xml",
    "externalDocs",
    "deprecated",
    "readOnly",
    "writeOnly",
    "description",
    "not",
}
"""`not` says in the contract which fields exclude or need each other; handlers check that with better messages."""
LANGUAGE = re.compile(r"[a-zA-Z]{3}\Z")


def draft4(schema: object) -> Any:
    """An OpenAPI 3.0 schema as JSON Schema draft 4: `nullable` becomes a type; documentation and `x-` keys are removed.
    The pattern of a value that is looked up (`x-looked-up`) is not checked here: a value of another form is simply not
    found.
    """
    if isinstance(schema, list):
        return [draft4(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in DROPPED or key.startswith("x-") or (key == "format" and "x-looked-up" in schema):
            continue
        if key == "properties":
            result[key] = {name: draft4(part) for name, part in value.items()}
        else:
            result[key] = value if key in ("enum", "default", "required") else draft4(value)
    return _with_null(result) if result.pop("nullable", False) else result


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        return schema
    return {"anyOf": [{"type": "null"}, schema]}


class Schema:
    """A schema of one contract document; its references lead to the document's named schemas (draft 4 already). It is
    compiled when first used, only with the named schemas that it reaches: hundreds of schemas, each with a copy of all,
    would use hundreds of megabytes in every process.
    """

    def __init__(self, schema: Mapping[str, Any], named: Mapping[str, Any]) -> None:
        self._schema = schema
        self._named = named

    @cached_property
    def _validator(self) -> Any:
        formats: dict[str, Callable[[str], bool]] = {"uuid": is_uuid}
        part = draft4(dict(self._schema))
        if "$ref" in part:
            part = {"allOf": [{"$ref": part["$ref"]}]}
        document = {**part, "components": {"schemas": _reach(part, self._named)}}
        return jsonschema_rs.Draft4Validator(document, validate_formats=True, formats=formats)

    def accepts(self, value: object) -> bool:
        return bool(self._validator.is_valid(value))

    def errors(self, value: object) -> Errors:
        """What is wrong with a value, keyed by field; empty if it is valid."""
        found: Errors = {}
        for error in self._validator.iter_errors(value):
            for path, text in _explain(error):
                _place(found, path or ["non_field_errors"], text)
        return found


def _reach(part: object, schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The named schemas that a schema refers to, directly or through others."""
    reached: dict[str, Any] = {}
    ahead = [part]
    while ahead:
        item = ahead.pop()
        if isinstance(item, list):
            ahead += item
        elif isinstance(item, dict):
            reference = item.get("$ref")
            name = reference.rpartition("/")[2] if isinstance(reference, str) else None
            if name is not None and name not in reached:
                reached[name] = schemas[name]
                ahead.append(schemas[name])
            ahead += item.values()
    return reached


def _explain(error: Any) -> list[tuple[list[Any], str]]:
    path = list(error.instance_path)
    kind = error.kind.name
    if kind == "required":
        return [([*path, error.kind.property], "A value is required.")]
    if kind in ("anyOf", "oneOf"):
        return _explain_best_branch(error.kind.context, path)
    return [(path, message_for(kind, error))]


def _explain_best_branch(branches: list[list[Any]], path: list[Any]) -> list[tuple[list[Any], str]]:
    """The errors of the alternative whose type matches, otherwise of the first one."""

    def is_foreign(branch: list[Any]) -> bool:
        return any(error.kind.name == "type" and list(error.instance_path) == path for error in branch)

    fitting = [branch for branch in branches if not is_foreign(branch)] or branches[:1]
    return [explained for error in fitting[0] for explained in _explain(error)]


TYPE_TEXTS = {
    "string": "Expected a string.",
    "integer": "Expected a whole number.",
    "number": "Expected a number.",
    "boolean": "Expected true or false.",
    "array": "Expected a list.",
    "object": "Expected an object.",
}
FORMAT_TEXTS = {"uuid": "Expected a UUID.", "uri": "Expected a URL.", "date-time": "Expected a date and time."}


def message_for(kind: str, error: Any) -> str:
    """A message for people about a failed keyword of a schema."""
    value = getattr(error.kind, "value", None)
    if kind == "type":
        names = [name for name in error.kind.types if name != "null"]
        if error.instance is None:
            return "Null is not allowed."
        return TYPE_TEXTS.get(names[0], "This value has the wrong type.") if names else "Only null is allowed."
    if kind == "minLength":
        return "An empty value is not allowed." if value == 1 else f"At least {value} characters."
    if kind == "enum":
        words = ", ".join(str(option) for option in error.kind.options if option is not None)
        return f"Expected one of: {words}."
    texts = {
        "maxLength": f"At most {value} characters.",
        "minItems": "An empty list is not allowed." if value == 1 else f"At least {value} items.",
        "maxItems": f"At most {value} items.",
        "minProperties": "An empty object is not allowed.",
        "maxProperties": f"At most {value} entries.",
        "minimum": f"Expected a number of at least {value}.",
        "maximum": f"Expected a number of at most {value}.",
        "format": FORMAT_TEXTS.get(str(value), "This value is not well-formed."),
        "pattern": "This value is not well-formed.",
        "uniqueItems": "Items must not repeat.",
        "additionalProperties": "Unknown entries are not allowed.",
    }
    return texts.get(kind, "This value is not allowed.")


def _place(found: Errors, path: list[Any], text: str) -> None:
    """Put a message at its path; a message about a whole field replaces those about its parts."""
    node = found
    for step in path[:-1]:
        inner = node.setdefault(str(step), {})
        if isinstance(inner, list):
            return
        node = inner
    last = str(path[-1])
    if isinstance(node.get(last), list):
        node[last].append(text)
    else:
        node[last] = [text]
