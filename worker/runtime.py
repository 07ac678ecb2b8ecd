"""What every job is given: settings, the database, the way to the outside, and word of the end."""

import random
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from persistence.database import Database
from relayboard.base.settings import Settings
from worker.http.safe_http import SafeHttp


@dataclass(frozen=True, slots=True)
class Runtime:
    """The parts of one worker process. `closing` is unwound when it stops; `chance` gives numbers in [0, 1)."""

    settings: Settings
    database: Database
    http: SafeHttp
    stopping: threading.Event = field(default_factory=threading.Event)
    closing: ExitStack = field(default_factory=ExitStack)
    chance: Callable[[], float] = random.random


def open_http(settings: Settings) -> SafeHttp:
    """The door to the outside under the limits of the settings."""
    return SafeHttp(
        allowed_networks=settings.webhook_allowed_networks,
        allowed_ports=settings.webhook_allowed_ports,
        total_timeout_seconds=settings.webhook_timeout_seconds,
    )
