"""Channels that are bound to SMS centres. A worker loads the codec and begins threads for them when there is one."""

import time
from collections.abc import Callable

from persistence.channels.connections import has_kept
from worker.runtime import Runtime

TYPES = ("smpp",)
FIRST_LOOK_SECONDS = 5.0
"""How often it is looked whether there is such a channel, until there is."""


def begin_smpp(runtime: Runtime) -> Callable[[], bool]:
    """The step that looks for parts to send now."""
    wake: Callable[[], None] | None = None
    look_on = time.monotonic()

    def step() -> bool:
        nonlocal wake, look_on
        if wake is None and time.monotonic() >= look_on:
            look_on = time.monotonic() + FIRST_LOOK_SECONDS
            with runtime.database.reading() as tx:
                is_used = has_kept(tx, TYPES)
            if is_used and not runtime.stopping.is_set():
                wake = _begin(runtime)
        if wake is not None:
            wake()
        return False

    return step


def _begin(runtime: Runtime) -> Callable[[], None]:
    from worker.channels.smpp.keeper import Keeper  # noqa: PLC0415  # most workers have no such channel

    keeper = Keeper(runtime)
    runtime.closing.callback(keeper.stop)
    keeper.start()
    return keeper.wake
