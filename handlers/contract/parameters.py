"""Query parameters as the contract describes them: read, split, converted and checked."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

from handlers.contract.schemas import Schema
from persistence.errors import RecordMissing, Refused
from persistence.sql.columns import read_id

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")
LOST_PLUS = re.compile(r"([Tt][0-9:.,]+) ([0-9]{2}:?[0-9]{2})\Z")
"""A time zone whose unescaped `+` has become a space in a query string."""
TRUE_WORDS = {"true", "y", "yes", "1"}
TIME_PARAMETERS = ("before", "after", "modified_after")
LONGEST_LIST = 100
PLACES = {"cursor": "This cursor is not valid.", "page": "This page does not exist."}


class Unset:
    """The value of a parameter that was not sent."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter of an operation, compiled."""

    name: str
    schema: Schema
    kind: str
    is_list: bool
    is_split: bool
    is_lookup: bool

    @classmethod
    def compile(
        cls, definition: Mapping[str, Any], components: Mapping[str, Any], named: Mapping[str, Any]
    ) -> "Parameter":
        schema = resolve(definition["schema"], components)
        is_list = schema.get("type") == "array"
        item = resolve(schema["items"], components) if is_list else schema
        plain = first_branch(item, components)
        kind = "boolean" if item.get("x-boolean") else str(plain.get("format") or plain.get("type"))
        if definition["name"] in TIME_PARAMETERS:
            kind = "time"
        return cls(
            name=definition["name"],
            schema=Schema({**schema, "items": item} if is_list else schema, named),
            kind="integer" if kind in ("int32", "int64") else kind,
            is_list=is_list,
            is_split=not definition.get("x-no-split", False),
            is_lookup=bool(definition.get("x-lookup", False)),
        )

    def read(self, texts: list[str]) -> Any:
        """The value of all occurrences; Unset if they are empty. Raises Refused, which names the parameter. An invalid
        cursor or page raises RecordMissing, like an unknown one.
        """
        if self.is_list:
            return self._read_list(texts)
        text = texts[-1]
        if text == "" and not self.is_lookup:
            return Unset
        value = self._convert(text)
        if not self.schema.accepts(value):
            raise RecordMissing(PLACES[self.name]) if self.name in PLACES else Refused(self._complaint(value))
        return self._finish(value)

    def _read_list(self, texts: list[str]) -> Any:
        pieces = [piece for text in texts for piece in (map(str.strip, text.split(",")) if self.is_split else [text])]
        if len(pieces) > LONGEST_LIST:
            raise Refused(f"Parameter {self.name} takes at most {LONGEST_LIST} values.")
        values = [self._convert(piece) for piece in dict.fromkeys(pieces) if piece]
        if not values:
            return Unset
        if not self.schema.accepts(values):
            raise Refused(self._complaint(values))
        return [self._finish(value) for value in values]

    def _convert(self, text: str) -> Any:
        if self.kind == "integer" and WHOLE_NUMBER.match(text):
            return int(text)
        return LOST_PLUS.sub(r"\1+\2", text) if self.kind == "time" else text

    def _finish(self, value: Any) -> Any:
        if self.kind == "boolean":
            return str(value).lower() in TRUE_WORDS
        if self.kind == "time":
            return read_time(self.name, value)
        if self.kind == "integer":
            return read_id(value)
        return value.lower() if self.kind == "uuid" else value

    def _complaint(self, value: object) -> str:
        wanted = {
            "integer": "must be a whole number",
            "uuid": "must be a UUID",
            "boolean": "must be true or false",
            "time": "must be a date or a date and time",
        }
        if self.kind in wanted:
            return f"Parameter {self.name} {wanted[self.kind]}."
        rules = dict.fromkeys(_sentences(self.schema.errors(value)))
        return f"Parameter {self.name}: {' '.join(rules)}"


def _sentences(errors: object) -> Iterator[str]:
    """The sentences of a tree of errors."""
    if isinstance(errors, str):
        yield errors
    elif isinstance(errors, (list, Mapping)):
        for each in errors.values() if isinstance(errors, Mapping) else errors:
            yield from _sentences(each)


def read_time(name: str, text: str) -> datetime:
    """A date, or date and time, as an aware datetime; without a time zone it is UTC. Raises Refused, which names the
    parameter. A time that its time zone moves out of the years 1 to 9999 becomes the first or last possible time.
    """
    try:
        moment = datetime.fromisoformat(text.strip().upper())
    except ValueError as error:
        raise Refused(f"Parameter {name} must be a date or a date and time.") from error
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        edge = datetime.max if moment.year > 1 else datetime.min
        return edge.replace(tzinfo=UTC)


def first_branch(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A schema, or the first of its alternatives: the form that clients should use."""
    return resolve(schema["anyOf"][0], components) if "anyOf" in schema else dict(schema)


def resolve(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A schema or parameter, with its reference to a component resolved."""
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    _, _, section, name = str(reference).split("/")
    return resolve(components[section][name], components)


def read_query(query_string: bytes, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """The declared parameters that were sent, converted; unknown ones are ignored."""
    sent: dict[str, list[str]] = {}
    for name, text in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True):
        if name in parameters:
            sent.setdefault(name, []).append(text)
    values = {name: parameters[name].read(texts) for name, texts in sent.items()}
    return {name: value for name, value in values.items() if value is not Unset}


def check_lookups(values: Mapping[str, Any], parameters: Mapping[str, Parameter], *, needed: bool) -> None:
    """Raises Refused if several lookup parameters are sent, or none although one is `needed`."""
    lookups = sorted(name for name, parameter in parameters.items() if parameter.is_lookup)
    given = [name for name in lookups if name in values]
    if len(given) > 1:
        raise Refused(f"Use only one of these parameters: {', '.join(given)}.")
    if needed and lookups and not given:
        raise Refused(f"One of these parameters is required: {', '.join(lookups)}.")
