"""Every command by its name, with arguments that are right."""

import pytest

from tests.relayboard.every_command.cases import APART, GOOD, QUIET, SERVICES, TEXT
from tests.relayboard.every_command.leaves import COMMANDS, LEAVES, Leaf, options_of
from tests.relayboard.every_command.running import Run, arrange, find_fault
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
def test_a_command_does_what_it_says(run: Run, world: World, words: Leaf) -> None:
    """The calls of a command follow each other: what one makes, the next may take away."""
    for text in GOOD[words]:
        arguments, typed = arrange(words, text, world)

        said = run(arguments, typed)

        is_text = words in TEXT and "--json" not in arguments
        err = "".join(line for line in said.err.splitlines() if "--wire" not in arguments or line[:1] not in "<>")
        assert (said.status, err, find_fault(said, writes_text=is_text)) == (0, "", ""), text
        assert said.out or words in QUIET, text
