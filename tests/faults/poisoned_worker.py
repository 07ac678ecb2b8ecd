"""A worker that is killed when it comes to poisoned work."""

import os
import signal
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import worker.process
from persistence.database import Database
from relayboard import cli
from tests.faults import archiver


def main(place: str, mark: str, minutes: int) -> int:
    """Works until it is killed, by SIGKILL to all of its processes as soon as it calls the function in a place (`module
    function`) with something that shows the mark. Its clock is so many minutes fast: leases of the worker before it are
    over.
    """
    _set_clocks(timedelta(minutes=minutes))
    module_name, name = place.split()
    module = import_module(module_name)
    setattr(module, name, _deadly(getattr(module, name), mark))
    if "archives" in module_name:
        archiver.main()
        return 0
    return cli.main(["worker", "--senders", "0"])  # senders wait for ever where processors are short


def _deadly(work: Callable[..., Any], mark: str) -> Callable[..., Any]:
    def call(*args: Any, **named: Any) -> Any:
        if mark in f"{args!r}{named!r}":
            os.kill(0, signal.SIGKILL)
        return work(*args, **named)

    return call


def _set_clocks(ahead: timedelta) -> None:
    make = Database.__init__

    def begin(database: Database, *args: Any, **named: Any) -> None:
        make(database, *args, **named)
        usual = database.clock
        database.clock = lambda: usual() + ahead

    Database.__init__ = begin  # type: ignore[method-assign]


assert worker.process, "the program is loaded before it is changed"
