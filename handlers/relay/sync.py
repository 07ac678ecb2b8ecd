"""`POST /relayers/relayer/sync/<id>/`, and what all requests of phones have: the list of commands in a body and the
responses of the protocol.
"""

import base64
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from handlers.answers import Answer, HeldAnswer, as_json
from handlers.asgi.request_body import StrictJsonError, check_nesting
from handlers.request import RelayRequest
from persistence.database import Transaction
from persistence.relayers import sync as phone_sync
from persistence.relayers.commands import Upload, clean_text, read_integer, read_upload
from persistence.relayers.relayers import (
    Phone,
    Registration,
    WaitingRegistration,
    find_released_secrets,
    find_waiting,
    lock_phones_of,
    note_waiting_seen,
)

UUID_LENGTH = 64
WRONG_SIGNATURE, WRONG_CLOCK, WRONG_REQUEST = 1, 3, 4
MOST_COMMANDS = 500
NESTING_LIMIT = 32

CLOCK_TOLERANCE_SECONDS = 900
LARGEST_ID = 2**31 - 1
LARGEST_HELD_BYTES = 64 * 1024
"""A larger sync does not wait for replies: its body is in memory, of which all bodies have 64 MiB."""


def sync_phone_without_slash(request: RelayRequest) -> Answer | HeldAnswer:
    return sync_phone(request)


def sync_phone(request: RelayRequest) -> Answer | HeldAnswer:
    channel_id = read_integer(request.path_parameters["relayer_id"])
    return request.database.write(lambda tx: _sync(tx, request, channel_id))


def _sync(tx: Transaction, request: RelayRequest, channel_id: int | None) -> Answer | HeldAnswer:
    """The checks of the protocol in its order, followed by the exchange of commands."""
    phones: list[Phone] = []
    if channel_id is not None and 0 < channel_id <= LARGEST_ID:
        phones = lock_phones_of(tx, channel_id)
    if not phones:
        return _release(channel_id)
    if all(phone.secret is None for phone in phones):
        return answer_error(401, WRONG_REQUEST, "This phone has no secret; register again.")
    ts = request.query.get("ts", "")
    sent_at = read_integer(ts)
    if sent_at is None or abs(int(tx.now.timestamp()) - sent_at) > CLOCK_TOLERANCE_SECONDS:
        phone_sync.note_refused(tx, phones[0], phone_sync.WRONG_CLOCK)
        return answer_error(401, WRONG_CLOCK, "The clocks differ by more than fifteen minutes.")
    signer = _find_signer(tx, phones, ts, request)
    if signer is None:
        if phones[0].id != channel_id or _was_released(tx, phones[0].id, ts, request):
            return _release(channel_id)
        phone_sync.note_refused(tx, phones[0], phone_sync.WRONG_SECRET)
        return answer_error(401, WRONG_SIGNATURE, "The signature does not match.")
    try:
        commands = read_commands(request.raw_body) if request.raw_body else []
    except MalformedBody as error:
        return answer_error(400, WRONG_REQUEST, str(error))
    return _exchange(tx, request, signer, commands)


def _release(channel_id: int | None) -> Answer:
    return answer_commands([{"cmd": "rel", "relayer_id": channel_id}])


@dataclass(frozen=True, slots=True)
class _Signer:
    """Who signed a sync: a phone with one of its secrets, or another registration of the same device."""

    phone: Phone
    secret: str
    waiting: WaitingRegistration | None = None


def _find_signer(tx: Transaction, phones: Sequence[Phone], ts: str, request: RelayRequest) -> _Signer | None:
    signature = request.query.get("signature", "")
    own = [_Signer(phone, secret) for phone in phones for secret in (phone.secret, phone.previous_secret) if secret]
    found = next((each for each in own if is_signed(each.secret, ts, request.raw_body, signature)), None)
    if found is not None:
        return found
    by_id = {phone.id: phone for phone in phones}
    beside = [_Signer(by_id[each.channel_id], each.secret, each) for each in find_waiting(tx, list(by_id))]
    return next((each for each in beside if is_signed(each.secret, ts, request.raw_body, signature)), None)


def _was_released(tx: Transaction, channel_id: int, ts: str, request: RelayRequest) -> bool:
    """Whether a phone signed that synced with the id of this one, which others have, until it was released."""
    signature = request.query.get("signature", "")
    return any(is_signed(each, ts, request.raw_body, signature) for each in find_released_secrets(tx, channel_id))


def _exchange(tx: Transaction, request: RelayRequest, signer: _Signer, commands: list[Any]) -> Answer | HeldAnswer:
    first = commands[0] if commands and isinstance(commands[0], dict) else {}
    if request.raw_body and first.get("cmd") not in ("fcm", "gcm"):
        return answer_error(401, WRONG_REQUEST, "The first command must be fcm.")
    phone = signer.phone
    if signer.waiting is not None or phone.workspace_id is None:
        if read_device_uuid(first) != phone.device_uuid:
            return answer_error(401, WRONG_REQUEST, "This registration belongs to another phone.")
        return _tell_registration(tx, signer)
    workspace_id = phone.workspace_id
    request.note_workspace(workspace_id)
    if signer.secret == phone.secret:
        phone_sync.note_secret_used(tx, phone)
    upload = read_upload(commands)
    may_wait = len(request.raw_body) <= LARGEST_HELD_BYTES
    synced = phone_sync.apply_sync(tx, phone.source, upload, lambda: may_wait and request.take_place(workspace_id))
    if synced.awaited is None:
        return answer_commands(synced.commands)
    return HeldAnswer(synced.awaited, lambda: _finish(request, signer, upload, synced))


def _finish(request: RelayRequest, signer: _Signer, upload: Upload, synced: phone_sync.Synced) -> Answer:
    """The answer to a sync that has waited. Its outbox is read only now, so that what was not given to the phone is
    as it was; whoever registered or claimed the phone meanwhile gets it.
    """
    before = signer.phone

    def fetch(tx: Transaction) -> list[dict[str, Any]]:
        for phone in lock_phones_of(tx, before.id):
            is_same = phone.id == before.id and phone.workspace_id == before.workspace_id
            if is_same and signer.secret in (phone.secret, phone.previous_secret):
                return phone_sync.fetch_outbox(tx, phone.source, upload, synced)
        return []

    return answer_commands(synced.commands + request.database.write(fetch))


def _tell_registration(tx: Transaction, signer: _Signer) -> Answer:
    if signer.waiting is None:
        phone_sync.note_unclaimed_sync(tx, signer.phone)
    else:
        note_waiting_seen(tx, signer.waiting)
    claim_code = (signer.waiting or signer.phone).claim_code
    return answer_commands([registration_command(Registration(signer.phone.id, signer.secret, claim_code))])


def sign(secret: str, ts: str, body: bytes) -> str:
    """The signature in URL-safe base64 with padding, 44 characters (relayer protocol, 7.2)."""
    digest = hmac.digest((secret + ts).encode("utf-8"), body, "sha256")
    return base64.urlsafe_b64encode(digest).decode()


def is_signed(secret: str, ts: str, body: bytes, signature: str) -> bool:
    """Whether a signature was made with this secret, compared in constant time."""
    return hmac.compare_digest(sign(secret, ts, body).encode(), signature.encode("utf-8", "replace"))


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


def _text(value: object, length: int) -> str | None:
    return clean_text(value).strip()[:length] if isinstance(value, str) else None
