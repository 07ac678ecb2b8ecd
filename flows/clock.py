"""The three inputs that a pure engine needs: the time, random numbers, and new identifiers."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from os import urandom
from random import SystemRandom
from typing import Protocol

RANDOM_DIGITS = 16


class Clock(Protocol):
    """Everything that makes two runs of the same flow differ; replace it to replay a conversation."""

    def now(self) -> datetime:
        """The current time, aware and in UTC."""

    def random(self) -> Decimal:
        """A number that is at least 0 and less than 1."""

    def uuid(self) -> str:
        """A new UUID as lower-case text with hyphens."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The system's clock, random numbers and identifiers, for hosts."""

    def now(self) -> datetime:
        """The current time in UTC."""
        return datetime.now(UTC)

    def random(self) -> Decimal:
        """A number in [0, 1) with sixteen digits."""
        return Decimal(SystemRandom().randrange(10**RANDOM_DIGITS)).scaleb(-RANDOM_DIGITS)

    def uuid(self) -> str:
        """A random (version 4) UUID."""
        digits = urandom(16).hex()
        # Written by hand, because the uuid module takes four times as long; 4 is the version, followed by the variant.
        variant = "89ab"[int(digits[16], 16) & 3]
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


SYSTEM_CLOCK = SystemClock()
