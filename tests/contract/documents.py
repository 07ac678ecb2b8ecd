"""The bundled documents under test, and functions that traverse them."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema_rs

from handlers.contract.schemas import Schema, draft4
from openapi.bundle import GENERATIONS, bundle, bundle_root, contract_folder, operations
from openapi.table import follow

Part = Mapping[str, Any]
PAIRS = "/contact_doubles.json"
"""A list of pairs of records, of which a filled workspace has none; it has tests of its own."""


@dataclass(frozen=True)
class Operation:
    """One operation with its document."""

    root: str
    path: str
    method: str
    body: Part

    def __str__(self) -> str:
        return f"{self.root} {self.method.upper()} {self.path}"

    @property
    def generation(self) -> str:
        return self.root.split("/")[0]

    @property
    def reads_one(self) -> bool:
        """Whether it reads what belongs to one record, which it has to name; it has tests of its own."""
        return self.method == "get" and any(part.get("required") for part in self.parameters() if part["in"] == "query")

    @property
    def needs_parameters(self) -> bool:
        return any(part.get("required") for part in self.parameters())

    def parameters(self) -> list[dict[str, Any]]:
        return [follow(part, document(self.root)) for part in self.body.get("parameters", ())]

    def needs(self, name: str) -> list[str]:
        """The parameters without which another one is refused."""
        return [each for part in self.parameters() if part["name"] == name for each in part.get("x-needs", ())]

    def request_schemas(self) -> dict[str, Part]:
        content = self.body.get("requestBody", {}).get("content", {})
        return {media_type: part["schema"] for media_type, part in content.items()}


def roots() -> list[str]:
    """Every root file, as `v2/openapi.yaml`."""
    folder = contract_folder()
    return sorted(f"{path.parent.name}/{path.name}" for path in folder.glob("*/*.yaml") if path.parent.name != "shared")


@cache
def document(root: str) -> dict[str, Any]:
    generation, _, name = root.partition("/")
    is_kept = generation in GENERATIONS and name == "openapi.yaml"  # bundled once for all processes
    return bundle(generation) if is_kept else bundle_root(contract_folder() / root)


def all_operations() -> list[Operation]:
    return [Operation(root, *found) for root in roots() for found in operations(document(root))]


def token_operations() -> list[Operation]:
    """All operations except those of a person, for which a token is not enough and which have tests of their own."""
    return [each for each in all_operations() if not each.body.get("x-personal")]


def kinds_of(operation: Operation) -> set[tuple[Any, ...]]:
    """What a request is made of, each with the method: the kinds of parameters, and of bodies."""
    schemas = [(part, part.get("schema", {})) for part in operation.parameters()]
    kinds = {
        (part["in"], part.get("required"), each.get("type"), each.get("format"), "enum" in each, "default" in each)
        for part, each in schemas
    }
    bodies = [(media_type,) for media_type in operation.request_schemas()]
    return {(operation.method, *kind) for kind in (*kinds, *bodies, ())}


def with_each_kind(
    operations: list[Operation], kinds_of: Callable[[Operation], set[tuple[Any, ...]]] = kinds_of
) -> list[Operation]:
    """Those that have a kind of parameter or body which no other one of them has."""
    seen: set[tuple[Any, ...]] = set()
    chosen = []
    for operation in operations:
        if not kinds_of(operation) <= seen:
            seen |= kinds_of(operation)
            chosen.append(operation)
    for operation in [*chosen]:
        others = [kinds_of(each) for each in chosen if each is not operation]
        if kinds_of(operation) <= set().union(*others):
            chosen.remove(operation)
    return chosen


@cache
def _named(root: str) -> dict[str, Any]:
    parts = document(root)["components"].get("schemas", {})
    return {name: draft4(part) for name, part in parts.items()}


def complaints(root: str, schema: Part, example: Any) -> dict[str, Any]:
    """What the draft-4 translation of a schema says against an example."""
    return Schema(schema, _named(root)).errors(example)


def rules_out(root: str, rule: Part, value: Any) -> bool:
    """Whether a rule that stands below `not` is true of a value."""
    return bool(_validator(root, json.dumps(rule)).is_valid(value))


@cache
def _validator(root: str, rule: str) -> Any:
    document_with_rule = {"allOf": [json.loads(rule)], "components": document(root)["components"]}
    return jsonschema_rs.Draft4Validator(document_with_rule)


def schemas_below(node: Any, where: str = "") -> Iterator[tuple[str, Part]]:
    """Every schema object below a node by its place, without following references and not inside examples or `not`."""
    if isinstance(node, list):
        for index, item in enumerate(node):
            yield from schemas_below(item, f"{where}/{index}")
    elif isinstance(node, Mapping):
        if "type" in node or "anyOf" in node or "properties" in node:
            yield where, node
        for key, item in node.items():
            if key not in ("example", "examples", "enum", "default", "not"):
                yield from schemas_below(item, f"{where}/{key}")


def properties_below(root: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every property of every schema of a document, references followed."""
    for where, schema in schemas_below({**document(root)["components"], "paths": document(root)["paths"]}):
        for name, part in schema.get("properties", {}).items():
            yield f"{where}.{name}", follow(part, document(root))


def reachable(root: str, schema: Part) -> Iterator[Part]:
    """A schema and all schemas it is made of, references followed."""
    here = follow(schema, document(root))
    yield here
    inner = [*here.get("anyOf", ()), *here.get("allOf", ()), *here.get("properties", {}).values()]
    inner += [here[key] for key in ("items", "additionalProperties") if isinstance(here.get(key), Mapping)]
    for part in inner:
        yield from reachable(root, part)
