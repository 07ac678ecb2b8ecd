"""The examples of docs/flow-engine.md."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "flow-engine.md"


def test_the_examples_of_the_page_hold() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False)

    assert outcome.attempted > 20
    assert not outcome.failed
