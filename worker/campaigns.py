"""Campaigns: scheduling events anew for all their contacts, and firing what is due."""

from collections.abc import Callable

from persistence.campaign_firing import fire_next
from persistence.campaign_passes import run_next_pass
from worker.services import Services


def begin_campaigns(services: Services) -> Callable[[], bool]:
    """The step that schedules one batch of contacts and fires one batch of what is due."""

    def step() -> bool:
        has_scheduled = services.database.write(run_next_pass)
        has_fired = services.database.write(fire_next)
        return has_scheduled or has_fired

    return step
