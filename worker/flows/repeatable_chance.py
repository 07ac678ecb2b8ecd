"""Random numbers that are the same when a sprint is run again."""

import hmac
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from flows.clock import RANDOM_DIGITS, Clock


@dataclass(slots=True)
class RepeatableChance:
    """A clock for one sprint whose random numbers are derived from a key and the sprint's name. If a worker is killed
    after it called another system and before it recorded that, another worker runs the sprint again: random splits must
    then take the same way, so that the same calls are made.
    """

    clock: Clock
    key: bytes = field(repr=False)
    sprint: str
    _drawn: int = 0

    def now(self) -> datetime:
        """The current time in UTC."""
        return self.clock.now()

    def uuid(self) -> str:
        """A new UUID."""
        return self.clock.uuid()

    def random(self) -> Decimal:
        """A number in [0, 1) with sixteen digits."""
        self._drawn += 1
        digest = hmac.digest(self.key, f"{self.sprint} {self._drawn}".encode(), "sha256")
        return Decimal(int.from_bytes(digest) % 10**RANDOM_DIGITS).scaleb(-RANDOM_DIGITS)
