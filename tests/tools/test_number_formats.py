"""The table of number formats, as it is made of CLDR."""

from pathlib import Path

from tools.number_formats import render_table


def test_the_table_in_the_tree_is_that_of_cldr() -> None:
    assert (Path(__file__).parents[2] / "flows" / "number_formats.json").read_text() == render_table()
