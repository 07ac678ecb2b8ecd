"""Secrets are read from a file or standard input: everybody who lists the processes sees arguments."""

import argparse
import sys
from pathlib import Path
from typing import Any

from relayboard.commands.output import CommandFailed

STANDARD_INPUT = "-"
LONGEST_TEXT = 65_536


def add_text(parser: Any, name: str, *, required: bool = False, metavar: str | None = None, help: str) -> None:
    """Adds an option, and one with `-file` at the end for text that is or contains a secret; see `given_text`."""
    either = parser.add_mutually_exclusive_group(required=required) if hasattr(parser, "prog") else parser
    either.add_argument(name, metavar=metavar, help=help)
    either.add_argument(
        f"{name}-file",
        metavar="FILE",
        help="the same from a file, or from standard input for -, if it contains a secret",
    )


def given_text(options: argparse.Namespace, name: str) -> str | None:
    """The value of an option that `add_text` added, from the option or the file; None if it was not given."""
    source: str | None = getattr(options, f"{name}_file")
    if source is not None:
        return read_text(source)
    given: str | None = getattr(options, name)
    return given


def read_secret(source: str) -> str:
    """A secret of one line. Raises CommandFailed for no line or several lines."""
    secret = read_text(source)
    if "\n" in secret:
        raise CommandFailed(f"{_named(source)} has more than one line")
    return secret


def read_text(source: str) -> str:
    """The content of a file, or of standard input for `-`, without white space around it. Raises CommandFailed if it is
    empty."""
    try:
        if source == STANDARD_INPUT:
            text = sys.stdin.read(LONGEST_TEXT + 1)
        else:
            with Path(source).open(encoding="utf-8") as file:
                text = file.read(LONGEST_TEXT + 1)
    except OSError as error:
        raise CommandFailed(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{_named(source)} is not UTF-8") from error
    if len(text) > LONGEST_TEXT:
        raise CommandFailed(f"{_named(source)} is too long")
    if not text.strip() or "\x00" in text:
        raise CommandFailed(f"{_named(source)} holds no text")
    return text.strip()


def _named(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else source
