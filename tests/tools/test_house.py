"""The size of the house, and the files that a case enters."""

import pytest

from tools import walk
from tools.house import ROOT, House, main, measure


def test_the_table_has_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0

    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]] == list(measure(House(ROOT)))


def test_a_walk_names_the_files_of_a_request_in_their_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert walk.main(["labels"]) == 0

    listed = capsys.readouterr().out
    places = [
        listed.index(f"`{name}`") for name in ("handlers/asgi/guard.py", "handlers/answers.py", "persistence/lists.py")
    ]
    assert places == sorted(places)
