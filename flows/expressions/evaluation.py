"""The state of one evaluation: settings, sources, budget and the warnings so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flows.clock import SYSTEM_CLOCK, Clock
from flows.environment import Environment
from flows.expressions.budget import Budget
from flows.expressions.errors import ExpressionTooComplexError

if TYPE_CHECKING:
    from flows.places import Place

CALL_DEPTH_LIMIT = 40


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
_ENVIRONMENT = Environment()


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
