"""Passwords: what is accepted, and their argon2id hashes."""

import unicodedata
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from persistence.errors import InvalidInput

LEAST_LENGTH = 10
GREATEST_LENGTH = 200


class Passwords:
    """Hashes and compares passwords. The default parameters are those of RFC 9106 for little memory: 64 MiB, 3 passes,
    4 lanes."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()

    def hash(self, password: str) -> str:
        """The hash to store."""
        return self._hasher.hash(_normal(password))

    def fits(self, stored: str | None, password: str) -> bool:
        """Whether a password has this hash. Without a hash it takes as long, and is False."""
        try:
            self._hasher.verify(self._nobody if stored is None else stored, _normal(password))
        except (VerificationError, InvalidHashError):
            return False
        return stored is not None

    def is_outdated(self, stored: str) -> bool:
        """Whether a hash was made with other parameters than those of today."""
        return self._hasher.check_needs_rehash(stored)

    @cached_property
    def _nobody(self) -> str:
        """The hash that is compared for addresses without an account."""
        return self._hasher.hash("nobody has this password")


def _normal(password: str) -> str:
    """The same characters however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


def check_password(password: str, email: str, field: str = "password") -> None:
    """Raises InvalidInput for a new password that is too short, too long or too easy to guess."""
    if len(password) < LEAST_LENGTH:
        raise InvalidInput.on(field, f"At least {LEAST_LENGTH} characters.")
    if len(password) > GREATEST_LENGTH:
        raise InvalidInput.on(field, f"At most {GREATEST_LENGTH} characters.")
    folded = password.casefold()
    if folded in (email.casefold(), email.partition("@")[0].casefold()):
        raise InvalidInput.on(field, "It must not be the e-mail address.")
    if len(set(folded)) < 4:
        raise InvalidInput.on(field, "It needs at least four different characters.")
