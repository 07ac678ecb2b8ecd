"""Signatures of callbacks, compared in constant time."""

import base64
import binascii
import hashlib
import hmac
from datetime import datetime
from typing import Any, Literal

import orjson

from channels.calls import BadSignature

CLOCK_SECONDS = 60
"""How much the clocks of two servers may differ."""
Digest = Literal["sha1", "sha256", "sha512"]


def hmac_hex(secret: str, content: bytes, digest: Digest = "sha256") -> str:
    """The HMAC of bytes as hexadecimal digits."""
    return hmac.new(secret.encode(), content, getattr(hashlib, digest)).hexdigest()


def hmac_base64(secret: str, content: bytes, digest: Digest = "sha256") -> str:
    """The HMAC of bytes as Base64."""
    return base64.b64encode(hmac.new(secret.encode(), content, getattr(hashlib, digest)).digest()).decode()


def is_same(given: str, expected: str) -> bool:
    """Whether two signatures are equal; an empty one never is."""
    return bool(expected) and hmac.compare_digest(given.encode(), expected.encode())


def read_jwt(token: str, secret: str, now: datetime, seconds: float | None = None) -> dict[str, Any]:
    """The claims of a JSON Web Token that is signed by HMAC-SHA-256 (`HS256`; RFC 7515, RFC 7519). `exp` and `nbf` are
    obeyed. `seconds`: how old `iat`, which then must be there, may be. Raises BadSignature."""
    signed, _, signature = token.strip().rpartition(".")
    header, claims = (_read_part(part) for part in (signed.split(".") if signed.count(".") == 1 else ("", "")))
    if header.get("alg") != "HS256" or header.get("crit"):
        raise BadSignature("The Authorization header has no JSON Web Token that is signed by HS256.")
    expected = base64.urlsafe_b64encode(hmac.new(secret.encode(), signed.encode(), hashlib.sha256).digest()).decode()
    if not secret or not is_same(signature, expected.rstrip("=")):
        raise BadSignature("The JSON Web Token is signed with another secret.")
    moment = now.timestamp()
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if claims.get(name) is not None}
    if any(isinstance(each, bool) or not isinstance(each, int | float) for each in times.values()):
        raise BadSignature("The times of the JSON Web Token are not numbers.")
    if moment > times.get("exp", moment) + CLOCK_SECONDS or moment < times.get("nbf", moment) - CLOCK_SECONDS:
        raise BadSignature("The JSON Web Token is not valid at this time.")
    if seconds is not None:
        check_age(times.get("iat"), now, seconds)
    return claims


def check_age(signed_on: float | None, now: datetime, seconds: float) -> None:
    """Whether a signed Unix time is at most so old, and not later than now. Raises BadSignature."""
    age = None if signed_on is None else now.timestamp() - signed_on
    if age is None or not -CLOCK_SECONDS <= age <= seconds + CLOCK_SECONDS:
        raise BadSignature("The signed time is missing, too old or in the future.")


def _read_part(part: str) -> dict[str, Any]:
    try:
        value = orjson.loads(base64.b64decode(part + "=" * (-len(part) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
