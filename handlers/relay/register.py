"""`POST /relayers/relayer/register/`."""

from typing import Any

from handlers.answers import Answer
from handlers.relay.sync import (
    WRONG_REQUEST,
    MalformedBody,
    _text,
    answer_commands,
    answer_error,
    read_commands,
    read_device_uuid,
    registration_command,
)
from handlers.request import RelayRequest
from persistence.relayers.commands import PUSH_TOKEN_LENGTH
from persistence.relayers.relayers import PhoneIdentity
from persistence.relayers.relayers import register_phone as register_in_database
from persistence.tokens import Origin, TooManyRegistrations

UNSUPPORTED = {"cmd": "reg", "relayer_id": -1, "relayer_secret": "0" * 64, "relayer_claim_code": "*" * 9}
TEXT_LENGTH = 255


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


def _read_identity(fcm: dict[str, Any], status: object) -> PhoneIdentity | None:
    uuid, token = read_device_uuid(fcm), _text(fcm.get("fcm_id"), PUSH_TOKEN_LENGTH)
    if fcm.get("cmd") != "fcm" or not uuid or not token:
        return None
    said = status if isinstance(status, dict) else {}
    country = (_text(said.get("cc"), 2) or "").upper()
    is_country = len(country) == 2 and country.isascii() and country.isalpha()
    device, os = _text(said.get("dev"), TEXT_LENGTH), _text(said.get("os"), TEXT_LENGTH)
    return PhoneIdentity(uuid, token, country if is_country else None, device, os)
