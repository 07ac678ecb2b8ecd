"""The table of letters that look alike, as it is made of Unicode's."""

import json
from pathlib import Path

from tools.confusables import make

LINES = [
    "# confusables.txt",
    "",
    "0430 ;\t0061 ;\tMA\t# ( а → a ) CYRILLIC SMALL LETTER A → LATIN SMALL LETTER A\t#",
    "0251 ;\t0061 ;\tMA\t#",
    "FB01 ;\t0066 0069 ;\tMA\t#",
]


def test_letters_are_listed_by_what_they_look_like():
    assert json.loads(make(LINES)) == {"a": "аɑ", "fi": "ﬁ"}


def test_the_table_in_the_tree_is_whole():
    table = json.loads((Path(__file__).parents[2] / "flows" / "confusables.json").read_text())

    assert sum(map(len, table.values())) == 6311
    assert "\u0430" in table["a"]
