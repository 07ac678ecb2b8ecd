"""The parser of the command line: every command has a help text, and values are checked while parsing."""

import argparse
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

LARGEST_PORT = 65_535
LONGEST_SECONDS = 86_400
LARGEST_NUMBER = 2**31 - 1

Run = Callable[[argparse.Namespace], object]


class CommandParser(argparse.ArgumentParser):
    """A parser whose sub-commands show their help line also as their description."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.register("action", "parsers", Commands)

    def add_subparsers(self, **options: Any) -> "Commands":
        commands = super().add_subparsers(**{"metavar": "ACTION", "title": "actions", **options})
        assert isinstance(commands, Commands)
        return commands


class Commands(argparse._SubParsersAction):  # type: ignore[type-arg]  # argparse has no public name for it
    """What takes sub-commands."""

    def add_parser(self, name: str, **options: Any) -> CommandParser:
        text = options.get("help")
        if text:
            options.setdefault("description", f"{text[0].upper()}{text[1:]}.")
        parser: CommandParser = super().add_parser(name, **options)
        parser.set_defaults(parser=parser)
        return parser


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Adds the workspace option, which nearly every command needs."""
    parser.add_argument(
        "--workspace", required=True, metavar="UUID", help="the workspace, as `relayboard workspace list` names it"
    )


def add_noun(commands: Commands, noun: str, text: str) -> Commands:
    """Adds a noun; returns what its actions are added to (`relayboard NOUN ACTION`)."""
    return commands.add_parser(noun, help=text).add_subparsers(dest="action", required=True)


def add_action(actions: Commands, name: str, run: Run, text: str, **options: Any) -> argparse.ArgumentParser:
    """Adds an action that calls `run`; returns its parser."""
    parser = actions.add_parser(name, help=text, **options)
    parser.set_defaults(run=run)
    return parser


def workspace_action(actions: Commands, name: str, run: Run, text: str) -> argparse.ArgumentParser:
    """Adds an action with the workspace option; returns its parser."""
    parser = add_action(actions, name, run, text)
    add_workspace(parser)
    return parser


def whole_number(least: int, largest: int = LARGEST_NUMBER) -> Callable[[str], int]:
    """Returns a function that reads a whole number between two bounds."""

    def read(text: str) -> int:
        number = int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) <= 20 else None
        if number is None or not least <= number <= largest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number between {least} and {largest}")
        return number

    return read


def moment(text: str) -> datetime:
    """A date, or a date and time, with a time zone if it is given."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time like 2026-03-02T08:00:00Z") from None


def utc_moment(text: str) -> datetime:
    """A date and time; without a time zone it is UTC."""
    read = moment(text)
    return read if read.tzinfo else read.replace(tzinfo=UTC)


def number(least: float, largest: float) -> Callable[[str], float]:
    """Returns a function that reads a number between two bounds."""

    def read(text: str) -> float:
        try:
            given = float(text)
        except ValueError:
            given = math.nan
        if not least <= given <= largest:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number between {least:g} and {largest:g}")
        return given

    return read


seconds = number(0.001, LONGEST_SECONDS)
port_number = whole_number(0, LARGEST_PORT)
