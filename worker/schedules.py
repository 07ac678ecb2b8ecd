"""Schedules: flows that are started at a time."""

from collections.abc import Callable

from persistence.schedule_starts import start_due
from worker.services import Services


def begin_schedules(services: Services) -> Callable[[], bool]:
    """The step that makes starts of the schedules that are due."""

    def step() -> bool:
        return services.database.write(start_due)

    return step
