"""What one evaluation may cost (flow format, cost budget).

Two things are counted, both without looking at a clock so that an evaluation ends the same way everywhere: the size
of what is produced, which bounds memory, and the work done, which bounds time. Work is counted apart because cheap
values can take long to make: a search through a long text, say, that only says whether something was found.
"""

from flows.expressions.errors import ExpressionTooComplexError

COST_LIMIT = 10_000_000
# One unit is at most about a microsecond, so all of them are well below a second.
WORK_LIMIT = 500_000
CHARACTERS_PER_UNIT = 16


def cost_of(value: object) -> int:
    """What a value costs: a text its bytes, anything else (and an empty text) 1."""
    if not isinstance(value, str) or not value:
        return 1
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


class Budget:
    """What is left to one evaluation; every method raises ExpressionTooComplexError when it is not enough."""

    __slots__ = ("cost", "work")

    def __init__(self, cost: int = COST_LIMIT, work: int = WORK_LIMIT) -> None:
        self.cost = cost
        self.work = work

    def charge(self, value: object) -> None:
        """Pays for a value just produced, see `cost_of`."""
        self.cost -= cost_of(value)
        if self.cost < 0:
            raise ExpressionTooComplexError

    def reserve(self, cost: int) -> None:
        """Pays for values about to be produced, given their number or bytes."""
        self.cost -= cost
        if self.cost < 0:
            raise ExpressionTooComplexError

    def pay(self, cost: int, units: int) -> None:
        """Pays for values and for work at once."""
        self.cost -= cost
        self.work -= units
        if self.cost < 0 or self.work < 0:
            raise ExpressionTooComplexError

    def spend(self, units: int = 1) -> None:
        """Pays for work that takes about so many microseconds."""
        self.work -= units
        if self.work < 0:
            raise ExpressionTooComplexError

    def read(self, text: str) -> None:
        """Pays for a pass over a text."""
        self.work -= 1 + len(text) // CHARACTERS_PER_UNIT
        if self.work < 0:
            raise ExpressionTooComplexError
