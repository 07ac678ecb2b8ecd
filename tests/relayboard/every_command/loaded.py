"""Runs groups of commands, each group in a process of its own that has loaded what many commands need and nothing
heavy, and tells what each loaded: gets the names of heavy modules as arguments, reads groups as lines of JSON, and
writes for each command its exit status and the heavy modules that none before it in its group had loaded."""

import contextlib
import gc
import io
import json
import os
import sys

from persistence import lists, tokens
from persistence.broadcasts import records as broadcasts
from persistence.channels import channels
from persistence.contacts import records as contacts
from persistence.flows import records as flows
from persistence.messages import records as messages
from persistence.tickets import records as tickets
from persistence.triggers import records as triggers
from relayboard import failures
from relayboard.cli import main
from relayboard.commands import output

LOADED = (failures, lists, output, tokens, broadcasts, channels, contacts, flows, messages, tickets, triggers)
"""What every command with a database loads, and what those load that list the largest tables; a heavy module among it
would be found with each command."""


def run(arguments: list[str]) -> int:
    """The exit status."""
    sys.stdin = io.StringIO("the river is wide in march\n")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            return main(arguments)
        except SystemExit as ended:
            return int(str(ended.code))


def tell(group: list[list[str]], heavy: set[str], out: int) -> None:
    loaded: set[str] = set()
    for arguments in group:
        status, found = run(arguments), heavy & set(sys.modules)
        os.write(out, json.dumps({"status": status, "heavy": sorted(found - loaded)}).encode() + b"\n")
        loaded = found


if __name__ == "__main__":
    gc.freeze()  # forked processes then share these pages
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                tell(json.loads(line), set(sys.argv[1:]), 1)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
