"""Signatures according to Standard Webhooks: three headers over the exact bytes that are sent."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

SECRET_PREFIX = "whsec_"
TOLERANCE = timedelta(minutes=5)
ROTATION_OVERLAP = timedelta(hours=24)
"""For this long after a rotation, requests are signed with the old secret as well."""


def signature_headers(event_id: str, moment: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt, signed with each secret (new first); without a secret there is no signature.
    `event_id` is the same in all attempts of an event, `moment` is the time of this attempt.
    """
    headers = {"webhook-id": event_id, "webhook-timestamp": str(int(moment.timestamp()))}
    if secrets:
        signed = [_sign(headers["webhook-id"], headers["webhook-timestamp"], body, secret) for secret in secrets]
        headers["webhook-signature"] = " ".join(f"v1,{signature}" for signature in signed)
    return headers


def secrets_in_force(
    secret: str | None, previous_secret: str | None, rotated_on: datetime | None, now: datetime
) -> list[str]:
    """The secrets to sign with: the current one, and for a day after a rotation also the previous one."""
    in_force = [secret] if secret else []
    if secret and previous_secret and rotated_on is not None and now < rotated_on + ROTATION_OVERLAP:
        in_force.append(previous_secret)
    return in_force


def is_signed(headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> bool:
    """The check of a receiver: a signature with this secret, made within five minutes of now. Header names are in lower
    case."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not event_id or not timestamp.isdecimal() or len(timestamp) > 12:
        return False
    if abs(int(timestamp) - now.timestamp()) > TOLERANCE.total_seconds():
        return False
    expected = f"v1,{_sign(event_id, timestamp, body, secret)}".encode()
    given = headers.get("webhook-signature", "").split(" ")
    return any(hmac.compare_digest(expected, signature.encode()) for signature in given)


def _sign(event_id: str, timestamp: str, body: bytes, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = b".".join((event_id.encode(), timestamp.encode(), body))
    return base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
