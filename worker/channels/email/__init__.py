"""Channels of e-mail. A worker loads what speaks SMTP and IMAP when there is one."""

from collections.abc import Callable

from worker.channels.transports import begin_when_used
from worker.runtime import Runtime

TYPES = ("email",)


def begin_email(runtime: Runtime) -> Callable[[], bool]:
    """The step that looks for messages to send, and mailboxes to read, now."""
    return begin_when_used(runtime, TYPES, _begin)


def _begin(runtime: Runtime) -> Callable[[], None]:
    from worker.channels.email.fetching import begin_fetching  # noqa: PLC0415  # most workers have no such channel
    from worker.channels.email.sending import begin_handing_in  # noqa: PLC0415  # as above

    hand_in, fetch = begin_handing_in(runtime), begin_fetching(runtime)

    def wake() -> None:
        hand_in()
        fetch()

    return wake
