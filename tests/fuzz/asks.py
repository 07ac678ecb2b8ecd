"""Requests as a server hands them to the application, and valid ones of every operation to begin with."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

import orjson

from openapi.table import follow
from tests.contract.bodies import examples_of
from tests.contract.documents import Operation
from tests.fuzz.memory import Memory

JSON_TYPE, FORM_TYPE, MULTIPART_TYPE = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
BOUNDARY = "a-boundary"
OPTIONAL_PART, KNOWN_PART, AGAIN_PART = 0.25, 0.8, 0.25
"""How often a parameter that may be left out is sent, a value is one that the service told, and a request begins as one
that was accepted before."""


@dataclass(frozen=True)
class Ask:
    """A request: `path` is as it was typed, `query` and `headers` may name something twice. `operation` is the one it
    was made for; `is_whole` says whether nothing was spoiled in it.
    """

    operation: Operation
    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Sequence[tuple[str, str]] = ()
    document: Any = None
    body: bytes = b""
    is_whole: bool = True

    @property
    def target(self) -> str:
        return self.path + ("?" + "&".join(f"{name}={value}" for name, value in self.query) if self.query else "")


@dataclass
class Writer:
    """Writes valid requests: from the examples of the contract, from what was accepted, with records of answers.
    `prefix` stands before the paths of the contract; one of `rights` goes with each request: its headers.
    """

    document: Mapping[str, Any]
    prefix: str
    rights: Sequence[Sequence[tuple[str, str]]]
    memory: Memory
    examples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def write(self, operation: Operation, chance: random.Random) -> Ask:
        accepted = self.memory.accepted.get(str(operation))
        if accepted and chance.random() < AGAIN_PART:
            again = chance.choice(accepted)
            return replace(again, headers=[*chance.choice(self.rights), *_type_of(again)])
        shared = self.document["paths"][operation.path].get("parameters", ())
        parameters = [follow(part, self.document) for part in (*shared, *operation.body.get("parameters", ()))]
        path = self.prefix + operation.path
        for part in (one for one in parameters if one["in"] == "path"):
            path = path.replace("{" + part["name"] + "}", quote(str(self.value_of(part, chance)), safe=""))
        query = [
            (part["name"], quote(str(self.value_of(part, chance))))
            for part in parameters
            if part["in"] == "query" and (part.get("required") or chance.random() < OPTIONAL_PART)
        ]
        ask = Ask(operation, operation.method.upper(), path, query, chance.choice(self.rights))
        return self._with_body(ask, chance)

    def value_of(self, part: Mapping[str, Any], chance: random.Random) -> Any:
        """A value of a parameter: one that the service told, an example, or one of its form."""
        told = self.memory.recall(part["name"], chance)
        if told is not None and chance.random() < KNOWN_PART:
            return told
        if "example" in part:
            return part["example"]
        return value_of_schema(follow(part["schema"], self.document), chance)

    def _with_body(self, ask: Ask, chance: random.Random) -> Ask:
        content = ask.operation.body.get("requestBody", {}).get("content", {})
        if JSON_TYPE in content:
            known = self.examples.setdefault(str(ask.operation), [])
            if not known:
                known += list(examples_of(ask.operation)) or [{}]
            document = self.memory.with_own(chance.choice(known), chance, KNOWN_PART)
            headers = [*ask.headers, ("content-type", JSON_TYPE)]
            return replace(ask, document=document, body=orjson.dumps(document), headers=headers)
        if FORM_TYPE in content:
            schema = follow(content[FORM_TYPE]["schema"], self.document)
            pairs = [
                f"{name}={quote(str(self.value_of({'name': name, 'schema': part}, chance)))}"
                for name, part in schema.get("properties", {}).items()
                if name in schema.get("required", ()) or chance.random() < KNOWN_PART
            ]
            return replace(ask, body="&".join(pairs).encode(), headers=[*ask.headers, ("content-type", FORM_TYPE)])
        if MULTIPART_TYPE in content:
            kind = f"{MULTIPART_TYPE}; boundary={BOUNDARY}"
            return replace(ask, body=upload(chance), headers=[*ask.headers, ("content-type", kind)])
        return ask


def _type_of(ask: Ask) -> Iterator[tuple[str, str]]:
    yield from (pair for pair in ask.headers if pair[0] == "content-type")


def upload(chance: random.Random) -> bytes:
    """A form with one file."""
    name, kind, content = chance.choice(
        [
            ("photo.png", "image/png", b"\x89PNG\r\n\x1a\n" + chance.randbytes(40)),
            ("contacts.csv", "text/csv", b"Phone,Name\r\n+250788111222,Amina\r\n"),
            ("contacts.csv", "text/csv", "URN:tel,Field:Age\n+250788111223,\u0663\n".encode("utf-16")),
            ("talk.mp3", "audio/mpeg", b"ID3" + chance.randbytes(20)),
        ]
    )
    disposition = f'form-data; name="file"; filename="{name}"'
    head = f"--{BOUNDARY}\r\nContent-Disposition: {disposition}\r\nContent-Type: {kind}\r\n\r\n"
    return head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()


def value_of_schema(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """Something of this type; patterns are not regarded."""
    if "enum" in schema:
        return chance.choice(schema["enum"])
    if "example" in schema:
        return schema["example"]
    kind, form = schema.get("type"), schema.get("format")
    if kind in ("integer", "number"):
        return chance.choice([0, 1, 2, 250])
    if kind == "boolean":
        return chance.choice(["true", "false"])
    if form == "date-time":
        return "2026-03-04T05:06:07.123Z"
    return chance.choice(["hello", "+250788000111", "eng", "1"])
