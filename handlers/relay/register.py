"""`POST /relayers/relayer/register/`, with the list of commands in a phone's body and the responses of its protocol."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from handlers.answers import Answer, as_json
from handlers.asgi.request_body import StrictJsonError, check_nesting
from handlers.request import RelayRequest
from persistence.relayers.commands import PUSH_TOKEN_LENGTH, clean_text
from persistence.relayers.relayers import PhoneIdentity, Registration
from persistence.relayers.relayers import register_phone as register_in_database
from persistence.tokens import Origin, TooManyRegistrations

UNSUPPORTED = {"cmd": "reg", "relayer_id": -1, "relayer_secret": "0" * 64, "relayer_claim_code": "*" * 9}
TEXT_LENGTH = 255
UUID_LENGTH = 64

WRONG_SIGNATURE, WRONG_CLOCK, WRONG_REQUEST = 1, 3, 4
MOST_COMMANDS = 500
NESTING_LIMIT = 32


def register_phone_without_slash(request: RelayRequest) -> Answer:
    return register_phone(request)


def register_phone(request: RelayRequest) -> Answer:
    try:
        commands = read_commands(request.raw_body)
    except MalformedBody as error:
        return answer_error(400, WRONG_REQUEST, str(error))
    first = commands[0] if commands and isinstance(commands[0], dict) else {}
    if first.get("cmd") == "gcm" or ("gcm_id" in first and "uuid" not in first):
        return answer_commands([dict(UNSUPPORTED)])
    identity = _read_identity(first, commands[1] if len(commands) > 1 else {})
    if identity is None:
        return answer_error(400, WRONG_REQUEST, "The first command must be fcm with fcm_id and uuid.")
    limit = request.settings.registration_limit
    origin = Origin(request.client_address, limit.requests, limit.period)
    try:
        registration = request.database.write(lambda tx: register_in_database(tx, identity, origin))
    except TooManyRegistrations as error:
        seconds = {"Retry-After": str(error.retry_after_seconds)}
        return answer_error(
            429, WRONG_REQUEST, "Too many phones registered from this address; try again later.", seconds
        )
    return answer_commands([registration_command(registration)])


def registration_command(registration: Registration) -> dict[str, Any]:
    return {
        "cmd": "reg",
        "relayer_id": registration.channel_id,
        "relayer_secret": registration.secret,
        "relayer_claim_code": registration.claim_code,
    }


def read_device_uuid(fcm: dict[str, Any]) -> str | None:
    """The device UUID that a phone sends, in the form in which it is stored."""
    return _text(fcm.get("uuid"), UUID_LENGTH)


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


def _read_identity(fcm: dict[str, Any], status: object) -> PhoneIdentity | None:
    uuid, token = read_device_uuid(fcm), _text(fcm.get("fcm_id"), PUSH_TOKEN_LENGTH)
    if fcm.get("cmd") != "fcm" or not uuid or not token:
        return None
    said = status if isinstance(status, dict) else {}
    country = (_text(said.get("cc"), 2) or "").upper()
    is_country = len(country) == 2 and country.isascii() and country.isalpha()
    device, os = _text(said.get("dev"), TEXT_LENGTH), _text(said.get("os"), TEXT_LENGTH)
    return PhoneIdentity(uuid, token, country if is_country else None, device, os)


def _text(value: object, length: int) -> str | None:
    return clean_text(value).strip()[:length] if isinstance(value, str) else None
