"""The state of one evaluation: settings, sources, budget and the warnings so far.

The cost limit of one evaluation (flow format, cost budget). Two costs are counted, both without a clock, so that an
evaluation always has the same result: the size of produced values, which limits memory, and the work, which limits
time. Work is counted separately because small values can take long to compute: for example a search in a long text that
only returns whether something was found.

The exceptions of evaluation, used inside the engine; outside, errors are values and messages (flow format, evaluation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flows.environment import SYSTEM_CLOCK, Clock, Environment

if TYPE_CHECKING:
    from flows.places import Place

CALL_DEPTH_LIMIT = 40
_ENVIRONMENT = Environment()

COST_LIMIT = 10_000_000

# One unit is at most about a microsecond, so all of them together are well below a second.
WORK_LIMIT = 500_000
CHARACTERS_PER_UNIT = 16
SPRINT_EVALUATIONS = 3
BULK_SHARE = 25

OUT_OF_RANGE = "number value out of range"


@dataclass(frozen=True, slots=True)
class Resources:
    """The host's resources for functions: its tree of places, and prompts by name, with `{{ .arg1 }}` and so on in
    them. `finds_intents` says that results of classifiers can be tested, which generation 14 of the format does not
    support.
    """

    places: Place | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    finds_intents: bool = True


NO_RESOURCES = Resources()


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

    def __init__(self, cost: int = COST_LIMIT, work: int = WORK_LIMIT, of: Budget | None = None) -> None:
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


class ExpressionTooComplexError(Exception):
    """An evaluation exceeded its budget and ends as a whole."""

    def __init__(self) -> None:
        super().__init__("expression is too complex to evaluate")


class Evaluation:
    """One evaluation of a template; functions get it as their first argument."""

    __slots__ = ("budget", "clock", "depth", "environment", "resources", "warnings")

    def __init__(
        self,
        environment: Environment = _ENVIRONMENT,
        clock: Clock = SYSTEM_CLOCK,
        resources: Resources = NO_RESOURCES,
        budget: Budget | None = None,
    ) -> None:
        self.environment = environment
        self.clock = clock
        self.resources = resources
        self.budget = budget or Budget()
        self.warnings: list[str] = []
        self.depth = 0

    def enter(self) -> None:
        """Begins the call of an anonymous function; raises ExpressionTooComplexError if calls nest too deep."""
        self.depth += 1
        if self.depth > CALL_DEPTH_LIMIT:
            raise ExpressionTooComplexError

    def leave(self) -> None:
        """Ends the call that was begun last."""
        self.depth -= 1


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


class ExpressionError(Exception):
    """An operation or function has no result; the message becomes an error value."""
