"""Every command by its name, with arguments that are wrong in every way its parser knows of."""

import json
from pathlib import Path

import pytest

from tests.relayboard.every_command.cases import APART, GOOD, SERVICES, TEXT
from tests.relayboard.every_command.leaves import Leaf
from tests.relayboard.every_command.mistakes import USAGE, list_mistakes
from tests.relayboard.every_command.running import Run, arrange, find_fault
from tests.relayboard.every_command.world import World

COMMANDS = [pytest.param(words, id=" ".join(words)) for words in (*GOOD, *SERVICES, *APART)]


@pytest.fixture(autouse=True)
def wrong_files(world: World) -> None:
    folder = Path(world.names["folder"])
    (folder / "torn.json").write_text('{"flows": [')
    (folder / "binary.json").write_bytes(b"\xff\x00\xfe")
    (folder / "list.json").write_text(json.dumps([1, {"flows": {}}]))


# What is wrong with a call is found before a database is asked, nearly always.
@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_that_is_called_wrong_says_so_in_one_sentence(run: Run, world: World, words: Leaf) -> None:
    faults = []
    good, typed = arrange(words, {**GOOD, **SERVICES, **APART}[words][0], world)
    for given, statuses in list_mistakes(words, good):
        if words in SERVICES and statuses != USAGE:
            continue
        arguments = [argument.replace("{folder}", world.names["folder"]) for argument in given]
        said = run(arguments, typed)
        fault = find_fault(said, writes_text=words in TEXT)
        if said.status not in statuses:
            fault = fault or f"exit status {said.status}"
        if fault:
            faults.append((fault, [argument[:60] for argument in arguments], said.out[-300:], said.err[-600:]))

    assert faults == []
