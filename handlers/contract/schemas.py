"""Compiled JSON schemas: OpenAPI 3.0 schema objects as draft 4 validators, and their errors in the form of the API.

Query parameters as the contract describes them: read, split, converted and checked.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import jsonschema_rs

from persistence.errors import RecordMissing, Refused
from persistence.sql.columns import is_uuid, read_id

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
AS_GIVEN = ("enum", "default", "required")
"""Keywords of a schema whose values are no schemas."""
LANGUAGE = re.compile(r"[a-zA-Z]{3}\Z")

KIND_CODES = {
    "required": "required",
    "type": "wrong_type",
    "minLength": "too_short",
    "minItems": "too_short",
    "minProperties": "too_short",
    "maxLength": "too_long",
    "maxItems": "too_long",
    "maxProperties": "too_long",
    "enum": "not_one_of",
    "minimum": "out_of_range",
    "maximum": "out_of_range",
    "format": "wrong_form",
    "pattern": "wrong_form",
    "uniqueItems": "repeated",
    "additionalProperties": "unknown_field",
}
TYPE_TEXTS = {
    "string": "Expected a string.",
    "integer": "Expected a whole number.",
    "number": "Expected a number.",
    "boolean": "Expected true or false.",
    "array": "Expected a list.",
    "object": "Expected an object.",
}
FORMAT_TEXTS = {
    "uuid": "Expected a UUID, like 6f1b0d6e-4f36-4d0b-9d5c-2f5f1f3c8a11.",
    "uri": "Expected a URL, like https://example.org/hook.",
    "date-time": "Expected a date and a time, like 2027-03-02T08:00:00Z.",
    "date": "Expected a date, like 2027-03-02.",
}
BLANK = "An empty value is not allowed, nor one of spaces only."
NAME_FORM = 'A name must not be blank, and has no quotation mark (") and no backslash (\\).'
PATTERN_TEXTS = {
    r"^[^\x00]*$": "The NUL character (U+0000) is not allowed.",
    r'^[\s\x1c-\x1f\x85]*[^"\\+\-\s\x1c-\x1f\x85][^"\\]*$': f"{NAME_FORM[:-1]}, and does not begin with + or -.",
    r'^[^"\\]*[^"\\\s\x1c-\x1f\x85][^"\\]*$': NAME_FORM,
    r"[^\s\x1c-\x1f\x85]": BLANK,
    r"^(?:[A-Za-z]{2})?$": "Expected a country of two letters, like RW.",
    r"^(?:[A-Z]{2})?$": "Expected a country of two capital letters, like RW.",
    r"^[A-Z]{2}$": "Expected a country of two capital letters, like RW.",
    r"^[a-z][a-z0-9_]*$": "Expected a key: lower-case letters, digits and underscores, and a letter first.",
    r"^[a-zA-Z]{3}$": "Expected a language of three letters (ISO 639-3), like eng.",
    r"^[a-zA-Z]+:[\s\S]+$": "Expected a URN: a scheme, a colon and an address, like tel:+250788123123.",
    r"^[A-Za-z0-9-]{1,36}$": "Expected up to 36 letters, digits and hyphens.",
    r"^[0-9]{1,19}$": "Expected up to 19 digits.",
    r"^([01][0-9]|2[0-3]):[0-5][0-9]$": "Expected a time of day from 00:00 to 23:59, like 08:30.",
    r"^[0-9]+$": "Expected digits only.",
    r"^\+[0-9]+$": "Expected a + and digits, like +250.",
    r"^[MTWRFSU]*$": "Expected weekdays: letters of MTWRFSU, beginning with Monday.",
    r"^([MTWRFSU]*|[1-9]|[12][0-9]|3[01])$": "Expected weekdays, letters of MTWRFSU, or a day of the month, like 15.",
    r"^[A-Za-z0-9_\-]+$": "Expected letters from A to Z, digits, underscores and hyphens.",
    r"^[Hh][Tt][Tt][Pp][Ss]?://[!-~]+$": "Expected an origin such as https://example.org, in Latin letters.",
    r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s]+$": "Expected a URL that begins with http:// or https:// and has no spaces.",
}
"""What a pattern of the contract demands, in words; a test demands one for each. Those of UUIDs and of times are known
by their beginning, those of words by the letters that they list."""
UUID_PATTERN, ID_OR_UUID, TIME_PATTERN = "^[0-9a-fA-F]{8}-", ("^(?:[0-9]{1,19}|", "^([0-9]{1,19}|"), "^(?:(?:000[1-9]"
BOOLEAN_PATTERN, LETTERS = "^(?:[Tt][Rr][Uu][Ee]|", re.compile(r"\^\[([a-z]+)\]\?\$\Z")

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")
LOST_PLUS = re.compile(r"([Tt][0-9:.,]+) ([0-9]{2}:?[0-9]{2})\Z")
"""A time zone whose unescaped `+` has become a space in a query string."""
TRUE_WORDS = {"true", "y", "yes", "1"}
TIME_PARAMETERS = ("before", "after", "modified_after")
LONGEST_LIST = 100
MOST_NAMED = 20
"""Parameters that an error names."""
DEEPEST_STEPS = 4
"""A field and the three levels in it of the contract's `FieldProblem`."""
PLACES = {"cursor": "This cursor is not valid.", "page": "This page does not exist."}


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
            result[key] = value if key in AS_GIVEN else draft4(value)
    return _with_null(result) if result.pop("nullable", False) else result


def pattern_text(pattern: str) -> str | None:
    """The rule of a pattern; None for one that nobody has put into words."""
    if pattern in PATTERN_TEXTS:
        return PATTERN_TEXTS[pattern]
    letters = LETTERS.match(pattern)
    if letters is not None:
        return f"Expected one of the letters {', '.join(letters[1])}."
    if pattern.startswith(UUID_PATTERN):
        return FORMAT_TEXTS["uuid"]
    if pattern.startswith(ID_OR_UUID):
        return "Expected an id (up to 19 digits) or a UUID."
    if pattern.startswith(TIME_PATTERN):
        return "Expected a date, or a date and a time, like 2027-03-02T08:00:00Z."
    if pattern.startswith(BOOLEAN_PATTERN):
        return "Expected true or false." if "[Ff][Ll]" not in pattern else "Expected true, false, all, flows or none."
    return None


def message_for(kind: str, error: Any) -> str:
    """A message for people about a failed keyword of a schema."""
    value = getattr(error.kind, "value", None)
    if kind == "type":
        names = [name for name in error.kind.types if name != "null"]
        if error.instance is None:
            return "Null is not allowed."
        return TYPE_TEXTS[names[0]] if names else "Only null is allowed."
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
        "format": FORMAT_TEXTS.get(str(value), f"Expected the form {value}."),
        "pattern": pattern_text(str(value)) or f"Expected the form {value}.",
        "uniqueItems": "Items must not repeat.",
    }
    return texts.get(kind) or f"The rule {kind} of the contract is not met."


def _with_null(schema: dict[str, Any]) -> dict[str, Any]:
    if "enum" in schema and None not in schema["enum"]:
        schema["enum"] = [*schema["enum"], None]
    if isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        return schema
    return {"anyOf": [{"type": "null"}, schema]}


def _explain(error: Any) -> list[tuple[list[Any], str, str]]:
    path = list(error.instance_path)
    kind = error.kind.name
    if kind == "required":
        return [([*path, error.kind.property], "A value is required.", kind)]
    if kind == "additionalProperties":
        return [([*path, name], "There is no field of this name here.", kind) for name in error.kind.unexpected]
    if kind in ("anyOf", "oneOf"):
        return _explain_best_branch(error.kind.context, path)
    return [(path, message_for(kind, error), kind)]


def _explain_best_branch(branches: list[list[Any]], path: list[Any]) -> list[tuple[list[Any], str, str]]:
    """The errors of the alternative whose type matches, otherwise of the first one."""

    def is_foreign(branch: list[Any]) -> bool:
        return any(error.kind.name == "type" and list(error.instance_path) == path for error in branch)

    fitting = [branch for branch in branches if not is_foreign(branch)] or branches[:1]
    return [explained for error in fitting[0] for explained in _explain(error)]


class Schema:
    """A schema of one contract document; its references lead to the document's named schemas (draft 4 already). It is
    compiled when first used, only with the named schemas that it reaches: hundreds of schemas, each with a copy of all,
    would use hundreds of megabytes in every process. One that `is_closed` accepts no properties but those it names.
    """

    def __init__(self, schema: Mapping[str, Any], named: Mapping[str, Any], *, is_closed: bool = False) -> None:
        self._schema = schema
        self._named = named
        self._is_closed = is_closed

    @cached_property
    def _validator(self) -> Any:
        formats: dict[str, Callable[[str], bool]] = {"uuid": is_uuid}
        part = draft4(dict(self._schema))
        if "$ref" in part:
            part = {"allOf": [{"$ref": part["$ref"]}]}
        document = {**part, "components": {"schemas": _reach(part, self._named)}}
        if self._is_closed:
            document = {
                **_closed(part),
                "components": {"schemas": {name: _closed(each) for name, each in _reach(part, self._named).items()}},
            }
        return jsonschema_rs.Draft4Validator(document, validate_formats=True, formats=formats)

    def accepts(self, value: object) -> bool:
        return bool(self._validator.is_valid(value))

    def errors(self, value: object) -> Errors:
        """What is wrong with a value, keyed by field; empty if it is valid."""
        return self.examine(value)[0]

    def examine(self, value: object) -> tuple[Errors, str]:
        """The same, and the word for programs if all problems are of one kind."""
        found: Errors = {}
        kinds = set()
        for error in self._validator.iter_errors(value):
            for path, text, kind in _explain(error):
                _place(found, *_within_depth(path or ["non_field_errors"], text))
                kinds.add(KIND_CODES.get(kind, ""))
        return found, kinds.pop() if len(kinds) == 1 else ""


def _closed(schema: Any) -> Any:
    """A schema whose objects have no other properties than it names, but for those that say what others are."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _closed(value) for key, value in schema.items() if key not in (*AS_GIVEN, "properties")}
    result |= {key: schema[key] for key in AS_GIVEN if key in schema}
    if "properties" in schema:
        result["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        result.setdefault("additionalProperties", False)
    return result


class Unset:
    """The value of a parameter that was not sent."""


def resolve(schema: Mapping[str, Any], components: Mapping[str, Any]) -> dict[str, Any]:
    """A schema or parameter, with its reference to a component resolved."""
    reference = schema.get("$ref")
    if reference is None:
        return dict(schema)
    _, _, section, name = str(reference).split("/")
    return resolve(components[section][name], components)


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


def _within_depth(path: list[Any], text: str) -> tuple[list[Any], str]:
    """A path that errors may have; what lies deeper is named in the sentence, as `0.name: A value is required.`"""
    deeper = ".".join(str(step) for step in path[DEEPEST_STEPS:])
    return path[:DEEPEST_STEPS], f"{deeper}: {text}" if deeper else text


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


def _sentences(errors: object) -> Iterator[str]:
    """The sentences of a tree of errors."""
    if isinstance(errors, str):
        yield errors
    elif isinstance(errors, (list, Mapping)):
        for each in errors.values() if isinstance(errors, Mapping) else errors:
            yield from _sentences(each)


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


def check_known(query_string: bytes, parameters: Collection[str]) -> None:
    """Raises Refused, which names them, if there are other parameters than these."""
    sent = dict.fromkeys(name for name, _ in parse_qsl(query_string.decode("latin-1"), keep_blank_values=True))
    unknown = [name[:64] for name in sent if name not in parameters]
    if unknown:
        raise Refused(f"Unknown parameters: {', '.join(unknown[:MOST_NAMED])}.")


def check_members(names: Sequence[str], known: Collection[str]) -> None:
    """Raises Refused if a record has no member with one of these names."""
    unknown = [name for name in names if name not in known]
    if unknown:
        raise Refused(f"Parameter fields: there is no {', '.join(unknown)}; a record has {', '.join(sorted(known))}.")
