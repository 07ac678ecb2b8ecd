"""The list of commands in a phone's body, and the answers of its protocol."""

from typing import Any

import orjson

from handlers.answers import Answer, as_json
from handlers.strict_json import StrictJsonError, parse_strict

WRONG_SIGNATURE, WRONG_CLOCK, WRONG_REQUEST = 1, 3, 4
MOST_COMMANDS = 2000


class MalformedBody(Exception):
    """A body that is no JSON object with a list of commands."""


def read_commands(raw_body: bytes) -> list[Any]:
    """The commands of a body. Raises MalformedBody; phones are read leniently, but only well-formed JSON."""
    try:
        document = parse_strict(raw_body)
    except StrictJsonError as error:
        raise MalformedBody(str(error)) from error
    commands = document.get("cmds", []) if isinstance(document, dict) else None
    if not isinstance(commands, list):
        raise MalformedBody("The body must be a JSON object with a list of commands.")
    return commands[:MOST_COMMANDS]


def answer_commands(commands: list[dict[str, Any]]) -> Answer:
    return Answer(200, orjson.dumps({"cmds": commands}))


def answer_error(status: int, error_id: int, text: str) -> Answer:
    """An error in the form the published app reads."""
    return as_json(status, {"error_id": error_id, "error": text, "cmds": []})
