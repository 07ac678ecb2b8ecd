"""Describes failures in one sentence. Tracebacks go to a file, never to the terminal."""

import os
import sys
import tempfile

from persistence.errors import BackupError, DatabaseError, NothingFound, RuleBroken, fault_of, reason_of
from persistence.migrations import MigrationError
from persistence.secrets.encryption import SecretDamaged, SecretKeyChanged
from relayboard.base.logs import format_traceback
from relayboard.base.settings import SettingError
from relayboard.base.terminal_text import printable
from relayboard.refusal import CommandFailed
from worker.errors import QueueError

LONGEST_LINE = 1000
EXPECTED = (
    BackupError,
    CommandFailed,
    RuleBroken,
    SecretDamaged,
    SecretKeyChanged,
    SettingError,
    MigrationError,
    QueueError,
)
"""Exceptions whose message is a sentence for people."""


def describe_failure(error: Exception) -> str:
    """One line that says what went wrong. For an error in the program it names the file with the traceback."""
    if isinstance(error, NothingFound):
        return _one_line(f'there is no {error.field.removesuffix("s")} "{error.reference}"')
    if isinstance(error, EXPECTED):
        return _one_line(str(error))
    fault = fault_of(error) if isinstance(error, DatabaseError) else None
    if fault is not None:
        return f"{fault.sentence}: {fault.remedy}"
    if isinstance(error, DatabaseError):
        return f"the database cannot be used: {_one_line(reason_of(error))}"
    if isinstance(error, OSError) and error.strerror:
        return _one_line(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
    return f"this is a fault of Relayboard ({type(error).__name__}); details are in {_keep_traceback(error)}"


def say_failure(error: Exception) -> None:
    """Report a failure at the terminal, or in the log of a service."""
    print(f"relayboard: {describe_failure(error)}", file=sys.stderr, flush=True)


def _one_line(text: str) -> str:
    """The text as one line of reasonable length. Control characters for terminals are replaced by their codes."""
    shown = printable(" ".join(text.split()))
    return shown if len(shown) <= LONGEST_LINE else shown[:LONGEST_LINE] + "..."


def _keep_traceback(error: Exception) -> str:
    """The name of a new file, readable by its owner only."""
    descriptor, path = tempfile.mkstemp(prefix="relayboard-fault-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(format_traceback(error) + "\n")
    return path
