"""Signatures of callbacks, compared in constant time."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import orjson

from channels.calls import BadSignature

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

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


def sign_jwt(claims: Mapping[str, Any], private_key: str) -> str:
    """A JSON Web Token that is signed by RSA (`RS256`; RFC 7515). Raises ValueError for what is no key."""
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15  # noqa: PLC0415  # few commands need it
    from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415

    signed = ".".join(_write_part(orjson.dumps(each)) for each in ({"alg": "RS256", "typ": "JWT"}, dict(claims)))
    return f"{signed}.{_write_part(_read_key(private_key).sign(signed.encode(), PKCS1v15(), SHA256()))}"


def check_private_key(text: str) -> None:
    """Raises ValueError if a text is no private key of RSA in the form PEM, without a password."""
    _read_key(text)


def basic(user: str, password: str) -> dict[str, str]:
    """The header of basic authentication."""
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


@lru_cache(maxsize=64)
def _read_key(text: str) -> "RSAPrivateKey":
    """The key is kept, because reading checks it, which takes longer than signing."""
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey  # noqa: PLC0415
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

    try:
        key = load_pem_private_key(text.strip().encode(), password=None)
    except (TypeError, ValueError) as error:
        raise ValueError("It is no private key in the form PEM, or it has a password") from error
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("It is no key of RSA")
    return key


def check_age(signed_on: float | None, now: datetime, seconds: float) -> None:
    """Whether a signed Unix time is at most so old, and not later than now. Raises BadSignature."""
    age = None if signed_on is None else now.timestamp() - signed_on
    if age is None or not -CLOCK_SECONDS <= age <= seconds + CLOCK_SECONDS:
        raise BadSignature("The signed time is missing, too old or in the future.")


def _write_part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _read_part(part: str) -> dict[str, Any]:
    try:
        value = orjson.loads(base64.b64decode(part + "=" * (-len(part) % 4), b"-_", validate=True))
    except (binascii.Error, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
