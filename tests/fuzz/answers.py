"""Whether an answer is one that the contract describes: status, content type, and body by its schema."""

import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from handlers.contract.operations import FIELDS, load_contract, matches
from handlers.contract.schemas import Schema, draft4
from openapi.bundle import GENERATIONS
from openapi.table import follow
from tests.contract.documents import Operation
from tests.fuzz.asks import Ask

SAFE_METHODS = ("HEAD", "OPTIONS", "GET")
MOST_SHOWN = 1500


@dataclass(frozen=True)
class Answer:
    """What the application sent; `headers` have names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def text(self) -> bytes:
        return gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body


@dataclass
class Described:
    """The answers that a document describes; each schema is compiled once, when it is first needed."""

    document: Mapping[str, Any]
    prefix: str
    operations: Sequence[Operation]
    compiled: dict[tuple[str, str, str], Schema] = field(default_factory=dict)

    @cached_property
    def named(self) -> dict[str, Any]:
        parts = self.document.get("components", {}).get("schemas", {})
        return {name: draft4(part) for name, part in parts.items()}

    def problems(self, ask: Ask, answer: Answer) -> Iterator[str]:
        """What is wrong with the answer. Nothing may be done for a request that is none of the contract."""
        operation = self.operation_of(ask)
        if answer.status >= 500:
            yield f"a server error {answer.status}"
        elif operation is not None:
            yield from self._against_operation(operation, answer, has_fields=asks_for_fields(ask))
        elif answer.status < 400 and ask.method not in SAFE_METHODS:
            yield f"{answer.status} for a method or path that the contract does not have"

    def operation_of(self, ask: Ask) -> Operation | None:
        """The operation whom a request reaches, which is another one than it was made for if it was spoiled so."""
        path = unquote(ask.path).removeprefix(self.prefix)
        if ask.method == ask.operation.method.upper() and path == ask.operation.path:
            return ask.operation
        if not unquote(ask.path).startswith(self.prefix):
            return None
        fitting = (each for each in self.operations if each.method.upper() == ask.method)
        return next((each for each in fitting if matches(each.path, path)), None)

    def _against_operation(self, operation: Operation, answer: Answer, *, has_fields: bool) -> Iterator[str]:
        responses = operation.body["responses"]
        found = responses.get(str(answer.status), responses.get("default"))
        if found is None:
            yield f"{answer.status}, which the contract does not describe"
            return
        content = follow(found, self.document).get("content", {})
        if not content:
            if answer.body:
                yield f"{answer.status} with a body, which the contract does not describe"
            return
        if answer.content_type not in content:
            yield f"{answer.status} as {answer.content_type!r}, which the contract does not describe"
        elif answer.content_type == "application/json":
            partial = find_partial(operation) if has_fields and answer.status == 200 else None
            schema = partial or self._compile(operation, answer, content[answer.content_type].get("schema", {}))
            yield from self._against_schema(answer, schema)

    def _compile(self, operation: Operation, answer: Answer, schema: Any) -> Schema:
        key = (str(operation), str(answer.status), answer.content_type)
        if key not in self.compiled:
            self.compiled[key] = Schema(schema, self.named)
        return self.compiled[key]

    def _against_schema(self, answer: Answer, schema: Schema) -> Iterator[str]:
        try:
            value = orjson.loads(answer.text)
        except ValueError:
            yield f"{answer.status} with a body that is no JSON"
            return
        errors = schema.errors(value)
        if errors:
            yield f"{answer.status} with a body against its schema: {str(errors)[:300]}"


def asks_for_fields(ask: Ask) -> bool:
    """Whether a request chooses members of records: it gets no others, also of those that are required."""
    return any(name == FIELDS for name, _ in parse_qsl(ask.target.partition("?")[2]))


def find_partial(operation: Operation) -> Schema | None:
    """What an operation answers to one that does; None if it has no such parameter."""
    rules = load_contract(operation.generation).values() if operation.generation in GENERATIONS else ()
    return next((each.partial for each in rules if each.id.endswith(f".{operation.body['operationId']}")), None)


def shown(ask: Ask, answer: Answer | None) -> str:
    """A request as somebody repeats it, and its answer."""
    headers = "".join(f" -H {f'{name}: {value}'!r}" for name, value in ask.headers if name != "authorization")
    sent = f"{ask.method} {ask.target[:MOST_SHOWN]}{headers} {ask.body[:MOST_SHOWN]!r}"
    return sent + (f"\n  {answer.status} {answer.body[:MOST_SHOWN]!r}" if answer else "\n  no answer")
