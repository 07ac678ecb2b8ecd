"""Channels that send e-mail. A worker loads what speaks SMTP when there is one."""

from collections.abc import Callable

from worker.channels.transports import begin_when_used
from worker.runtime import Runtime

TYPES = ("email",)


def begin_email(runtime: Runtime) -> Callable[[], bool]:
    """The step that looks for messages to send now."""
    return begin_when_used(runtime, TYPES, _begin)


def _begin(runtime: Runtime) -> Callable[[], bool]:
    from worker.channels.email.sending import begin_handing_in  # noqa: PLC0415  # most workers have no such channel

    return begin_handing_in(runtime)
