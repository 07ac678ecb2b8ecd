"""The `relayboard` command line.

Commands that create or show something print JSON on stdout and nothing else there. Errors go to stderr, one sentence
each, with exit status 1; wrong usage with 2.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from relayboard.base.version import program_version
from relayboard.commands import MODULES, load_commands
from relayboard.commands.parser import CommandParser
from relayboard.doctor.findings import report
from relayboard.doctor.packages import check_packages
from relayboard.processes import CANNOT_START, is_supervised

INTERRUPTED = 130


class ShowVersion(argparse.Action):
    """Reads the version only when it is requested."""

    def __call__(self, parser: argparse.ArgumentParser, *_given: Any, **_options: Any) -> None:
        print(f"relayboard {program_version()}")
        parser.exit()


def build_parser(noun: str | None = None) -> CommandParser:
    """The parser of all commands, or only of those of one noun if it is known."""
    parser = CommandParser(
        prog="relayboard",
        description="A self-hosted messaging workspace service.",
        epilog="`relayboard COMMAND --help` tells more. Settings come from the environment or a file .env.",
    )
    parser.add_argument(
        "--version", action=ShowVersion, nargs=0, default=argparse.SUPPRESS, help="show the version, and end"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", required=True)
    for register in load_commands(MODULES if noun not in MODULES else [noun]):
        register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit status of the process."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    hidden = list(check_packages())
    if hidden:  # nothing else can be loaded then
        if given[:1] == ["doctor"]:
            return report(hidden, as_json="--json" in given)
        print(f"relayboard: {hidden[0].sentence}", file=sys.stderr)
        return 1
    parser = build_parser(given[0] if given else None)
    if not all(_is_text(argument) for argument in given):
        parser.error("an argument is not UTF-8")
    options, unknown = parser.parse_known_args(given)
    if unknown:  # reported with the usage of this command, not of all commands
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status: int | None = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _leave_stdout()
        return 1
    except Exception as error:
        from relayboard.failures import say_failure  # noqa: PLC0415  # it loads packages that may be hidden

        say_failure(error)
        return CANNOT_START if is_supervised() else 1
    return status or 0


def _is_text(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def _leave_stdout() -> None:
    """The reader of our output has gone; otherwise the interpreter would report an error when it flushes the rest at
    its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
