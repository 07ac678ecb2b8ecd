"""The list of commands in a phone's body, and the responses of its protocol."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from handlers.answers import Answer, as_json
from handlers.asgi.strict_json import StrictJsonError, check_nesting

WRONG_SIGNATURE, WRONG_CLOCK, WRONG_REQUEST = 1, 3, 4
MOST_COMMANDS = 500
NESTING_LIMIT = 32


class MalformedBody(Exception):
    """A body that is not a JSON object with a list of commands."""


def read_commands(raw_body: bytes) -> list[Any]:
    """The first 500 commands of a body; the phone sends the rest again. Raises MalformedBody. Bodies are read
    leniently, unlike those of the API: a phone repeats a refused request until it is accepted, so one SMS with an
    invalid character would block all its reports forever. Values are cleaned where they are used.
    """
    try:
        check_nesting(raw_body, NESTING_LIMIT)
        document = json.loads(raw_body.decode("utf-8-sig", "replace"), strict=False)
    except (StrictJsonError, ValueError, RecursionError) as error:
        raise MalformedBody("The body must be a JSON object with a list of commands.") from error
    if isinstance(document, dict) and document.get("cmds") is None:
        return []
    commands = document.get("cmds") if isinstance(document, dict) else None
    if not isinstance(commands, list):
        raise MalformedBody("The body must be a JSON object with a list of commands.")
    return commands[:MOST_COMMANDS]


def answer_commands(commands: list[dict[str, Any]]) -> Answer:
    return Answer(200, orjson.dumps({"cmds": commands}))


def answer_error(status: int, error_id: int, text: str, headers: Mapping[str, str] | None = None) -> Answer:
    """An error in the form that the published app reads."""
    answer = as_json(status, {"error_id": error_id, "error": text, "cmds": []})
    return replace(answer, headers=headers)
