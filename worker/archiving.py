"""Moving old messages into archives."""

from collections.abc import Callable

from persistence.archive_writing import archive_next_day, remove_rolled_up, roll_up_next_month, trim_archived
from persistence.media_store import MediaStore
from worker.services import Services


def begin_archiving(services: Services) -> Callable[[], bool]:
    """The step that does one part of the work: trims a batch, or writes a day, or joins a month."""
    store = MediaStore(services.settings.media_url)
    database = services.database

    def step() -> bool:
        if trim_archived(database) or archive_next_day(database, store) or roll_up_next_month(database, store):
            return True
        remove_rolled_up(database, store)
        return False

    return step
