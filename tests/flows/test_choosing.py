"""By which channel messages to a URN go."""

from dataclasses import dataclass

import pytest

from flows.urns import choose_channel, choose_usual


@dataclass(frozen=True)
class Given:
    """A channel of a country that may have failed for long."""

    name: str
    country: str = "RW"
    is_down: bool = False
    address: str = ""
    match_prefixes: tuple[str, ...] = ()
    allow_international: bool = False


UP, OTHER = Given("up"), Given("other")
DOWN, ALSO_DOWN = Given("down", is_down=True), Given("also down", is_down=True)
ABROAD = Given("abroad", country="UG")


@pytest.mark.parametrize(
    ("able", "own", "chosen", "usual"),
    [
        ([UP, OTHER], UP, "up", "up"),
        ([UP, OTHER], None, "other", "other"),
        ([DOWN, UP], DOWN, "up", "down"),
        ([UP, DOWN], None, "up", "down"),
        ([DOWN], DOWN, "down", "down"),
        ([DOWN], None, "down", "down"),
        ([DOWN, ALSO_DOWN], DOWN, "down", "down"),
        ([DOWN, ABROAD], DOWN, "down", "down"),
        ([DOWN, ABROAD], None, "down", "down"),
        ([ABROAD], None, None, None),
        ([ABROAD], ABROAD, "abroad", "abroad"),
        ([], None, None, None),
    ],
)
def test_a_channel_that_has_failed_for_long_is_passed_over_while_another_may_serve(
    able: list[Given], own: Given | None, chosen: str | None, usual: str | None
) -> None:
    found = [choose("tel", "+250788000111", able, own) for choose in (choose_channel, choose_usual)]

    assert [each and each.name for each in found] == [chosen, usual]


def test_of_channels_for_anything_but_numbers_the_last_that_works_is_taken_wherever_it_is() -> None:
    assert choose_channel("telegram", "1234", [UP, ABROAD]) == ABROAD
    assert choose_channel("telegram", "1234", [ABROAD, DOWN]) == ABROAD
