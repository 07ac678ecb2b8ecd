"""All kinds of work, by the name they are woken with, and how often each is looked for without being woken."""

from collections.abc import Callable
from dataclasses import dataclass

from worker.alarms import begin_alarms
from worker.archiving import begin_archiving
from worker.broadcasts import begin_broadcasts
from worker.campaigns import begin_campaigns
from worker.conversations.calls import begin_calls
from worker.conversations.incoming import begin_incoming
from worker.conversations.starts import begin_starts
from worker.conversations.timers import begin_timers
from worker.expiry import begin_expiry
from worker.groups import begin_groups
from worker.schedules import begin_schedules
from worker.sending import begin_sending
from worker.services import Services
from worker.trimming import begin_trimming
from worker.webhooks import begin_webhooks

Step = Callable[[], bool]
"""Does some of what is due and tells whether more may be due at once; safe to run twice and in several processes."""


@dataclass(frozen=True, slots=True)
class Work:
    """One kind of work. `begin` makes its step for a process; up to `threads` of them run the step side by side."""

    kind: str
    begin: Callable[[Services], Step]
    every_seconds: float
    threads: int = 1


WORKS = (
    Work("incoming", begin_incoming, every_seconds=2, threads=2),
    Work("calls", begin_calls, every_seconds=2),
    Work("timers", begin_timers, every_seconds=2),
    Work("starts", begin_starts, every_seconds=2, threads=2),
    Work("sending", begin_sending, every_seconds=2),
    Work("webhooks", begin_webhooks, every_seconds=2),
    Work("broadcasts", begin_broadcasts, every_seconds=2),
    Work("campaigns", begin_campaigns, every_seconds=5),
    Work("schedules", begin_schedules, every_seconds=5),
    Work("groups", begin_groups, every_seconds=10),
    Work("alarms", begin_alarms, every_seconds=60),
    Work("expiry", begin_expiry, every_seconds=3600),
    Work("archives", begin_archiving, every_seconds=3600),
    Work("trimming", begin_trimming, every_seconds=600),
)
