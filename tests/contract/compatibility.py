"""What of a contract breaks clients of an older one: a small set of rules over two bundled documents."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from openapi.bundle import HTTP_METHODS

Part = Mapping[str, Any]
LOWER = ("minLength", "minItems", "minimum")
UPPER = ("maxLength", "maxItems", "maximum", "maxProperties")
COMBINED = ("allOf", "anyOf", "oneOf")


@dataclass(slots=True)
class Comparison:
    """Of an older document with a newer one. Requests may be taken more freely, answers must keep their shape."""

    older: Part
    newer: Part
    seen: set[tuple[str, str, bool]] = field(default_factory=set)

    def breaks(self) -> Iterator[str]:
        for path, item in self.older["paths"].items():
            for method in (each for each in HTTP_METHODS if each in item):
                place = f"{method.upper()} {path}"
                newer = self.newer["paths"].get(path, {}).get(method)
                if newer is None:
                    yield f"{place} is gone"
                else:
                    yield from self._operation(place, item[method], newer)

    def _operation(self, place: str, older: Part, newer: Part) -> Iterator[str]:
        if older["operationId"] != newer["operationId"]:
            yield f"{place} has another operationId"
        yield from self._parameters(place, older, newer)
        yield from self._body(place, older, newer)
        for status, answer in older["responses"].items():
            other = newer["responses"].get(status)
            if other is None:
                if status.startswith("2"):
                    yield f"{place} answers {status} no more"
                continue
            yield from self._contents(f"{place} {status}", _at(self.older, answer), _at(self.newer, other), False)

    def _parameters(self, place: str, older: Part, newer: Part) -> Iterator[str]:
        before = {(each["in"], each["name"]): each for each in self._listed(self.older, older)}
        after = {(each["in"], each["name"]): each for each in self._listed(self.newer, newer)}
        for key, given in before.items():
            where = f"{place} parameter {key[1]}"
            if key not in after:
                yield f"{where} is gone"
                continue
            if after[key].get("required") and not given.get("required"):
                yield f"{where} is required now"
            yield from self._schema(where, given["schema"], after[key]["schema"], True)
        for key in after.keys() - before.keys():
            if after[key].get("required"):
                yield f"{place} requires the new parameter {key[1]}"

    def _listed(self, document: Part, operation: Part) -> Iterator[Part]:
        return (_at(document, each) for each in operation.get("parameters", ()))

    def _body(self, place: str, older: Part, newer: Part) -> Iterator[str]:
        before, after = _at(self.older, older.get("requestBody", {})), _at(self.newer, newer.get("requestBody", {}))
        if after.get("required") and not before.get("required"):
            yield f"{place} requires a body now"
        yield from self._contents(f"{place} body", before, after, True)

    def _contents(self, place: str, older: Part, newer: Part, is_request: bool) -> Iterator[str]:
        for kind, content in older.get("content", {}).items():
            other = newer.get("content", {}).get(kind)
            if other is None:
                yield f"{place} has no {kind} any more"
            elif "schema" in content:
                yield from self._schema(place, content["schema"], other.get("schema", {}), is_request)

    def _schema(self, place: str, older: Part, newer: Part, is_request: bool) -> Iterator[str]:
        names = (str(older.get("$ref", "")), str(newer.get("$ref", "")), is_request)
        if any(names[:2]) and names in self.seen:
            return
        self.seen.add(names)
        older, newer = _at(self.older, older), _at(self.newer, newer)
        yield from self._values(place, older, newer, is_request)
        yield from self._properties(place, older, newer, is_request)
        if "items" in older and "items" in newer:
            yield from self._schema(f"{place}[]", older["items"], newer["items"], is_request)
        for word in COMBINED:
            before, after = older.get(word, ()), newer.get(word, ())
            if is_request and word != "allOf" and 0 < len(after) < len(before):
                yield f"{place} takes fewer alternatives"
            for one, other in zip(before, after, strict=False):
                yield from self._schema(place, one, other, is_request)

    def _values(self, place: str, older: Part, newer: Part, is_request: bool) -> Iterator[str]:
        kept, kind = older.get("type"), newer.get("type")
        if kept and kind != kept and not (is_request and (kind is None or (kept, kind) == ("integer", "number"))):
            yield f"{place} is {kind}, not {kept}"
        if newer.get("nullable") and not older.get("nullable") and not is_request and older.get("type"):
            yield f"{place} may be null now"
        if older.get("nullable") and not newer.get("nullable") and is_request and newer.get("type"):
            yield f"{place} may not be null any more"
        if not is_request:
            return
        gone = set(map(str, older.get("enum", ()))) - set(map(str, newer.get("enum", older.get("enum", ()))))
        if gone or ("enum" in newer and "enum" not in older):
            yield f"{place} takes no {sorted(gone) or 'other values'} any more"
        for word in LOWER:
            if newer.get(word, 0) > older.get(word, 0):
                yield f"{place} has a higher {word}"
        for word in UPPER:
            if word in newer and newer[word] < older.get(word, float("inf")):
                yield f"{place} has a lower {word}"

    def _properties(self, place: str, older: Part, newer: Part, is_request: bool) -> Iterator[str]:
        before, after = older.get("properties", {}), newer.get("properties", {})
        for name, schema in before.items():
            if name in after:
                yield from self._schema(f"{place}.{name}", schema, after[name], is_request)
            elif after:
                yield f"{place}.{name} is gone"
        required = set(older.get("required", ())), set(newer.get("required", ()))
        more, fewer = required[1] - required[0], required[0] - required[1]
        if is_request and more:
            yield f"{place} requires {sorted(more)} now"
        if not is_request and fewer:
            yield f"{place} may lack {sorted(fewer)} now"


def _at(document: Part, part: Part) -> Part:
    """The part that a reference names."""
    while "$ref" in part:
        found: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        part = found
    return part
