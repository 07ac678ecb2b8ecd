"""What is read for options: secrets from a file or standard input (everybody who lists the processes sees arguments),
and JSON.
"""

import os
import stat
import sys
from pathlib import Path
from typing import Any

import orjson

from relayboard.refusal import CommandFailed
from relayboard.usage.parts import Options

STANDARD_INPUT = "-"
LONGEST_TEXT = 65_536


def given_text(options: Options, name: str) -> str | None:
    """The value of an option that `text_or_file` declares, from the option or the file; None if it was not given."""
    source: str | None = getattr(options, f"{name}_file")
    if source is not None:
        return read_text(source)
    given: str | None = getattr(options, name)
    return given


def read_secret(source: str) -> str:
    """A secret of one line; a file that others can read is told. Raises CommandFailed for no line or several lines."""
    secret = read_text(source)
    if source != STANDARD_INPUT and stat.S_IMODE(os.stat(source).st_mode) & 0o077:
        sys.stderr.write(f"warning: others on this machine can read {source}: chmod 600 {source}\n")
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
        if os.path.exists(source):
            raise CommandFailed(f"{source} cannot be read: {error.strerror}") from error
        # Its name is not shown: somebody may have given the secret in its place.
        raise CommandFailed("that file is not there: give the name of one, or - for standard input") from None
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{_named(source)} is not UTF-8") from error
    if len(text) > LONGEST_TEXT:
        raise CommandFailed(f"{_named(source)} is too long")
    if not text.strip() or "\x00" in text:
        raise CommandFailed(f"{_named(source)} holds no text")
    return text.strip()


def read_object(text: str, option: str) -> dict[str, Any]:
    """The object in the text of an option. Raises CommandFailed."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise CommandFailed(f"{option} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise CommandFailed(f"{option} must be a JSON object")
    return value


def _named(source: str) -> str:
    return "standard input" if source == STANDARD_INPUT else source
