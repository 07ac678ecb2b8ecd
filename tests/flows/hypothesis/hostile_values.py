"""Values that nobody expects in a place, and putting them there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from flows.expressions.functions.registry import FUNCTIONS
from flows.expressions.scanner import CONTEXT_ROOTS

Path = tuple[Any, ...]

FRAGMENTS = st.sampled_from(
    [
        *("@", "@@", "@(", "(", ")", '"', ",", ".", "[", "]", " ", "=>", "(x) =>", "&", "+", "-", "*", "/", "^", "<"),
        *("0", "1", "-1", "99999999999999999999", "0.5", "1e9", "x", "true", "null", "é", "🙂", "\x00", "\n", "\ud800"),
        *(f"@{root}" for root in sorted(CONTEXT_ROOTS)),
        *(f"{name}(" for name in sorted(FUNCTIONS)),
        *("contact.fields.age", "results.answer", "input.text", "webhook.json", "locals.x", "parent.results.x"),
        *('"eng"', '"YYYY-MM-DD"', '"(a+)+$"', "tel:+12065551212", "2024-02-30", "ÅÄÖ"),
    ]
)
TEMPLATES = st.lists(FRAGMENTS | st.text(max_size=6), max_size=14).map("".join)
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEMPLATES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
STRANGE = JSON | st.sampled_from(
    [
        "",
        "x" * 20_000,
        "@(" * 500,
        10**400,
        -1,
        1e308,
        float("inf"),
        float("nan"),
        {"uuid": 5},
        {"uuid": []},
        [None],
        [[]],
    ]
)


def list_paths(part: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to everything within plain data."""
    if path:
        yield path
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, item in items:
        yield from list_paths(item, (*path, key))


@st.composite
def damaged(draw: st.DrawFn, whole: Any, most: int = 2) -> Any:
    """Plain data with strange values in one or a few places, or with parts left out."""
    changed = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, most))):
        *parents, last = draw(st.sampled_from(list(list_paths(changed)) or [("x",)]))
        part = changed
        for key in parents:
            part = part[key]
        if draw(st.booleans()) and isinstance(part, dict):
            part.pop(last, None)
        else:
            part[last] = copy.deepcopy(draw(STRANGE))
    return changed
