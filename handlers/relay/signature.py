"""The signature of a phone's sync: HMAC-SHA256 over the raw body, keyed with the secret and the `ts` text."""

import base64
import hmac


def sign(secret: str, ts: str, body: bytes) -> str:
    """The signature in the URL-safe base64 alphabet with padding, 44 characters (relayer protocol, 7.2)."""
    digest = hmac.digest((secret + ts).encode("utf-8"), body, "sha256")
    return base64.urlsafe_b64encode(digest).decode()


def is_signed(secret: str, ts: str, body: bytes, signature: str) -> bool:
    """Whether a signature is the one of this secret, compared in constant time."""
    return hmac.compare_digest(sign(secret, ts, body).encode(), signature.encode("utf-8", "replace"))
