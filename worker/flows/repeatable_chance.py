"""Chance that does not change when a sprint is run anew."""

import hmac
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from flows.clock import RANDOM_DIGITS, Clock


@dataclass(slots=True)
class RepeatableChance:
    """A clock for one sprint whose random numbers follow from a key and the sprint's name.

    A worker that is killed after it asked the outside for something, and before it recorded that, leaves the sprint to
    another: random splits must then lead the same way, so that the same things are asked for.
    """

    clock: Clock
    key: bytes = field(repr=False)
    sprint: str
    _drawn: int = 0

    def now(self) -> datetime:
        """The present moment in UTC."""
        return self.clock.now()

    def uuid(self) -> str:
        """A new UUID."""
        return self.clock.uuid()

    def random(self) -> Decimal:
        """A number in [0, 1) with sixteen digits."""
        self._drawn += 1
        digest = hmac.digest(self.key, f"{self.sprint} {self._drawn}".encode(), "sha256")
        return Decimal(int.from_bytes(digest) % 10**RANDOM_DIGITS).scaleb(-RANDOM_DIGITS)
