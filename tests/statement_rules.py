"""What every statement of the code keeps to, whichever test runs it: keys are looked up, they are not measured. A row
of another workspace with a lower or a higher number is found by nobody, even where no test has made one.
"""

import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
OWNER = "workspace_id"
WALKS = re.compile(r"> (owners\.id|pairs\.owner|gateways\.id|called\.id|sync_record\.id)$|^other\.id < message\.id$")
"""Statements that go from one key to the next, or to an earlier or a later row."""
COMPARED = re.compile(r"\b(?:(\w+)\.)?(id|\w+_id) (<=|>=|!=|<|>) ([\w.:%?]+)")
OTHERS = re.compile(r"^\w+\.id != |^\w+\.contact_id != ")
"""Other rows than this one, and rows of other contacts."""
BESIDE = ("tests", "testbed", "bench", "tools")
PASSED_ON = ("persistence/database.py", "tests/statement_rules.py", "tests/conftest.py")


@cache
def broken_rules(statement: str) -> Sequence[str]:
    """The comparisons of a statement that measure a key, but for those of pages and walks."""
    return [
        found[0]
        for found in COMPARED.finditer(statement)
        if not WALKS.search(found[0]) and (found[2] == OWNER or not _may_measure(statement, found))
    ]


class StatementRules:
    """Notes the statements of the code that break a rule; a listener of `before_cursor_execute`."""

    def __init__(self) -> None:
        self.broken: list[str] = []

    def __call__(self, _connection: Any, _cursor: Any, statement: str, *_rest: object) -> None:
        if broken_rules(statement) and not _is_beside():
            self.broken.append(f"{', '.join(broken_rules(statement))}: {statement}")

    def take(self) -> list[str]:
        """What was noted since the last call."""
        found, self.broken = self.broken, []
        return found


def _may_measure(statement: str, found: re.Match[str]) -> bool:
    """Whether a page begins behind a key, rows behind it are counted, or another row is meant."""
    table, column, comparison, _ = found.groups()
    if comparison == "!=":
        return OTHERS.match(found[0]) is not None
    if comparison in "<>":
        return "ORDER BY" in statement or "count(" in statement
    name = re.escape(f"{table}.{column}" if table else column)
    return re.search(rf"ORDER BY [^()]*\b{name}\b", statement) is not None


def _is_beside() -> bool:
    """Whether a statement comes from a test or a revision, not from the code."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(ROOT) and "site-packages" not in path.parts:
            name = path.relative_to(ROOT).as_posix()
            if name not in PASSED_ON:
                return name.startswith((*(f"{each}/" for each in BESIDE), "persistence/migrations/"))
        frame = frame.f_back
    return True
