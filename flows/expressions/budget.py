"""The cost limit of one evaluation (flow format, cost budget). Two costs are counted, both without a clock, so that an
evaluation always has the same result: the size of produced values, which limits memory, and the work, which limits
time. Work is counted separately because small values can take long to compute: for example a search in a long text that
only returns whether something was found.
"""

from flows.expressions.errors import ExpressionTooComplexError

COST_LIMIT = 10_000_000
# One unit is at most about a microsecond, so all of them together are well below a second.
WORK_LIMIT = 500_000
CHARACTERS_PER_UNIT = 16


def cost_of(value: object) -> int:
    """The cost of a value: the bytes of a text, 1 for anything else (and an empty text)."""
    if not isinstance(value, str) or not value:
        return 1
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


class Budget:
    """The remaining budget of one evaluation; every method raises ExpressionTooComplexError if it is not enough."""

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
        """Pays in advance for values, given their number or bytes."""
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
