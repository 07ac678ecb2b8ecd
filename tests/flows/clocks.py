"""A clock that stands still, for tests that depend on the current time."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal


@dataclass(frozen=True)
class StandingClock:
    """Always shows one moment and draws the same number."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def random(self) -> Decimal:
        return Decimal("0.5")

    def uuid(self) -> str:
        return "00000000-0000-4000-8000-000000000000"
