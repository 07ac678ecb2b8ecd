"""Looking for phones that lost contact, run low or cannot send; see `persistence.channel_alarms` for the conditions."""

from collections.abc import Callable

from persistence.channel_alarms import check_alarms
from worker.services import Services


def begin_alarms(services: Services) -> Callable[[], bool]:
    """The step that opens and closes the alarms of all phones."""

    def step() -> bool:
        services.database.write(check_alarms)
        return False

    return step
