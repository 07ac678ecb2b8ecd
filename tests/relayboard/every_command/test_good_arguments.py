"""Every command by its name, with arguments that are right."""

import json

import pytest

from tests.relayboard.every_command.cases import APART, GOOD, QUIET, SERVICES, TEXT
from tests.relayboard.every_command.leaves import COMMANDS, LEAVES, Leaf, options_of
from tests.relayboard.every_command.running import Run, Said, arrange, find_fault
from tests.relayboard.every_command.told import BEFORE, TOLD
from tests.relayboard.every_command.world import World


def test_every_command_has_a_case():
    assert set(GOOD) | set(SERVICES) | set(APART) == set(LEAVES)


def test_every_option_says_what_it_is_for():
    options = [(words, action) for words in LEAVES for action in options_of(words)]

    assert options
    assert [(*words, action.opts[-1]) for words, action in options if not action.help] == []


def test_every_command_says_in_its_help_what_it_does():
    assert [words for words, command in COMMANDS.items() if not command.help] == []


@pytest.mark.parametrize("words", GOOD, ids=" ".join)
def test_a_command_does_what_it_says_and_the_audit_log_tells_it(run: Run, world: World, words: Leaf) -> None:
    """The calls of a command follow each other: what one makes, the next may take away."""
    for text in GOOD[BEFORE[words]] if words in BEFORE else ():
        run(*arrange(BEFORE[words], text, world))
    for text in GOOD[words]:
        arguments, typed = arrange(words, text, world)

        said = run(arguments, typed)

        is_text = words in TEXT and "--json" not in arguments
        err = "".join(line for line in said.err.splitlines() if "--wire" not in arguments or line[:1] not in "<>")
        assert (said.status, err, find_fault(said, writes_text=is_text)) == (0, "", ""), text
        assert said.out or words in QUIET, text

    if words in TOLD:
        events = json.loads(list_events(run, world, 100).out)
        assert all(each["user"] is None and each["via"] == "command" for each in events if each["command"])
        told = {(each["command"], each["resource"], each["action"]) for each in events}
        assert (" ".join(words), *TOLD[words]) in told


def list_events(run: Run, world: World, limit: int) -> Said:
    return run(["audit", "list", "--workspace", world.names["workspace"], "--limit", str(limit)])


@pytest.mark.parametrize("make_database", ["sqlite"], indirect=True)
def test_the_api_tells_the_same(run: Run, world: World) -> None:
    run(*arrange(("label", "create"), "--workspace {workspace} --name Told", world))
    shown = world.service.get("/api/v2/audit_events.json")["results"]
    said = list_events(run, world, len(shown))

    assert [each["uuid"] for each in json.loads(said.out)] == [each["uuid"] for each in shown] != []
