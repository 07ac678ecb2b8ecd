"""Making the messages of broadcasts."""

from collections.abc import Callable

from persistence.broadcast_expansion import expand_next
from worker.services import Services


def begin_broadcasts(services: Services) -> Callable[[], bool]:
    """The step that makes one batch of messages of the broadcast that has waited longest."""

    def step() -> bool:
        return services.database.write(expand_next)

    return step
