"""Which tests judge a mutant of a module: first those nearest to it, then, if it lives on, all of its room."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.untested import find_testers

MOST_NEAR = 8
ROOMS = {
    "flows": ("tests/flows/engine", "tests/flows/actions", "tests/flows/definition"),
    "worker": ("tests/worker",),
    "persistence": ("tests/persistence", "tests/handlers"),
}
"""The folders that a room's survivors are shown to."""


def near_tests(root: Path) -> Mapping[str, Sequence[str]]:
    """The test files of each module by its path: its own one, and those that import it."""
    return {path: found[:MOST_NEAR] for path, found in find_testers(root).items()}


def room_tests(path: str) -> list[str]:
    """For a module in a folder of persistence or worker the tests of that folder, otherwise all of the room."""
    room, *rest = path.split("/")
    folders = ROOMS[room]
    if room != "flows" and len(rest) > 1:
        inner = [f"{folder}/{rest[0]}" for folder in folders if Path(folder, rest[0]).is_dir()]
        return inner or list(folders)
    return list(folders)
