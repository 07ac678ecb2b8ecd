"""The size of the house, and the files that a case enters."""

import subprocess
import sys

import pytest

from tools import house as measuring
from tools.house import HISTORY, LARGE, ROOT, SCREEN, House, main, measure


@pytest.fixture(scope="module")
def house() -> House:
    return House(ROOT)


@pytest.mark.benchmark
def test_the_table_has_every_figure(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = measure(house)
    monkeypatch.setattr(measuring, "House", {ROOT: house}.__getitem__)
    monkeypatch.setattr(measuring, "measure", {house: figures}.__getitem__)

    assert main([]) == 0

    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows[2:]] == list(figures)


@pytest.mark.benchmark  # it plays a whole case in a process of its own, and only docs/walks.md is made of it
def test_a_walk_names_the_files_of_a_request_in_their_order() -> None:
    # In a process of its own: threads that other tests have started are not watched.
    done = subprocess.run([sys.executable, "-m", "tools.walk", "labels"], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    files = ("handlers/asgi/guard.py", "handlers/answers.py", "persistence/lists.py")
    places = [done.stdout.index(f"`{name}`") for name in files]
    assert places == sorted(places)


def test_no_file_of_the_product_is_much_longer_than_a_story_and_no_function_than_a_screen(house: House) -> None:
    longest = LARGE * 6 // 5  # who is a few lines beyond should not split a story for it
    found = house.functions_over(SCREEN) + [name for name, text in house.product.items() if text.count("\n") > longest]

    # A revision never changes.
    assert [each for each in found if not each.startswith(HISTORY)] == [], "CONTRIBUTING.md has the rule of size"
