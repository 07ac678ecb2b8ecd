"""Files with invalid values in any place are imported or refused; nothing else happens."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from persistence.database import Database
from persistence.definitions.importing import import_definitions
from persistence.errors import RuleBroken
from persistence.workspaces.records import Workspace
from tests.definition_files import read_registration
from tests.thinned import EVERY_CASE

ANYTHING: list[Any] = [None, 0, -1, 1.5, True, "", "x" * 700, "@(", [], {}, [None], {"uuid": None}, '"\\', "😀", ["a"]]
SEEDS, FILES_PER_SEED = 8 if EVERY_CASE else 3, 15
Path = tuple[str | int, ...]


class _Undone(Exception):
    pass


def list_paths(part: Any, path: Path = ()) -> Iterator[Path]:
    items: Any = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from list_paths(item, (*path, key))


def spoil(document: dict[str, Any], chance: random.Random) -> None:
    """Puts something else into one place, as often outside the flows as within."""
    paths = list(list_paths(document))
    around = [path for path in paths if path[0] != "flows"]
    *path, last = chance.choice(around if chance.random() < 0.5 else paths)
    part: Any = document
    for key in path:
        part = part[key]
    part[last] = copy.deepcopy(chance.choice(ANYTHING))


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_file_is_imported_or_refused(database: Database, workspace: Workspace, seed: int) -> None:
    chance = random.Random(seed)
    outcomes = set()
    for _ in range(FILES_PER_SEED):
        document = read_registration()
        spoil(document, chance)
        try:
            with database.writing() as tx:
                import_definitions(tx, workspace, document)
                raise _Undone
        except RuleBroken as refusal:
            outcomes.add("refused" if str(refusal) else "refused without a word")
        except _Undone:
            outcomes.add("imported")

    assert outcomes == {"imported", "refused"}
