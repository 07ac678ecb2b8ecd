"""Hides secrets in what is kept of requests to receivers and of their responses."""

import re

HIDDEN = "***"

_NAMES = r"[\w.-]*(?:secret|token|passw(?:or)?d|api[_-]?key|apikey|authorization|signature|session|cookie)[\w.-]*+"
_NAME = re.compile(_NAMES, re.I)
# A name begins where a word does: to look for one from each of its letters would take seconds for a long word.
_PAIR = re.compile(
    rf"""(["']?(?<![\w.-]){_NAMES}["']?\s*[:=]\s*)("(?:[^"\\]|\\.)*"?|'[^']*'?|(?:bearer |basic )?[^\s,;&"'<>}}]+)""",
    re.I,
)
_BEARER = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.I)
_QUERY_VALUE = re.compile(r"=[^&;]*")


def is_secret_name(name: str) -> bool:
    """Whether a header or a parameter with this name holds a secret."""
    return _NAME.fullmatch(name) is not None


def hide_in_text(text: str) -> str:
    """A response without what looks like the value of a secret: `"token": "x"`, `password=x`, `Bearer x`."""
    if not text:
        return text
    return _BEARER.sub(rf"\1 {HIDDEN}", _PAIR.sub(rf"\1{HIDDEN}", text))


def hide_in_url(url: str) -> str:
    """A URL without the values of its query parameters, by which receivers often recognize their callers. It may be one
    that is not valid, because receivers tell some.
    """
    before, mark, fragment = url.partition("#")
    place, _, query = before.partition("?")
    if not query:
        return place + mark + fragment
    hidden = _QUERY_VALUE.sub(f"={HIDDEN}", query) if "=" in query else HIDDEN
    return f"{place}?{hidden}{mark}{fragment}"
