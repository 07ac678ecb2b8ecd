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
SPRINT_EVALUATIONS = 3
BULK_SHARE = 25


def cost_of(value: object) -> int:
    """The cost of a value: the bytes of a text, 1 for anything else (and an empty text)."""
    if not isinstance(value, str) or not value:
        return 1
    return len(value) if value.isascii() else len(value.encode("utf-8", "replace"))


class Budget:
    """The remaining budget of one evaluation; every method raises ExpressionTooComplexError if it is not enough. What
    is paid from it is also paid from the budget that it is a part `of`: that of a sprint.
    """

    __slots__ = ("cost", "of", "work")

    def __init__(self, cost: int = COST_LIMIT, work: int = WORK_LIMIT, of: "Budget | None" = None) -> None:
        self.cost = cost
        self.work = work
        self.of = of

    def charge(self, value: object) -> None:
        """Pays for a value just produced, see `cost_of`."""
        self.pay(cost_of(value), 0)

    def reserve(self, cost: int) -> None:
        """Pays in advance for values, given their number or bytes."""
        self.pay(cost, 0)

    def pay(self, cost: int, units: int) -> None:
        """Pays for values and for work at once."""
        self.cost -= cost
        self.work -= units
        if self.cost < 0 or self.work < 0:
            raise ExpressionTooComplexError
        if self.of is not None:
            self.of.pay(cost, units)

    def spend(self, units: int = 1) -> None:
        """Pays for work that takes about so many microseconds."""
        self.pay(0, units)

    def read(self, text: str) -> None:
        """Pays for a pass over a text."""
        self.pay(0, 1 + len(text) // CHARACTERS_PER_UNIT)


def sprint_budget() -> Budget:
    """What all evaluations of a sprint may take together: otherwise a hundred that stay below their limits would take a
    hundred times as long.
    """
    return Budget(SPRINT_EVALUATIONS * COST_LIMIT, SPRINT_EVALUATIONS * WORK_LIMIT)


def bulk_budget() -> Budget:
    """What the text of one contact may take when thousands are written in a row. It is the same for each of them, so
    that a text never depends on those before it.
    """
    return Budget(COST_LIMIT // BULK_SHARE, WORK_LIMIT // BULK_SHARE)
