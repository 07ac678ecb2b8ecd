"""What a sprint may draw from."""

from decimal import Decimal

from flows.clock import SYSTEM_CLOCK
from worker.flows.sprints import RepeatableChance


def draw(sprint: str, count: int = 200) -> list[Decimal]:
    chance = RepeatableChance(SYSTEM_CLOCK, b"a key", sprint)
    return [chance.random() for _ in range(count)]


def test_random_numbers_are_below_one_all_over_and_the_same_when_a_sprint_runs_again() -> None:
    numbers = draw("one")

    assert numbers == draw("one") != draw("two")
    assert len(set(numbers)) == 200
    assert 0 <= min(numbers) < Decimal("0.1") and Decimal("0.9") < max(numbers) < 1
    assert all(number.as_tuple().exponent == -16 for number in numbers)
