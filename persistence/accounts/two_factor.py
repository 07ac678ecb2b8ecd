"""Codes of an authenticator app (TOTP, RFC 6238: SHA-1, six digits, 30 seconds), and recovery codes."""

import secrets
from collections.abc import Sequence
from datetime import datetime

import pyotp

from persistence.tokens import keyed_hash

STEP_SECONDS = 30
STEPS_BESIDE = 1
RECOVERY_CODES = 10
LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"
"""Without letters and digits that look alike."""


def make_totp_secret() -> str:
    """160 random bits in base 32, as RFC 4226 advises."""
    return pyotp.random_base32(32)


def totp_uri(secret: str, email: str, issuer: str) -> str:
    """The `otpauth://` address that authenticator apps read from a QR code."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=issuer)


def accepted_step(secret: str, code: str, now: datetime, last_step: int | None) -> int | None:
    """The time step whose code this is: the present one or a neighbor, and later than the last accepted one, because a
    code is accepted once. None for a wrong code."""
    totp = pyotp.TOTP(secret)
    present = int(now.timestamp()) // STEP_SECONDS
    for step in range(max(0, present - STEPS_BESIDE), present + STEPS_BESIDE + 1):
        is_new = last_step is None or step > last_step
        if pyotp.utils.strings_equal(totp.generate_otp(step), code) and is_new:
            return step
    return None


def make_recovery_codes() -> list[str]:
    """Codes like `k7wqm-3xd9p` (50 bits each)."""
    return [f"{_letters(5)}-{_letters(5)}" for _ in range(RECOVERY_CODES)]


def _letters(count: int) -> str:
    return "".join(secrets.choice(LETTERS) for _ in range(count))


def hash_recovery_code(code: str, secret_key: str) -> str:
    return keyed_hash("".join(code.lower().split()), secret_key)


def without_code(hashes: Sequence[str], code: str, secret_keys: Sequence[str]) -> list[str] | None:
    """The hashes that are left when a recovery code is used; None if it is not one of them."""
    used = {hash_recovery_code(code, each) for each in secret_keys}
    left = [each for each in hashes if each not in used]
    return left if len(left) < len(hashes) else None
