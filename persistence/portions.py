"""Long lists in parts that fit into one statement on every database."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

ROWS_PER_STATEMENT = 1000

Item = TypeVar("Item")


def split(items: Sequence[Item], size: int = ROWS_PER_STATEMENT) -> Iterator[Sequence[Item]]:
    """The items in their order, at most `size` at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
