"""docs/capacity.md says what follows from the costs, and nothing else."""

import re

import pytest

from bench.capacity import PAGE, Cost, list_costs, render

SIZES = {"message": 1000, "contact": 2000, "run": 3000}
WORK = re.compile(r"^\| .+`python -m bench\..+$", re.MULTILINE)


def test_the_page_has_what_follows_from_the_costs() -> None:
    wanted = WORK.findall(render(SIZES, 100_000, 90))

    assert len(wanted) == len(list_costs())
    assert WORK.findall(PAGE.read_text(encoding="utf-8")) == wanted


def test_sizes_are_told_for_one_row_and_for_a_million() -> None:
    sheet = render(SIZES, 100_000, 90)

    assert "| message | 1,000 | 1.0 GB |" in sheet and "| run | 3,000 | 3.0 GB |" in sheet
    assert "nine million, about 9 GB" in sheet


@pytest.mark.parametrize(
    ("own", "database", "one", "many", "busy"),
    [(1.0, 1.0, 600, 9_600, "database"), (4.0, 1.0, 240, 3_000, "nodes"), (2.0, 4.0, 200, 2_400, "database")],
)
def test_what_is_busy_first_decides(own: float, database: float, one: int, many: int, busy: str) -> None:
    cost = Cost("work", own, database, "")

    assert (cost.of_one_machine(), cost.of_many()) == (one, (many, busy))
