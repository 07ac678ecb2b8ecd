"""The headers that a flow may give its calls."""

import re
from collections.abc import Mapping

FORBIDDEN = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""They say how a message travels, which is the matter of whoever sends it; wrong ones break it or smuggle another."""
CONTROL_CHARACTER = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def list_header_problems(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """The names of headers that cannot be sent, each with a sentence that says why."""
    problems = []
    for name, value in headers.items():
        if name.strip().lower() in FORBIDDEN:
            problems.append((name, f"Webhook header '{name}' may not be set"))
        elif CONTROL_CHARACTER.search(name + value):
            problems.append((name, f"Webhook header '{name}' evaluated to more than one line"))
    return problems
