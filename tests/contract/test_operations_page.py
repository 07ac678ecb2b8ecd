"""The page of operations in the documentation is made from the contract."""

from pathlib import Path

from openapi.bundle import GENERATIONS, bundle, operations
from openapi.table import render_page

PAGE = Path(__file__).parents[2] / "docs" / "operations.md"


def test_the_page_of_operations_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "python -m openapi.table > docs/operations.md"


def test_the_page_has_a_row_for_every_operation() -> None:
    rows = [line for line in render_page().splitlines() if line.startswith("| `")]
    assert len(rows) == sum(len(list(operations(bundle(generation)))) for generation in GENERATIONS)
