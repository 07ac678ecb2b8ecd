from pathlib import Path

from tools.untested import write_page

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests" / "modules-without-tests.md"


def test_the_page_of_modules_without_a_test_file_is_new() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(ROOT)


def test_each_of_them_is_tested_from_somewhere_that_exists() -> None:
    rows = [line.split("`") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]

    assert rows
    assert [cells[3] for cells in rows if not (ROOT / cells[3]).exists()] == []
