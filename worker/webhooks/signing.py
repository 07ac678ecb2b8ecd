"""Signatures according to Standard Webhooks: three headers over the exact bytes that are sent. A receiver shares a
secret (`whsec_...`, HMAC-SHA256, signature `v1,...`), or it has the public key (`whpk_...`) of a private one
(`whsk_...`, Ed25519, signature `v1a,...`)."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from persistence.deliveries.receivers import Signer
from persistence.tables.deliveries import SYMMETRIC

SECRET_PREFIX, PRIVATE_PREFIX, PUBLIC_PREFIX = "whsec_", "whsk_", "whpk_"
TOLERANCE = timedelta(minutes=5)
ROTATION_OVERLAP = timedelta(hours=24)
"""For this long after a rotation, requests are signed with the old secret as well."""


def signature_headers(event_id: str, moment: datetime, body: bytes, secrets: Sequence[str]) -> dict[str, str]:
    """The headers of one attempt, signed with each secret or private key (new first); without any there is no
    signature. `event_id` is the same in all attempts of an event, `moment` is the time of this attempt.
    """
    headers = {"webhook-id": event_id, "webhook-timestamp": str(int(moment.timestamp()))}
    if secrets:
        content = _content(headers["webhook-id"], headers["webhook-timestamp"], body)
        headers["webhook-signature"] = " ".join(_sign(content, secret) for secret in secrets)
    return headers


def signing_now(signer: Signer, now: datetime) -> list[str]:
    """What signs a receiver's calls now, new first: its secrets or its private keys, and for a day after the other kind
    was chosen also the former ones.
    """
    secrets = secrets_in_force(signer.secret, signer.previous_secret, signer.rotated_on, now)
    keys = secrets_in_force(signer.private_key, signer.previous_private_key, signer.key_rotated_on, now)
    chosen, other = (secrets, keys) if signer.signature == SYMMETRIC else (keys, secrets)
    was_just_chosen = signer.chosen_on is not None and now < signer.chosen_on + ROTATION_OVERLAP
    return [*chosen, *other] if was_just_chosen else chosen


def schemes_of(headers: Mapping[str, str]) -> str | None:
    """The schemes of the signatures in the headers of an attempt, such as `v1 v1a`."""
    signatures = headers.get("webhook-signature")
    if signatures is None:
        return None
    return " ".join(each.partition(",")[0] for each in signatures.split(" "))


def secrets_in_force(
    secret: str | None, previous_secret: str | None, rotated_on: datetime | None, now: datetime
) -> list[str]:
    """The secrets to sign with: the current one, and for a day after a rotation also the previous one."""
    in_force = [secret] if secret else []
    if secret and previous_secret and rotated_on is not None and now < rotated_on + ROTATION_OVERLAP:
        in_force.append(previous_secret)
    return in_force


def is_signed(headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> bool:
    """The check of a receiver: a signature with this secret or of this public key, made within five minutes of now.
    Header names are in lower case."""
    event_id, timestamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not event_id or not timestamp.isdecimal() or len(timestamp) > 12:
        return False
    if abs(int(timestamp) - now.timestamp()) > TOLERANCE.total_seconds():
        return False
    content = _content(event_id, timestamp, body)
    given = headers.get("webhook-signature", "").split(" ")
    if secret.startswith(PUBLIC_PREFIX):
        return any(_is_of_key(content, signature, secret) for signature in given)
    expected = _sign(content, secret).encode()
    return any(hmac.compare_digest(expected, signature.encode()) for signature in given)


def _content(event_id: str, timestamp: str, body: bytes) -> bytes:
    """What is signed."""
    return b".".join((event_id.encode(), timestamp.encode(), body))


def _sign(content: bytes, secret: str) -> str:
    if secret.startswith(PRIVATE_PREFIX):
        private = Ed25519PrivateKey.from_private_bytes(base64.b64decode(secret.removeprefix(PRIVATE_PREFIX)))
        return f"v1a,{base64.b64encode(private.sign(content)).decode()}"
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    return f"v1,{base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()}"


def _is_of_key(content: bytes, signature: str, public_key: str) -> bool:
    scheme, _, text = signature.partition(",")
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key.removeprefix(PUBLIC_PREFIX)))
    try:
        public.verify(base64.b64decode(text), content)
    except (InvalidSignature, ValueError):
        return False
    return scheme == "v1a"
