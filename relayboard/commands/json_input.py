"""Options that are JSON."""

from typing import Any

import orjson

from relayboard.refusal import CommandFailed


def read_object(text: str, option: str) -> dict[str, Any]:
    """The object in the text of an option. Raises CommandFailed."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{option} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CommandFailed(f"{option} must be a JSON object")
    return value
