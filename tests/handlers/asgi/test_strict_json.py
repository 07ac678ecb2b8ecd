"""Strict JSON: what is refused, what is accepted, and that nothing else can come out."""

import json
import math
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from handlers.asgi.request_body import StrictJsonError, parse_strict
from tests.thinned import EVERY_CASE

LIMIT = 6
SHARE = 1 if EVERY_CASE else 8
"""Of the texts that are made up, one in so many is tried; those that taught something are examples."""
TOKENS = [
    *("[", "]", "{", "}", ",", ":", '"', "\\", '\\"', "\\\\", " ", "\n", "\x00", "\ufeff", "é", "😀"),
    *("0", "-0", "1.5", "-", "1e5", "1e999", "-1E+400", "1e-999", "9223372036854775807", "9223372036854775808"),
    *("-9223372036854775808", "-9223372036854775809", "true", "null", "NaN", "Infinity", "-Infinity"),
    *('"a"', '"b"', '"a":', '"\\u0061":', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\udE00"', '"\\\\ud800"'),
    *('{"a":1}', "[]", "{}", "[[", "]]", '[["["]]', '{"a":', "[1,2]"),
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
)
KEYS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=12)


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate")
    return dict(pairs)


def is_storable(value: Any, depth: int = 0) -> bool:
    """The rules for a parsed value, in the plainest words."""
    if isinstance(value, str):
        return not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list):
        return depth < LIMIT and all(is_storable(item, depth + 1) for item in value)
    if isinstance(value, dict):
        return depth < LIMIT and all(is_storable(part, depth + 1) for pair in value.items() for part in pair)
    return value is None


def expected(raw: bytes) -> Any:
    """What the standard parser and the rules make of a body; StrictJsonError when they refuse it."""
    try:
        text = raw.decode("utf-8")
        value = {} if not text.strip(" \t\r\n") else json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return StrictJsonError
    return value if is_storable(value) else StrictJsonError


def outcome(raw: bytes) -> Any:
    try:
        return parse_strict(raw, nesting_limit=LIMIT)
    except StrictJsonError:
        return StrictJsonError


@settings(max_examples=1500 // SHARE, deadline=None)
@given(st.lists(st.sampled_from(TOKENS), max_size=24).map("".join))
@example('["\\\\"]')
@example('{"a":"\\"[[[[[[[[[["}')
@example("[[[[[[{}]]]]]]")
def test_it_accepts_exactly_what_the_standard_parser_and_the_rules_accept(text):
    raw = text.encode()

    assert repr(outcome(raw)) == repr(expected(raw))


@settings(max_examples=500 // SHARE, deadline=None)
@given(st.binary(max_size=64))
@example(b"\xef\xbb\xbf{}")
@example('{"a": 1}'.encode("utf-16"))
@example('{"a": 1}'.encode("utf-16-le"))
@example('{"a": 1}'.encode("utf-32"))
def test_arbitrary_bytes_give_a_value_or_a_refusal_and_nothing_else(raw):
    assert repr(outcome(raw)) == repr(expected(raw))


@settings(max_examples=300 // SHARE, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 1]))
def test_what_a_client_writes_is_what_the_service_reads(value, as_ascii, indent):
    raw = json.dumps(value, ensure_ascii=as_ascii, indent=indent).encode()

    assert parse_strict(raw) == value


@pytest.mark.parametrize("raw", [b"", b"   ", b"\r\n\t"])
def test_an_empty_body_is_an_empty_object(raw):
    assert parse_strict(raw) == {}


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"a": "\xff"}', "not valid UTF-8"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b'{"a": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"a": "\\u0000"}', "NUL characters (\\u0000) are not allowed"),
        (b'{"\\u0000": 1}', "NUL characters (\\u0000) are not allowed"),
        (b'{"a": "\x00"}', "line 1, column 8"),
        (b'{"a": 1, "\\u0061": 2}', "the same key twice"),
        (b'["\\ud83d"]', "half of a surrogate pair"),
        (b"[9223372036854775808]", "must fit 64 bits"),
        (b"[" + b"9" * 5000 + b"]", "must fit 64 bits"),
        (b"[1e400]", "must be finite"),
        (b"[0." + b"1" * 5000 + b"]", "of reasonable length"),
        (b'{"a": 1} x', "not valid JSON: line 1, column 10"),
        (b'{\n"a" 1}', "line 2, column 5"),
        (b"[" * 33 + b"]" * 33, "deeper than 32 levels"),
        (b"[" * 40, "brackets do not match"),
    ],
)
def test_a_refusal_says_why(raw, reason):
    with pytest.raises(StrictJsonError, match=re.escape(reason)):
        parse_strict(raw)


def test_nesting_up_to_the_limit_is_accepted_and_brackets_in_texts_do_not_count():
    deepest = b"[" * 32 + b"]" * 32

    assert json.dumps(parse_strict(deepest)) == deepest.decode()
    assert parse_strict(json.dumps({"a": "[{" * 100}).encode()) == {"a": "[{" * 100}


@pytest.mark.together
@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 1_000_000,
        b'{"a":' * 200_000,
        b'"' + b'\\"' * 500_000,
        b'["' + b"\\\\" * 500_000,
        b"[" + b"[]," * 300_000 + b"[]",
        b"[" + b"1e," * 300_000 + b"1]",
        b"1" * 1_000_000,
        b"[" * 40 + b'"' * 999_999,
    ],
    ids=["open", "objects", "escaped quotes", "backslashes", "siblings", "exponents", "digits", "quotes"],
)
def test_a_hostile_megabyte_is_refused_without_recursion_or_backtracking(raw, seconds_spent):
    with pytest.raises(StrictJsonError):
        parse_strict(raw)

    assert seconds_spent() < 5
