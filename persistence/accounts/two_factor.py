"""Codes of an authenticator app (TOTP, RFC 6238: SHA-1, six digits, 30 seconds), and recovery codes."""

from collections.abc import Sequence
from datetime import datetime

import pyotp

from persistence.tokens import keyed_hash

STEP_SECONDS = 30
STEPS_BESIDE = 1


def accepted_step(secret: str, code: str, now: datetime, last_step: int | None) -> int | None:
    """The time step whose code this is: the present one or a neighbor, and later than the last accepted one, because a
    code is accepted once. None for a wrong code."""
    totp = pyotp.TOTP(secret)
    present = int(now.timestamp()) // STEP_SECONDS
    for step in range(present - STEPS_BESIDE, present + STEPS_BESIDE + 1):
        is_new = last_step is None or step > last_step
        if pyotp.utils.strings_equal(totp.generate_otp(step), code) and is_new:
            return step
    return None


def hash_recovery_code(code: str, secret_key: str) -> str:
    return keyed_hash("".join(code.lower().split()), secret_key)


def without_code(hashes: Sequence[str], code: str, secret_keys: Sequence[str]) -> list[str] | None:
    """The hashes that are left when a recovery code is used; None if it is not one of them."""
    used = {hash_recovery_code(code, each) for each in secret_keys}
    left = [each for each in hashes if each not in used]
    return left if len(left) < len(hashes) else None
