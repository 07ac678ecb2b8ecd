"""The `relayboard` command line.

Commands that create or show something print JSON on stdout and nothing else there. Errors go to stderr with exit
status 1, wrong usage with 2.
"""

import argparse
import sys
from collections.abc import Sequence

from sqlalchemy.exc import SQLAlchemyError

from persistence.errors import RuleBroken
from persistence.sealing import SecretDamaged, SecretKeyChanged
from relayboard.commands import COMMANDS
from relayboard.commands.output import CommandFailed
from relayboard.settings import SettingError


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="relayboard", description="A self-hosted messaging workspace service.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for register in COMMANDS:
        register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit status of the process."""
    options = build_parser().parse_args(arguments)
    try:
        status: int | None = options.run(options)
    except (CommandFailed, RuleBroken, SecretDamaged, SecretKeyChanged, SettingError) as error:
        print(f"relayboard: {error}", file=sys.stderr)
        return 1
    except SQLAlchemyError as error:
        print(f"relayboard: the database cannot be used: {getattr(error, 'orig', None) or error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1
    return status or 0
