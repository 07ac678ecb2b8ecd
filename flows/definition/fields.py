"""The properties of actions: their rules and their meaning (flow format, actions and limits). A rule gets the value of
a property, None if there is none, and raises CheckFailed if it is invalid.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from flows.definition.raw_parts import is_uuid
from flows.expressions.decimals import check_range
from flows.expressions.evaluation import ExpressionError
from flows.words import told

NAME_LENGTH, TEXT_LENGTH, VALUE_LENGTH = 64, 10_000, 1000
QUICK_REPLY_LENGTH, ATTACHMENT_LENGTH = 1000, 2048
MOST_ATTACHMENTS, MOST_QUICK_REPLIES, MOST_REFERENCES = 10, 10, 100
# Local variables as expressions look them up.
LOCAL_NAME = r"[_a-zA-Z][_a-zA-Z0-9]{0,63}"


class CheckFailed(Exception):
    """What is wrong with a value; `path` leads from the property to the invalid part, like `[0].uuid`."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.path = path


Rule: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Field:
    """A property of actions of one type: its rule, and what reading, translating and inspecting flows need to know.
    `refers_to` is the kind of asset that the property refers to, `match` the names of properties of the reference that
    may contain a template instead. Variables of a channel's template are not `listed` for translators.

    The rest is for forms that ask for the property: `kind` says how (see `KINDS`); `choices`, `longest` (characters)
    and `most` (items) say what is possible. What is `is_more` is asked for on demand only.
    """

    rule: Rule
    kind: str = "json"
    is_list: bool = False
    is_template: bool = False
    is_translated: bool = False
    is_listed: bool = False
    is_local: bool = False
    refers_to: str = ""
    match: tuple[str, ...] = ()
    is_required: bool = False
    is_more: bool = False
    choices: tuple[str, ...] = ()
    longest: int | None = None
    most: int | None = None


KINDS = frozenset(
    {"amounts", "attachment", "boolean", "choice", "flags", "json", "long_text", "map", "reference", "text", "url"}
)
"""How forms ask for a property: `flags` is an object with booleans, `map` one with texts, `amounts` one with numbers;
what is of kind `json` is shown as it is."""


def asked(field: Field, kind: str = "", *, choices: tuple[str, ...] = (), is_more: bool = False) -> Field:
    """The same property, asked for in another way, or on demand only."""
    kind = kind or field.kind
    return replace(field, kind=kind, choices=choices or field.choices, is_more=is_more)


def text(longest: int | None = None, *, required: bool = False, pattern: str = "") -> Field:
    """A string of limited length; `required` also rejects an empty one. A pattern must match the whole string."""
    compiled = re.compile(pattern)

    def check(value: object) -> None:
        if value is None or value == "":
            if required:
                raise CheckFailed("is required")
            return
        if not isinstance(value, str):
            raise CheckFailed(f"is {told(value)}; a text is needed")
        if longest is not None and len(value) > longest:
            raise CheckFailed(f"has {len(value)} characters; at most {longest} are possible")
        if pattern and not compiled.fullmatch(value):
            raise CheckFailed(f"{told(value)} has characters that are not possible here (the rule is {pattern})")

    kind = "text" if longest is None or longest < TEXT_LENGTH else "long_text"
    return Field(check, kind, is_required=required, longest=longest)


def template(longest: int | None = None, *, required: bool = False) -> Field:
    """A text with expressions in it."""
    return replace(text(longest, required=required), is_template=True)


def translated(field: Field, *, is_listed: bool = True) -> Field:
    """A text, or a list of texts, that may be translated."""
    return replace(field, is_translated=True, is_listed=is_listed)


def local_name() -> Field:
    """The name of the local variable that an action sets."""
    return replace(text(required=True, pattern=LOCAL_NAME), is_local=True)


def one_of(values: Collection[str]) -> Field:
    """One of a set of strings."""

    def check(value: object) -> None:
        if not isinstance(value, str) or value not in values:
            raise CheckFailed(f"{told(value)} is none of {', '.join(sorted(values))}")

    return Field(check, "choice", is_required=True, choices=tuple(sorted(values)))


def items(item: Field, most: int | None = None, *, required: bool = False) -> Field:
    """A list of limited length whose items are all checked."""

    def check(value: object) -> None:
        if required and value is None:
            raise CheckFailed("is required")
        if value is not None and not isinstance(value, list):
            raise CheckFailed(f"is {told(value)}; a list is needed")
        if value and most is not None and len(value) > most:
            raise CheckFailed(f"has {len(value)} items; at most {most} are possible")
        for position, each in enumerate(value or ()):
            check_part(item.rule, each, f"[{position}]")

    return replace(item, rule=check, is_list=True, is_required=required, most=most)


def reference(
    refers_to: str, longest_name: int | None = None, *, match: str = "", key: str = "uuid", required: bool = False
) -> Field:
    """A reference to an asset by UUID or key; with `match`, by a template in the property of that name instead."""
    name_rule, match_rule = text(longest_name).rule, text().rule
    key_rule = _check_uuid if key == "uuid" else text(required=True).rule

    def check(value: object) -> None:
        if value is None and not required:
            return
        if not isinstance(value, Mapping):
            raise CheckFailed(f"is {told(value)}; an object with {key} and name is needed")
        if not (match and value.get(match) and not value.get(key)):
            check_part(key_rule, value.get(key), f".{key}")
        check_part(name_rule, value.get("name"), ".name")
        if match:
            check_part(match_rule, value.get(match), f".{match}")

    found_by = (match,) if match else ()
    return Field(check, "reference", refers_to=refers_to, match=found_by, is_required=required)


def named(refers_to: str) -> Field:
    """A reference by UUID, or by a name that may be a template."""
    return reference(refers_to, NAME_LENGTH, match="name_match", required=True)


def user() -> Field:
    """A reference to a user: by UUID, or by an e-mail address that may be a template."""
    matches = ("email_match", "email")
    rules = {match: reference("user", match=match, required=True).rule for match in matches}

    def check(value: object) -> None:
        if value is None:
            return
        if not isinstance(value, Mapping):
            raise CheckFailed(f"is {told(value)}; an object with uuid, or email, and name is needed")
        rules["email_match" if value.get("email_match") else "email"](value)

    return Field(check, "reference", refers_to="user", match=matches)


def texts_by_name(most: int, longest_name: int, longest: int, name_pattern: str) -> Field:
    """An object of limited size with templates as values; its names must match a pattern."""
    name_rule, text_rule = text(longest_name, required=True, pattern=name_pattern).rule, text(longest).rule

    def check(value: object) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise CheckFailed(f"is {told(value)}; an object with texts is needed")
        if value and len(value) > most:
            raise CheckFailed(f"has {len(value)} items; at most {most} are possible")
        for name, item in (value or {}).items():
            check_part(name_rule, name, f".{name}")
            check_part(text_rule, item, f".{name}")

    return Field(check, "map", is_template=True, longest=longest, most=most)


def amounts_by_currency(largest: Decimal, longest_currency: int) -> Field:
    """An object that is not empty, with currency codes as names and numbers from 0 to `largest` as values."""
    currency_rule = text(longest_currency, required=True).rule

    def check_amount(value: object) -> None:
        # Only a number within the allowed range can be compared without expanding all of its digits.
        if not 0 <= _check_number(value) <= largest:
            raise CheckFailed(f"{told(value)} is not between 0 and {largest:f}")

    def check(value: object) -> None:
        if not isinstance(value, Mapping) or not value:
            raise CheckFailed('an object with an amount for each currency is needed, such as {"RWF": 500}')
        for name, item in value.items():
            check_part(currency_rule, name, f".{name}")
            check_part(check_amount, item, f".{name}")

    return Field(check, "amounts", is_required=True)


def boolean() -> Field:
    """True, false or nothing."""

    def check(value: object) -> None:
        if value is not None and not isinstance(value, bool):
            raise CheckFailed(f"{told(value)} is neither true nor false")

    return Field(check, "boolean")


def unchecked(value: object) -> None:
    """A rule that accepts everything."""


def check_part(rule: Rule, value: object, path: str) -> None:
    """Applies a rule to a part; the path of its CheckFailed begins with the part's."""
    try:
        rule(value)
    except CheckFailed as failed:
        raise CheckFailed(failed.message, path + failed.path) from None


def any_of(*names: str) -> Rule:
    """A rule for a whole action: at least one of these properties is required; if there is none, the first is
    reported."""

    def check(fields: Any) -> None:
        if not any(fields.get(name) for name in names):
            raise CheckFailed("is required" if len(names) == 1 else f"one of {', '.join(names)} is required", names[0])

    return check


def _check_uuid(value: object) -> None:
    if not is_uuid(value):
        raise CheckFailed(f"{told(value)} is not a UUID")


def _check_number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise CheckFailed(f"{told(value)} is not a number")
    try:
        return check_range(Decimal(str(value) if isinstance(value, float) else value))
    except (ExpressionError, InvalidOperation):
        raise CheckFailed(f"{told(value)} is out of the range of numbers") from None


RECIPIENTS: Mapping[str, Field] = {
    "groups": items(named("group")),
    "contacts": items(reference("contact", required=True)),
    "contact_query": template(TEXT_LENGTH),
    "urns": asked(items(text(required=True)), is_more=True),
    "legacy_vars": asked(items(template()), is_more=True),
}
"""Whom an action is for, other than the contact."""
MESSAGE: Mapping[str, Field] = {
    "text": translated(template(TEXT_LENGTH)),
    "attachments": asked(translated(items(template(ATTACHMENT_LENGTH), MOST_ATTACHMENTS)), "attachment"),
    "quick_replies": translated(items(template(QUICK_REPLY_LENGTH), MOST_QUICK_REPLIES)),
    "template": asked(reference("template"), is_more=True),
    "template_variables": asked(translated(items(template()), is_listed=False), is_more=True),
}
"""What a message says."""
