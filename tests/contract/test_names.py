"""One resource, one word: who knows a path finds contract, tag, handler, room in persistence and test by its name."""

import importlib
import re
from pathlib import Path

import pytest

from handlers.contract.operations import handler_module
from tests.contract.documents import Operation, all_operations

ROOT = Path(__file__).parents[2]
ROOMS = {
    "calls": "channels",
    "events": "campaigns",
    "invitations": "accounts",
    "org": "workspaces",
    "sessions": "accounts",
    "webhooks": "deliveries",
}
"""The rooms in persistence that have another name: what older clients, people and receivers call by their own words."""

PERSISTENCE = {path.stem for path in (ROOT / "persistence").rglob("*") if path.is_dir() or path.suffix == ".py"}
"""The names of its folders and files: a small resource that belongs to another one stands in the folder of that one."""

OPERATIONS = [operation for operation in all_operations() if not operation.root.startswith(("relay", "chat"))]


def word_of(operation: Operation) -> str:
    return re.split(r"[/.]", operation.path)[1]


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_the_word_of_a_path_leads_to_contract_tag_handler_persistence_and_test(operation: Operation) -> None:
    word, generation = word_of(operation), operation.root.partition("/")[0]
    module = handler_module(generation, word)
    resource = module.rpartition(".")[2]
    tag = operation.body["tags"][0]
    source = Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    rooms = [ROOMS.get(resource, resource), f"{resource}s", word.partition("_")[0]]
    room = next(name for name in rooms if name in PERSISTENCE)
    tests = [
        *(ROOT / "tests" / "handlers" / generation).glob(f"test_{resource}*.py"),
        *(ROOT / "tests" / "handlers").glob(f"test_{resource}*.py"),
        *(ROOT / "tests" / "persistence" / room).glob("test_*.py"),
    ]

    assert (ROOT / "openapi" / generation / "paths" / f"{word}.yaml").exists()
    assert word.startswith(tag.removesuffix("ies").removesuffix("s")) or tag == resource, f"the tag is {tag}"
    assert f"def {operation.body['operationId']}(" in source or f"{operation.body['operationId']} = " in source
    assert re.search(rf"^from persistence[.\w]*(\.{room}\b| import .*\b{room}\b)", source, re.MULTILINE), f"no {room}"
    assert tests, f"no test of {resource}"
