"""The size of the house, and the files that a case enters."""

import ast

import pytest

from tools import walk
from tools.house import HISTORY, LARGE, ROOT, SCREEN, House, main, measure


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


def test_no_file_of_the_product_is_much_longer_than_a_story_and_no_function_than_a_screen() -> None:
    longest = LARGE * 6 // 5  # who is a few lines beyond should not split a story for it
    found = []
    for name, text in House(ROOT).product.items():
        if name.startswith(HISTORY):  # a revision never changes
            continue
        functions = [
            node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        found += [f"{name}: {one.name}" for one in functions if (one.end_lineno or 0) - one.lineno >= SCREEN]
        found += [name] if text.count("\n") > longest else []

    assert found == [], "CONTRIBUTING.md has the rule of size"
