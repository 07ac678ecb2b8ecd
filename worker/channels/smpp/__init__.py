"""Channels that are bound to SMS centres. A worker loads the codec and begins threads for them when there is one."""

from collections.abc import Callable

from worker.channels.transports import begin_when_used
from worker.runtime import Runtime

TYPES = ("smpp",)


def begin_smpp(runtime: Runtime) -> Callable[[], bool]:
    """The step that looks for parts to send now."""
    return begin_when_used(runtime, TYPES, _begin)


def _begin(runtime: Runtime) -> Callable[[], None]:
    from worker.channels.smpp.keeper import Keeper  # noqa: PLC0415  # most workers have no such channel

    keeper = Keeper(runtime)
    runtime.closing.callback(keeper.stop)
    keeper.start()
    return keeper.wake
