"""What every job gets: settings, the database, the HTTP client, and the signal to stop."""

import random
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from persistence.database import Database
from persistence.leases import Share
from relayboard.base.settings import Settings
from worker.http.safe_http import SafeHttp


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of one worker process. `closing` runs clean-up functions when the process stops; `chance` gives random
    numbers in [0, 1)."""

    settings: Settings
    database: Database
    http: SafeHttp
    stopping: threading.Event = field(default_factory=threading.Event)
    closing: ExitStack = field(default_factory=ExitStack)
    share: Share = Share.ALL
    chance: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        self.closing.callback(self.http.close)


def open_http(settings: Settings) -> SafeHttp:
    """The HTTP client for calls to other systems, with the limits in the settings."""
    return SafeHttp(
        allowed_networks=settings.webhook_allowed_networks,
        allowed_ports=settings.webhook_allowed_ports,
        total_timeout_seconds=settings.webhook_timeout_seconds,
    )
