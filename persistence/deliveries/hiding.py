"""Hides secrets in what is kept of requests to receivers and of their responses."""

import re
from urllib.parse import urlsplit, urlunsplit

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
    """A URL without the values of its query parameters, by which receivers often recognize their callers."""
    if "?" not in url:
        return url
    parts = urlsplit(url)
    query = _QUERY_VALUE.sub(f"={HIDDEN}", parts.query)
    return urlunsplit(parts._replace(query=query if "=" in query or not query else HIDDEN))
