"""The commands that there are, read from the command line itself, so that none can be forgotten."""

from collections.abc import Iterator

import click

from relayboard.usage.program import build_program

Leaf = tuple[str, ...]


def list_commands(command: click.Command, words: Leaf = ()) -> Iterator[tuple[Leaf, click.Command]]:
    """Every command below one, with the words that lead to it; those without words below them do something."""
    for word, below in command.commands.items() if isinstance(command, click.Group) else ():
        yield (*words, word), below
        yield from list_commands(below, (*words, word))


COMMANDS = dict(list_commands(build_program()))
LEAVES = {words: command for words, command in COMMANDS.items() if not isinstance(command, click.Group)}


def options_of(words: Leaf) -> list[click.Parameter]:
    """What can be given to a command; not `--help`."""
    return list(COMMANDS[words].params)
