"""Signatures of callbacks, compared in constant time."""

import base64
import hashlib
import hmac
from typing import Literal

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
