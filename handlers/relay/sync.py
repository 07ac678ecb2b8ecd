"""`POST /relayers/relayer/sync/<id>/`."""

from typing import Any

from handlers.answers import Answer
from handlers.calls import RelayCall
from handlers.relay.commands import (
    WRONG_CLOCK,
    WRONG_REQUEST,
    WRONG_SIGNATURE,
    MalformedBody,
    answer_commands,
    answer_error,
    read_commands,
)
from handlers.relay.register import read_device_uuid, registration_command
from handlers.relay.signature import is_signed
from persistence import phone_sync
from persistence.database import Transaction
from persistence.phone_commands import read_integer, read_upload
from persistence.relayers import Registration

CLOCK_TOLERANCE_SECONDS = 900
LARGEST_ID = 2**31 - 1


def sync_phone_without_slash(call: RelayCall) -> Answer:
    return sync_phone(call)


def sync_phone(call: RelayCall) -> Answer:
    channel_id = read_integer(call.path_parameters["relayer_id"])
    return call.database.write(lambda tx: _sync(tx, call, channel_id))


def _sync(tx: Transaction, call: RelayCall, channel_id: int | None) -> Answer:
    """The checks of the protocol in its order, then the exchange of commands."""
    phone = None
    if channel_id is not None and 0 < channel_id <= LARGEST_ID:
        phone = phone_sync.lock_phone(tx, channel_id)
    if phone is None:
        return answer_commands([{"cmd": "rel", "relayer_id": channel_id}])
    if phone.secret is None:
        return answer_error(401, WRONG_REQUEST, "This phone has no secret; register again.")
    ts = call.query.get("ts", "")
    sent_at = read_integer(ts)
    if sent_at is None or abs(int(tx.now.timestamp()) - sent_at) > CLOCK_TOLERANCE_SECONDS:
        return answer_error(401, WRONG_CLOCK, "The clocks differ by more than fifteen minutes.")
    secret = _secret_of(phone, ts, call)
    if secret is None:
        return answer_error(401, WRONG_SIGNATURE, "The signature does not fit.")
    try:
        commands = read_commands(call.raw_body) if call.raw_body else []
    except MalformedBody as error:
        return answer_error(400, WRONG_REQUEST, str(error))
    return _exchange(tx, phone, secret, commands, is_empty=not call.raw_body)


def _secret_of(phone: Any, ts: str, call: RelayCall) -> str | None:
    """Which of the phone's secrets signed the request."""
    signature = call.query.get("signature", "")
    candidates = [secret for secret in (phone.secret, phone.previous_secret, phone.pending_secret) if secret]
    return next((secret for secret in candidates if is_signed(secret, ts, call.raw_body, signature)), None)


def _exchange(tx: Transaction, phone: Any, secret: str, commands: list[Any], *, is_empty: bool) -> Answer:
    first = commands[0] if commands and isinstance(commands[0], dict) else {}
    if not is_empty and first.get("cmd") not in ("fcm", "gcm"):
        return answer_error(401, WRONG_REQUEST, "The first command must be fcm.")
    is_waiting = phone.workspace_id is None or secret == phone.pending_secret
    if is_waiting:
        if read_device_uuid(first) != phone.device_uuid:
            return answer_error(401, WRONG_REQUEST, "This registration belongs to another phone.")
        phone_sync.note_unclaimed_sync(tx, phone)
        return answer_commands([registration_command(Registration(phone.id, secret, phone.claim_code))])
    if secret == phone.secret:
        phone_sync.note_secret_used(tx, phone)
    return answer_commands(phone_sync.apply_sync(tx, phone, read_upload(commands)))
