"""Runs commands, each in a process of its own that has loaded what many of them need and nothing heavy, and tells what
each loaded: reads lists of arguments as lines of JSON, and writes for each the modules and the exit status."""

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


def run(arguments: list[str], out: int) -> None:
    """Ends the process."""
    sys.stdin = io.StringIO("the river is wide in march\n")
    status = 1
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            status = main(arguments)
        except SystemExit as ended:
            status = int(str(ended.code))
    os.write(out, json.dumps({"status": status, "modules": sorted(sys.modules)}).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    gc.freeze()  # forked processes then share these pages
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            run(json.loads(line), 1)
        os.waitpid(child, 0)
