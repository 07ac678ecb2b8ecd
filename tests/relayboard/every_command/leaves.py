"""The commands that there are, read from the parser itself, so that none can be forgotten."""

import argparse
from collections.abc import Iterator

from relayboard.cli import build_parser

Leaf = tuple[str, ...]


def list_parsers(parser: argparse.ArgumentParser, words: Leaf = ()) -> Iterator[tuple[Leaf, argparse.ArgumentParser]]:
    """Every parser below one, with the words that lead to it; those without words below them are commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield (*words, word), below
                yield from list_parsers(below, (*words, word))


def has_words(parser: argparse.ArgumentParser) -> bool:
    return any(isinstance(action, argparse._SubParsersAction) for action in parser._actions)


PARSERS = dict(list_parsers(build_parser()))
LEAVES = {words: parser for words, parser in PARSERS.items() if not has_words(parser)}


def options_of(words: Leaf) -> Iterator[argparse.Action]:
    """What can be given to a command, also between its words; not `--help`."""
    for length in range(1, len(words) + 1):
        for action in PARSERS[words[:length]]._actions:
            if not isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
                yield action
