"""Secrets that browsers and mails carry: a prefix, a public part by which they are looked up, and a secret part. Only a
keyed hash is stored."""

import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from persistence.tables.sign_ins import SECRET_PUBLIC_LENGTH
from persistence.tokens import keyed_hash

LONGEST_KEY = 128


@dataclass(frozen=True, slots=True)
class SecretKey:
    """A new secret: its whole text, which is shown once, and the columns that are stored."""

    text: str
    public: str
    hash: str


def make_secret(prefix: str, secret_key: str) -> SecretKey:
    public = secrets.token_hex(SECRET_PUBLIC_LENGTH // 2)
    text = f"{prefix}{public}_{secrets.token_urlsafe(32)}"
    return SecretKey(text, public, keyed_hash(text, secret_key))


def public_of(prefix: str, text: str) -> str | None:
    """The public part of a secret; None for a text that is not one with this prefix."""
    if not text.startswith(prefix) or len(text) > LONGEST_KEY or not text.isascii():
        return None
    public, separator, secret = text[len(prefix) :].partition("_")
    return public if separator and secret and len(public) == SECRET_PUBLIC_LENGTH and public.isalnum() else None


def fits(stored_hash: str, text: str, secret_keys: Sequence[str]) -> bool:
    """Whether a text has this hash with one of the keys; compares with all of them in constant time."""
    fitting = [hmac.compare_digest(stored_hash, keyed_hash(text, each)) for each in secret_keys]
    return any(fitting)
