"""Router tests on places (flow format, router tests)."""

from functools import lru_cache

from flows.expressions.errors import ExpressionError
from flows.expressions.evaluation import Evaluation
from flows.expressions.functions.registry import TEXT, function, matched, not_matched
from flows.expressions.values import XObject
from flows.places import DISTRICT, STATE, WARD, Place, find_places

CHARACTERS_PER_WORD = 4
PLACES_PER_UNIT = 8


@function("has_state", takes=[TEXT])
def has_state(evaluation: Evaluation, text: str) -> XObject:
    """The text names a state; the match is its path."""
    return _match_first(_find(evaluation, text, STATE, None))


@function("has_district", takes=[TEXT], optional=[TEXT])
def has_district(evaluation: Evaluation, text: str, state: str = "") -> XObject:
    """The text names a district of a state, or without a state the only district with this name."""
    if not state:
        return _match_only(_find(evaluation, text, DISTRICT, None))
    return _match_first(_find_below(evaluation, text, DISTRICT, _find(evaluation, state, STATE, None)))


@function("has_ward", takes=[TEXT], optional=[TEXT, TEXT])
def has_ward(evaluation: Evaluation, text: str, state: str = "", district: str | None = None) -> XObject:
    """The text names a ward of a state's district, or without a district the only ward with this name."""
    if state and district is None:
        raise ExpressionError("need 1 or 3 argument(s), got 2")
    if not district:
        return _match_only(_find(evaluation, text, WARD, None))
    states = _find(evaluation, state, STATE, None)
    districts = _find_below(evaluation, district, DISTRICT, states)
    return _match_first(_find_below(evaluation, text, WARD, districts))


def _find_below(evaluation: Evaluation, text: str, level: int, parents: list[Place]) -> list[Place]:
    return _find(evaluation, text, level, parents[0]) if parents else []


def _find(evaluation: Evaluation, text: str, level: int, parent: Place | None) -> list[Place]:
    root = evaluation.resources.places
    if root is None:
        raise ExpressionError("no places are known")
    # Every word and every pair of words is searched among all places.
    attempts = 2 + 2 * len(text) // CHARACTERS_PER_WORD
    evaluation.budget.spend(attempts * _count(root) // PLACES_PER_UNIT)
    return find_places(root, text, level, parent)


@lru_cache(maxsize=64)
def _count(root: Place) -> int:
    return sum(1 for _ in root.walk())


def _match_first(found: list[Place]) -> XObject:
    return matched(found[0].path) if found else not_matched()


def _match_only(found: list[Place]) -> XObject:
    return matched(found[0].path) if len(found) == 1 else not_matched()
